// launch/server/page/page.js: sends the text to v1/translate, and shows translations, their tokens and alignments.
"use strict";

const byId = (id) => document.getElementById(id);
const last = (list) => list[list.length - 1];

// These functions make all elements and insert every string as text, so no string of an answer becomes markup.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes))
    if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  element.append(...children.flat().filter((child) => child != null));
  return element;
}
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

const count = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const fixed = (n, digits) => n == null ? "–" : n.toFixed(digits).replace("-", "−");
const name_of = (model, step) => `${model}, step ${step.toLocaleString("en")}`;
const percent = (p) => `${p >= 0.001 || p === 0 ? (100 * p).toFixed(1) : (100 * p).toPrecision(2)} %`;

let models = [], limits = {};
let waiting = null;  // the AbortController of the request that is under way
let copied = "";     // the text that the button copies

// Returns the answer, or throws an Error whose message is for the user.
async function call(path, body, signal) {
  let response, answer = null;
  try {
    response = await fetch(path, body && { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body), signal });
    const text = await response.text();
    try { answer = JSON.parse(text); } catch { /* a proxy answered */ }
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error("The server cannot be reached.");
  }
  if (response.ok && answer) return answer;
  const line = answer?.error ?? `The server answered with status ${response.status}.`;
  throw new Error([503, 504].includes(response.status) ? `The server is busy: ${line}` : line);
}

function report(text, is_error = false) {
  byId("status").className = is_error ? "warn" : "muted";
  byId("status").textContent = text;
}

// The form.

const model = () => models[byId("model").selectedIndex];
const is_sampling = () => document.querySelector("input[name=mode]:checked").value === "samples";

async function load() {
  ({ models, limits } = await call("v1/models"));
  byId("model").replaceChildren(...models.map((m) => el("option", {}, name_of(m.name, m.step))));
  byId("model").disabled = false;
  byId("beam").max = limits.beam ?? "";
  byId("samples").max = limits.samples ?? "";
  choose_model();
  check_text();
}

function choose_model() {
  byId("beam").value = model().beam;
  byId("nbest").value = Math.min(byId("nbest").value || 1, model().beam);
  for (const [id, tags] of [["tag", model().source_tags], ["target_tag", model().target_tags]]) {
    const before = byId(id).value;
    byId(id).replaceChildren(el("option", { value: "" }, "none"), ...tags.map((tag) => el("option", {}, tag)));
    byId(id).value = tags.includes(before) ? before : "";
    byId(`${id}-label`).hidden = tags.length === 0;
  }
  check_fields();
}

function check_fields() {
  for (const [id, used] of [["beam-fields", !is_sampling()], ["sample-fields", is_sampling()]])
    byId(id).hidden = byId(id).disabled = !used;
  byId("nbest").max = byId("beam").value;
  byId("samples").min = byId("mbr").value === "none" ? 1 : 2;
}

const lines_of = (text) => text.trim() ? text.trimEnd().split("\n") : [];

function check_text() {
  const lines = lines_of(byId("text").value), encoder = new TextEncoder();
  const longest = lines.reduce((most, line) => Math.max(most, encoder.encode(line).length), 0);
  const too_many = lines.length > limits.lines, too_long = longest > limits.line_bytes;
  const of = (n, limit) => limit ? `${n.toLocaleString("en")} of ${limit.toLocaleString("en")}` : `${n}`;
  byId("counter").textContent =
    `Lines: ${of(lines.length, limits.lines)}. Longest line: ${of(longest, limits.line_bytes)} bytes.`;
  byId("counter").classList.toggle("warn", too_many || too_long);
  byId("text").setCustomValidity(too_many ? `The limit is ${count(limits.lines, "line")}.`
    : too_long ? `The limit for a line is ${count(limits.line_bytes, "byte")}.` : "");
}

function request_of(text) {
  const value = (id) => byId(id).value, number = (id) => byId(id).valueAsNumber;
  const numbers = (...ids) => Object.fromEntries(ids.map((id) => [id, number(id)]));
  return { model: model().name, text, tag: value("tag"), target_tag: value("target_tag"), prefix: value("prefix"),
    alignment: true,
    ...(is_sampling() ? { ...numbers("samples", "temperature", "top_k", "top_p", "seed"), mbr: value("mbr") }
      : numbers("beam", "nbest")) };
}

function is_valid() {
  const options = byId("options");
  options.open = options.open || options.querySelector("input:invalid") !== null;
  return byId("form").reportValidity();
}

async function translate(event) {
  event.preventDefault();
  const text = lines_of(byId("text").value), button = byId("translate"), had_focus = document.activeElement === button;
  if (waiting) return;
  if (text.length === 0) return report("Enter a text first.", true);
  waiting = new AbortController();
  show_waiting();
  try {
    if (models.length === 0) await load();
    if (!is_valid()) return report("");
    report(`Translating ${count(text.length, "line")}…`);
    const request = request_of(text), answer = await call("v1/translate", request, waiting.signal);
    show_translations(request, answer);
    report(`${count(text.length, "line")} in ${answer.seconds.toFixed(2)} s by ${name_of(answer.model, answer.step)}.`);
  } catch (error) {
    report(error.name === "AbortError" ? "Canceled." : error.message, error.name !== "AbortError");
  } finally {
    const now = document.activeElement, keep_focus = now === byId("cancel") || had_focus && now === document.body;
    waiting = null;
    show_waiting();
    if (keep_focus) button.focus({ preventScroll: true });
  }
}

function show_waiting() {
  const is_waiting = waiting !== null;
  byId("translate").disabled = is_waiting;
  byId("translate").textContent = is_waiting ? "Translating…" : "Translate";
  byId("cancel").hidden = byId("progress").hidden = !is_waiting;
  byId("results").setAttribute("aria-busy", is_waiting);
}

// Results.

const about = new WeakMap();  // of each token: what its tip says, and its links as { line, other }

function tokens_of(label, pieces, log_probs) {
  const box = el("div", { class: "tokens", role: "listbox", "aria-label": label, dir: "auto" });
  const tokens = pieces.map((piece, i) => {
    const p = log_probs && log_probs[i] != null ? Math.exp(log_probs[i]) : null;
    const is_special = /^<[^<>\s]+>$/.test(piece), is_forced = log_probs !== undefined && p === null;
    const names = ["token", is_special && "special", is_forced && "forced"].filter(Boolean).join(" ");
    // dir="auto" of the box ignores elements with an own direction, so tags have no influence on it.
    const attributes = { class: names, role: "option", tabindex: i === 0 ? 0 : -1, dir: is_special ? "ltr" : null };
    const token = el("span", attributes, piece.replace(/^▁/, "").replace(/▁/g, " ") || "\u00a0");
    if (p !== null) token.style.setProperty("--shade", (0.6 * (1 - p)).toFixed(3));
    about.set(token, { tip: is_forced ? "given as prefix" : p === null ? "" : percent(p), links: [] });
    box.append(piece.startsWith("▁") ? " " : "", token);
    return token;
  });
  return { box, tokens };
}

function figure_of(t) {
  const source = tokens_of("Tokens of the source", t.alignment ? t.source_pieces : []);
  const target = tokens_of("Tokens of the translation", t.pieces, t.log_probs);
  const links = (t.alignment ?? []).filter(([i, j]) => source.tokens[i] && target.tokens[j])
    .map(([i, j]) => ({ from: source.tokens[i], to: target.tokens[j], line: svg("line") }));
  for (const { from, to, line } of links) {
    about.get(from).links.push({ line, other: to });
    about.get(to).links.push({ line, other: from });
  }
  for (const token of [...source.tokens, ...target.tokens]) {
    const a = about.get(token), others = a.links.map(({ other }) => `“${other.textContent}”`);
    if (t.alignment) a.tip += `${a.tip && "\n"}${others.length ? `aligned with ${others.join(", ")}` : "not aligned"}`;
    token.setAttribute("aria-label", `${token.textContent}, ${a.tip}`);
  }
  if (!t.alignment) return el("figure", {}, target.box);
  const drawing = svg("svg", { "aria-hidden": "true" }, links.map(({ line }) => line));
  const figure = el("figure", {}, drawing, source.box, target.box);
  new ResizeObserver(() => {
    const frame = drawing.getBoundingClientRect();
    const ends = links.map(({ from, to }) => [last(from.getClientRects()), to.getClientRects()[0]]);
    ends.forEach(([a, b], k) => a && b && fill(links[k].line, {
      x1: (a.left + a.right) / 2 - frame.left, y1: a.bottom - frame.top,
      x2: (b.left + b.right) / 2 - frame.left, y2: b.top - frame.top }, []));
  }).observe(figure);
  return figure;
}

function folded(summary, make, is_open = false) {  // Calls `make` when it is first opened.
  const details = el("details", { open: is_open }, el("summary", {}, summary));
  const open = () => details.open && details.children.length === 1 && details.append(make());
  details.addEventListener("toggle", open);
  open();
  return details;
}

function score_of(t, mbr) {
  const names = { chrf: "expected chrF", bleu: "expected BLEU" };
  return `${names[mbr] ?? "score"} ${fixed(t.score, names[mbr] ? 1 : 3)}`;
}

function line_of(t, { text, mbr, samples }) {
  const others = (t.nbest ?? []).slice(1), noun = samples ? "other sample" : "alternative", is_open = text.length <= 3;
  const alternative = (other) => el("li", {}, folded(
    [el("bdi", {}, other.text), el("span", { class: "muted hint" }, ` (${score_of(other)})`)], () => figure_of(other)));
  const number = text.length > 1 ? el("span", {}, `${t.index + 1}`) : null;
  return el("article", { class: "line" },
    el("p", { class: "muted hint source" }, number, el("span", { dir: "auto" }, text[t.index])),
    t.source_cut ? el("p", { class: "warn hint" }, "The source was too long and was cut: the end is missing.") : null,
    el("p", { class: "text", dir: "auto" }, t.text),
    el("p", { class: "muted hint" },
      `${score_of(t, mbr)}, log-probability ${fixed(t.log_prob, 2)}, ${count(t.tokens, "token")}`),
    folded("Tokens and alignment", () => figure_of(t), is_open),
    others.length ? folded(count(others.length, noun), () => el("ol", {}, others.map(alternative)), is_open) : null);
}

function show_translations(request, { translations }) {
  hide_tip();
  copied = translations.map((t) => t.text).join("\n");
  const lines = translations.filter((t) => request.text[t.index].trim());  // not of empty lines
  byId("lines").replaceChildren(...lines.map((t) => line_of(t, request)));
  byId("results").hidden = false;
}

async function copy() {
  try {
    await navigator.clipboard.writeText(copied);
  } catch {  // Browsers offer the clipboard only over https and on localhost.
    const area = el("textarea", { style: "position: fixed; top: 0; opacity: 0" });
    area.value = copied;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    byId("copy").focus({ preventScroll: true });
    if (!done) return report("The browser does not allow copying.", true);
  }
  report("The translations were copied.");
}

// The tip and the links of the token under the pointer or with the focus.

function hide_tip() {
  for (const element of document.querySelectorAll(".on")) element.classList.remove("on");
  byId("tip").hidden = true;
}

function show_tip(token) {
  hide_tip();
  const { tip, links } = about.get(token), box = byId("tip"), at = token.getClientRects()[0];
  const related = links.flatMap(({ line, other }) => [line, other, token.closest("figure")]);
  for (const element of [token, ...related]) element.classList.add("on");
  box.textContent = tip;
  box.hidden = false;
  const left = (at.left + at.right - box.offsetWidth) / 2, above = at.top - box.offsetHeight - 8;
  const is_above = above >= 0 && token.parentElement.nextSibling !== null;  // The tip of a target covers no links.
  const most = document.documentElement.clientWidth - box.offsetWidth - 8;
  box.style.left = `${scrollX + Math.max(8, Math.min(left, most))}px`;
  box.style.top = `${scrollY + (is_above ? above : at.bottom + 8)}px`;
}

function follow(event) {  // A token with the focus keeps its tip, even if scrolling moves the page under the pointer.
  const token = event.target.closest?.(".token") ?? document.activeElement?.closest(".token");
  if (!token) return hide_tip();
  show_tip(token);
  if (event.type !== "focusin") return;
  token.parentElement.querySelector("[tabindex='0']").tabIndex = -1;  // The Tab key stops at each list once.
  token.tabIndex = 0;
}

function move(event) {  // with arrow keys from token to token
  const token = event.target.closest(".token");
  if (event.key === "Escape") hide_tip();
  if (!token || event.ctrlKey || event.altKey || event.metaKey) return;
  const tokens = [...token.parentElement.children], i = tokens.indexOf(token);
  const forward = getComputedStyle(token.parentElement).direction === "rtl" ? -1 : 1;
  const to = { ArrowRight: i + forward, ArrowLeft: i - forward, Home: 0, End: tokens.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  tokens[Math.max(0, Math.min(to, tokens.length - 1))].focus();
}

byId("form").addEventListener("submit", translate);
byId("form").addEventListener("input", check_fields);
byId("text").addEventListener("input", check_text);
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) translate(event);
});
byId("model").addEventListener("change", choose_model);
byId("cancel").addEventListener("click", () => waiting?.abort());
byId("copy").addEventListener("click", copy);
byId("lines").addEventListener("keydown", move);
for (const name of ["pointerover", "focusin"]) document.addEventListener(name, follow);
for (const name of ["pointerleave", "focusout"])
  document.documentElement.addEventListener(name, (event) => event.pointerType !== "touch" && hide_tip());
report("");
check_fields();
load().catch((error) => report(`The list of models cannot be loaded. ${error.message}`, true));
