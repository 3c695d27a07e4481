// tests/launch/serve_page_checks.js: run by tests/launch/serve_page at the end of the page of `weft serve`, with
// `expected`, the lines of `weft translate --beam 4 --json`: translates, points to tokens, draws samples, and looks at the
// result. The title of the page becomes `passed`, or says what failed.
const failures = [];
const check = (sentence, holds) => holds || failures.push(sentence);
const all = (selector) => [...document.querySelectorAll(selector)];
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const send = (element, type) => element.dispatchEvent(new Event(type, { bubbles: true }));

const links = () => all("#lines details[open] svg line");
const is_drawn = () => links().every((link) => link.hasAttribute("y2"));

async function ask(text, mode, values) {
  byId("text").value = text;
  const choice = document.querySelector(`input[value=${mode}]`);
  choice.checked = true;
  send(choice, "input");
  for (const [id, value] of Object.entries(values)) {
    byId(id).value = value;
    send(byId(id), "input");
  }
  send(byId("text"), "input");
  byId("form").requestSubmit();
  while (waiting !== null) await pause(10);
  // Alignments are drawn with the next frame. Pauses are over at once, as time is virtual; a request takes real time.
  for (let tries = 0; !is_drawn() && tries < 5000; ++tries) await call("v1/models");
}

function drawn_rightly(when) {
  check(`${when}: the page is no wider than the window`, document.documentElement.scrollWidth <= innerWidth);
  check(`${when}: everything is a number`, !/NaN|undefined|Infinity|\[object/.test(byId("lines").innerHTML));
}

async function translations() {
  await ask(expected.map((line) => line.source).join("\n"), "beam", { beam: 4, nbest: 2 });
  check(`translating: ${byId("status").textContent}`, / lines in [0-9.]+ s by mine, step /.test(byId("status").textContent));
  check("each line has the text of weft translate", JSON.stringify(all(".line > .text").map((p) => p.textContent)) ===
    JSON.stringify(expected.map((line) => line.text)));
  check("with its score", all(".line").every((line, i) => line.textContent.includes(`score ${fixed(expected[i].score, 3)}`)));
  check("and an alternative", all(".line > details > ol > li").length === expected.length);
  drawn_rightly("translations");
  check("alignments are drawn", links().length > 0 && links().every((link) => Number(link.getAttribute("y2")) > 0));
  const tokens = all("#lines details[open] .token");
  check("a line has its tokens and those of its source", tokens.length >= 2 * expected.length);
  const linked = tokens.find((token) => about.get(token).links.length > 0);
  linked.dispatchEvent(new PointerEvent("pointerover", { bubbles: true, pointerType: "mouse" }));
  check("pointing to a token shows what it is aligned with", !byId("tip").hidden && byId("tip").textContent.includes("aligned with"));
  check("and its links", all("#lines line.on").length > 0);
  linked.focus();
  linked.dispatchEvent(new KeyboardEvent("keydown", { key: "End", bubbles: true }));
  check("keys move from token to token", document.activeElement === last([...linked.parentElement.children]));
}

async function samples() {
  await ask("<img src=x onerror=document.title=1>", "samples", { samples: 4, mbr: "chrf" });
  check("samples with the least risk have an expected chrF", /expected chrF [0-9]/.test(byId("lines").textContent));
  check("a text is no markup", all("#lines img").length === 0 && byId("lines").textContent.includes("<img src=x"));
  await ask("one\ntwo", "samples", { samples: 4, mbr: "none" });
  check("each line has all samples", all(".line > details > ol > li").length === 2 * 3);
  drawn_rightly("samples");
}

async function refusals() {
  const shown = byId("lines").textContent;
  await ask("x".repeat(limits.line_bytes + 1), "beam", {});
  check("a line that is too long is not sent", byId("counter").classList.contains("warn") && byId("lines").textContent === shown);
  await ask("one", "beam", { prefix: "one two ".repeat(600) });
  check(`the server's refusal is shown: ${byId("status").textContent}`, byId("status").className === "warn");
  byId("prefix").value = "";
}

async function everything() {
  while (models.length === 0) await pause(10);
  check("the models are listed", all("#model option").map((option) => option.textContent).join().startsWith("mine, step"));
  await translations();
  await samples();
  await refusals();
  await ask(expected.map((line) => line.source).join("\n"), "beam", { beam: 4, nbest: 2 });  // what screenshots show
}

everything().catch((error) => failures.push(`${error}`)).finally(() => {
  document.title = [...errors, ...failures].join("; ") || "passed";
});
