// tests/launch/run_page_checks.js: run by tests/launch/run_page at the end of the page of some of its runs: what
// was drawn, and what pointing, zooming and buttons do. The title of the page becomes `passed`, or says what failed.
const failures = [];
const check = (sentence, holds) => holds || failures.push(sentence);
const all = (selector) => [...document.querySelectorAll(selector)];
const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function drawn_rightly(when) {
  check(`${when}: every curve has points`, all(".chart .curve").length > 0 && all(".chart .curve").every((path) => path.getAttribute("d").startsWith("M")));
  check(`${when}: everything is a number`, !/NaN|undefined|Infinity|\[object/.test(all("svg").map((chart) => chart.outerHTML).join() + document.querySelector("main").textContent));
}

function sections() {
  const hidden = all("main > section").filter((section) => section.hidden).map((section) => section.id);
  check(`hidden sections: ${hidden}`, equal(hidden, several ? [] : ["differences"]));
  const titles = all(".chart h3").map((title) => title.textContent);
  for (const title of ["Loss, nats per target token", "BLEU of dev", "BLEU of news", "Learning rate", "Share of the peak (MFU)",
    ...(several ? ["Nll of corpus clean", "Nll of corpus crawl"] : ["Nll by corpus"])])
    check(`no chart ${title}`, titles.includes(title));
  check("samples are apart by set", equal(all(".sample dt").map((dt) => dt.textContent).filter((text) => text.startsWith("source")), ["source, dev", "source, news"]));
  const shown = () => all(".sample dd").length / all(".sample").length - 2;  // without source and reference
  const button = document.querySelector("#samples button");
  check("each validation's translation, or a button for the rest", several ? shown() === 5 * runs.length && button !== null : shown() === 6 && button === null);
  if (button) button.click();
  check("and all of them", shown() === 6 * runs.length);
  check("words of the reference stand out", all(".sample .match").length > 0);
  check("attention has a map for each run", all(".map svg").length === runs.length && all(".map .cell").length === 6 * runs.length);
  check("a row for each set of each validation", all("#validations tbody tr").length === 12 * runs.length);
  check("each signature of BLEU with its sets", equal(all("#summary p").map((p) => p.textContent), ["13a", "zh"].map((tok, i) =>
    `${runs.map((run) => (several ? run.name + " " : "") + ["dev", "news"][i]).join(", ")}: BLEU|tok:${tok}|version:weft`)));
  check("starts, stages and rollbacks", all("#events tbody tr").length === 5 * runs.length);
  check("ranks", all("#ranks tbody tr").length === 2 * runs.length);
  check("plan and configuration", document.querySelector("#configuration").textContent.includes("the plan"));
  if (runs.length === 2) check("what differs", equal(all("#differences tbody tr").map((row) => row.textContent), ["model.biasnot giventrue", "train.seed12"]));
  check("marks of starts, rollbacks and stages", [".start", ".rollback", ".stage"].every((mark) => all(`.chart ${mark}`).length >= charts.length));
  check("the page is no wider than the window", document.documentElement.scrollWidth <= innerWidth);
}

function pointer(type, share, pointerType, pointerId = 1) {  // in the first chart, at this share of its width
  const { box } = charts[0], frame = box.getBoundingClientRect();
  const at = { clientX: frame.left + share * frame.width, clientY: frame.top + 50 };
  box.dispatchEvent(new PointerEvent(type, { ...at, pointerType, pointerId, bubbles: true, button: type === "pointermove" ? -1 : 0 }));
}
const is_zoomed = () => !byId("reset").hidden;

function pointing() {
  charts[0].box.setPointerCapture = () => {};  // these pointers are not there
  pointer("pointermove", 0.5, "mouse");
  check("all charts show values at the pointer", all(".readout").every((readout) => /step \d+.+\d/.test(readout.textContent)));
  check("of every run", all(".chart")[0].querySelectorAll(".readout b").length === 2 * runs.length);
  check("and none is cut", all(".readout").every((readout) => readout.scrollWidth <= readout.clientWidth));
  pointer("pointerleave", 0.5, "mouse");
  check("and none when it is gone", all(".readout").every((readout) => readout.textContent === ""));
}

function zooming() {
  pointer("pointerdown", 0.4, "mouse"), pointer("pointermove", 0.6, "mouse"), pointer("pointerup", 0.6, "mouse");
  check("dragging zooms", is_zoomed() && range[0] > 60 && range[1] < 240);
  drawn_rightly("zoomed");
  byId("reset").click();
  check("a button shows the whole run", !is_zoomed() && range === null);
  pointer("pointerdown", 0.4, "touch", 7), pointer("pointerdown", 0.6, "touch", 8);
  const under_finger = charts[0].pinched[0];
  pointer("pointermove", 0.3, "touch", 7), pointer("pointermove", 0.8, "touch", 8);
  check("two fingers zoom", is_zoomed() && range[1] - range[0] < 150);
  check("a value stays under its finger", Math.abs(charts[0].value_at(charts[0].pixels()[0]) - under_finger) < 1);
  pointer("pointerup", 0.3, "touch", 7), pointer("pointermove", 0.2, "touch", 8);
  check("one finger alone does not zoom", is_zoomed() && charts[0].pinched === null);
  pointer("pointercancel", 0.2, "touch", 8);
  charts[0].box.dispatchEvent(new MouseEvent("dblclick"));
  check("a double click shows the whole run", !is_zoomed());
}

function choosing() {
  for (const button of byId("axis").children) {
    button.click();
    check(`${button.textContent} are chosen`, button.getAttribute("aria-pressed") === "true");
    drawn_rightly(button.textContent);
  }
  const slider = document.querySelector(".map input"), label = slider.nextSibling;
  const before = label.textContent;
  slider.value = 0, slider.dispatchEvent(new Event("input"));
  check("the slider goes to another validation", label.textContent !== before && label.textContent.startsWith("step 50"));
}

try {
  sections(), drawn_rightly("at first"), pointing(), zooming(), choosing();
} catch (error) {
  failures.push(error.message);
}
failures.push(...errors);
document.title = failures.length ? `FAILED ${failures.join("; ")}` : "passed";
