// launch/reports/run_page/page.js: draws the page from the JSON in #data, which launch/reports/run_page.cpp writes.
"use strict";

const { runs, differences } = JSON.parse(document.getElementById("data").textContent);
const several = runs.length > 1;
const byId = (id) => document.getElementById(id);
const colour = (i) => `--run: var(--run${i % 6})`;

// Elements are made here only, and text is only ever set as text: no string of a run becomes markup.
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

function short(n) {  // 1234567 -> 1.23M
  const size = Math.abs(n);
  for (const [factor, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (size >= factor) return `${Number((n / factor).toPrecision(3))}${letter}`;
  return `${Number(n.toPrecision(4))}`;
}
const precise = (n) => n == null ? "–" : Math.abs(n) >= 1e-3 && Math.abs(n) < 1e5 ? `${Number(n.toPrecision(4))}` : n.toExponential(2);
const percent = (n) => n == null ? "–" : `${(100 * n).toFixed(1)} %`;
const fixed = (n, digits) => n == null ? "–" : n.toFixed(digits);
function hours(h) {
  const minutes = Math.round(60 * h);
  return minutes < 1 ? `${Math.round(3600 * h)} s` : minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
const swatch = (i) => el("span", { class: "swatch", style: `${colour(i)}; background: var(--run)` });
const named = (i) => [several ? swatch(i) : null, runs[i].name];
const last = (list) => list[list.length - 1];
const best = (run, key, sign) => run.validations.filter((v) => v[key] != null)
  .reduce((a, v) => a == null || sign * v[key] > sign * a[key] ? v : a, null);

function table(columns, rows, className = "scroll") {  // columns: [title, is a number]
  const cells = (row) => row.map((cell, i) => {
    const { content, style } = cell != null && cell.content !== undefined ? cell : { content: cell };
    return el("td", { class: [columns[i][1] ? "number" : "", style || ""].join(" ").trim() || null }, content);
  });
  return el("div", { class: className }, el("table", {},
    el("thead", {}, el("tr", {}, columns.map(([title, number]) => el("th", { class: number ? "number" : null }, title)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, cells(row))))));
}
function section(id, ...content) {
  const shown = content.flat().filter((child) => child != null);
  byId(id).hidden = shown.length === 0;
  byId(id).append(...shown);
}

// ---- Summary

const grid = (start) => start ? `dp ${start.dp} × tp ${start.tp}, ${start.device}` : "–";

function figures_of(run) {
  const bleu = best(run, "bleu", 1), nll = best(run, "valid_nll", -1), s = run.steps;
  const seconds = 3600 * (last(s.hours) || 0);
  return { bleu, nll, steps: last(s.step), tokens: last(s.tokens), hours: last(s.hours), speed: seconds > 0 ? last(s.tokens) / seconds : null };
}

function summary() {
  const columns = [["run"], ["best BLEU", 1], ["chrF then", 1], ["lowest validation nll", 1], ["steps", 1], ["target tokens", 1], ["time of steps", 1], ["target tokens/s", 1], ["grid"]];
  if (several) {
    return table(columns, runs.map(figures_of).map((f, i) => [named(i), fixed(f.bleu?.bleu, 2), fixed(f.bleu?.chrf, 2), fixed(f.nll?.valid_nll, 4), short(f.steps ?? 0), short(f.tokens ?? 0), hours(f.hours ?? 0), f.speed ? short(f.speed) : "–", grid(last(runs[i].starts))]));
  }
  const f = figures_of(runs[0]);
  const items = [
    f.bleu && [fixed(f.bleu.bleu, 2), `BLEU, best at step ${f.bleu.step}`],
    f.bleu && [fixed(f.bleu.chrf, 2), "chrF then"],
    f.nll && [fixed(f.nll.valid_nll, 3), "lowest validation nll"],
    [short(f.steps ?? 0), "steps"], [short(f.tokens ?? 0), "target tokens"], [hours(f.hours ?? 0), "time of steps"],
    f.speed && [short(f.speed), "target tokens/s"],
  ];
  return el("div", { class: "figures" }, items.filter(Boolean).map(([value, name]) => el("div", {}, el("b", {}, value), el("span", {}, name))));
}

// ---- Curves

const axes = {  // title of the button, text of a tick and of a place
  step: ["Steps", short, (x) => `step ${Math.round(x).toLocaleString("en")}`],
  tokens: ["Target tokens", short, (x) => `${short(x)} tokens`],
  hours: ["Hours", (x) => `${Number(x.toPrecision(3))}`, (x) => hours(x)],
};
const panels = [
  { title: "Loss, nats per target token", train: "loss", valid: "valid_loss" },
  { title: "Negative log-likelihood, nats", train: "nll", valid: "valid_nll" },
  { title: "BLEU", valid: "bleu" },
  { title: "chrF", valid: "chrf" },
  { title: "Score of train.validate_command", valid: "score" },
  { title: "Learning rate", train: "lr", exact: true },
  { title: "Gradient norm", train: "grad_norm" },
  { title: "Target tokens per second", train: "speed" },
  { title: "Share of the peak (MFU)", train: "mfu", show: percent },
  { title: "Fill of the blocks", train: "fill", show: percent },
  { title: "Share of time spent waiting", train: "waiting", show: percent },
];
// The first set has the panels above; others have their own.
const set_names = [...new Set(runs.flatMap((run) => run.validations.flatMap((v) => v.sets.slice(1))))];
panels.splice(5, 0, ...set_names.flatMap((set) => [
  { title: `BLEU of ${set}`, valid: `${set}.bleu` }, { title: `chrF of ${set}`, valid: `${set}.chrf` },
  { title: `Score of ${set}`, valid: `${set}.score` },
  { title: `Loss of ${set}, nats per target token`, valid: `${set}.loss` }]));
let axis = "step", range = null;  // of the horizontal axis; null: all
const charts = [];

const validation_series = (run, key) => ({ x: run.validations.map((v) => v[axis]), y: run.validations.map((v) => v[key] ?? null) });
const train_series = (run, key) => ({ x: run.steps[axis], y: run.steps[key] || [] });
const has_values = (s) => s.y.some((y) => y != null);

function moving_mean({ x, y }) {  // over one fiftieth of the points, centred
  const half = Math.max(1, Math.round(y.length / 100)), sums = [0], counts = [0];
  y.forEach((v, i) => { sums.push(sums[i] + (v ?? 0)); counts.push(counts[i] + (v != null)); });
  return { x, y: y.map((_, i) => {
    const h = Math.min(half, i, y.length - 1 - i), a = i - h, b = i + h + 1;
    return counts[b] > counts[a] ? (sums[b] - sums[a]) / (counts[b] - counts[a]) : null;
  }) };
}

function series_of(panel) {  // what is drawn: { run, x, y, kind }
  return runs.flatMap((run, i) => {
    const list = [];
    if (panel.train) {
      const raw = train_series(run, panel.train);
      if (has_values(raw) && panel.exact) list.push({ run: i, kind: "mean", ...raw });
      else if (has_values(raw)) list.push({ run: i, kind: "raw", ...raw }, { run: i, kind: "mean", ...moving_mean(raw) });
    }
    const valid = panel.valid && validation_series(run, panel.valid);
    if (valid && has_values(valid)) list.push({ run: i, kind: "valid", ...valid });
    return list;
  });
}

function round_ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? rough;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) ticks.push(i * step);
  return ticks;
}

function whole_range() {
  const ends = runs.map((run) => Math.max(last(run.steps[axis]) ?? 0, last(run.validations)?.[axis] ?? 0));
  return [0, Math.max(...ends) || 1];
}

// The drawn values in sight, without the highest and lowest hundredth of single steps, which would flatten the rest.
function height_range(series, [from, to]) {
  let low = Infinity, high = -Infinity;
  for (const s of series) {
    const seen = s.y.filter((y, i) => y != null && s.x[i] >= from && s.x[i] <= to);
    if (s.kind === "raw") {
      seen.sort((a, b) => a - b);
      const cut = Math.floor(seen.length / 100);
      seen.splice(0, cut), seen.splice(seen.length - cut, cut);
    }
    for (const y of seen) low = Math.min(low, y), high = Math.max(high, y);
  }
  if (low > high) return [0, 1];
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 && low < 0.3 * high ? 0 : low - margin, high + margin];
}

function make_chart(panel) {
  const readout = el("span", { class: "readout" });
  const box = svg("svg", { role: "img", "aria-label": panel.title });
  const root = el("figure", { class: "chart", style: "margin: 0" }, el("header", {}, el("h3", {}, panel.title), readout), box);
  const show = panel.show || precise;
  const height = 190, left = 46, right = 8, top = 8, bottom = 22;
  let series = [], to_x, from_x, pointer, zoom, pressed = null;

  function tick_text(y, span) {
    if (panel.show) return `${Number((100 * y).toFixed(span < 0.05 ? 1 : 0))} %`;
    return y !== 0 && Math.abs(y) < 1e-2 ? `${Number(y.toPrecision(2)).toExponential()}` : short(y);
  }

  function draw() {
    series = series_of(panel);
    const width = Math.max(260, root.clientWidth || 340), [a, b] = range || whole_range();
    const [lowest, high] = height_range(series, [a, b]), low = panel.show ? 0 : lowest;  // shares begin at 0
    to_x = (x) => left + (x - a) / (b - a) * (width - left - right);
    from_x = (pixel) => a + (pixel - left) / (width - left - right) * (b - a);
    const to_y = (y) => top + (high - y) / (high - low) * (height - top - bottom);
    const clip = `clip-${panel.title.replace(/\W/g, "")}`;
    const lines = series.map((s) => {
      let path = "", pen = "M";
      s.y.forEach((y, i) => {
        if (y == null) { pen = "M"; return; }
        path += `${pen}${to_x(s.x[i]).toFixed(1)} ${to_y(y).toFixed(1)}`;
        pen = "L";
      });
      const dots = s.kind !== "valid" || s.y.length > 60 ? [] : s.y.map((y, i) => y == null ? null :
        svg("circle", { class: "dot", cx: to_x(s.x[i]), cy: to_y(y), r: 2.6 }));
      return svg("g", { style: colour(s.run) }, svg("path", { class: `curve ${s.kind}`, d: path, "stroke-dasharray": s.run >= 6 ? "6 3" : null }), dots);
    });
    const marks = runs.flatMap((run) => [...run.starts.filter((s) => s.step > 0).map((s) => ["start", s]), ...run.rollbacks.map((r) => ["rollback", r])])
      .map(([kind, mark]) => svg("line", { class: kind, x1: to_x(mark[axis]), x2: to_x(mark[axis]), y1: top, y2: height - bottom }));
    const y_ticks = round_ticks(low, high, 4), x_ticks = round_ticks(a, b, Math.max(3, Math.floor(width / 75)));
    pointer = svg("line", { class: "pointer", y1: top, y2: height - bottom, visibility: "hidden" });
    zoom = svg("rect", { class: "zoom", y: top, height: height - top - bottom, width: 0 });
    box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    box.replaceChildren(
      svg("clipPath", { id: clip }, svg("rect", { x: left - 4, y: top - 4, width: width - left - right + 8, height: height - top - bottom + 8 })),
      ...y_ticks.map((y) => svg("line", { class: "grid", x1: left, x2: width - right, y1: to_y(y), y2: to_y(y) })),
      ...y_ticks.map((y) => svg("text", { x: left - 6, y: to_y(y) + 4, "text-anchor": "end" }, tick_text(y, high - low))),
      ...x_ticks.map((x) => svg("text", { x: to_x(x), y: height - 6, "text-anchor": to_x(x) > width - 24 ? "end" : "middle" }, axes[axis][1](x))),
      svg("g", { "clip-path": `url(#${clip})` }, ...marks, ...lines), zoom, pointer);
  }

  function point(x) {  // shows the values at x; null: none
    pointer.setAttribute("visibility", x == null ? "hidden" : "visible");
    readout.replaceChildren();
    if (x == null) return;
    pointer.setAttribute("x1", to_x(x)), pointer.setAttribute("x2", to_x(x));
    readout.append(axes[axis][2](x));
    const [a, b] = range || whole_range();
    for (const s of series) {
      if (s.kind === "raw") continue;
      let nearest = -1;
      s.x.forEach((value, i) => {
        if (s.y[i] != null && (nearest < 0 || Math.abs(value - x) < Math.abs(s.x[nearest] - x))) nearest = i;
      });
      if (nearest < 0 || Math.abs(s.x[nearest] - x) > (b - a) / 4) continue;
      readout.append(el("b", { style: colour(s.run) }, (s.kind === "valid" && panel.train ? "○ " : "") + show(s.y[nearest])));
    }
  }

  const x_of = (event) => {
    const frame = box.getBoundingClientRect(), [a, b] = range || whole_range();
    return Math.min(b, Math.max(a, from_x((event.clientX - frame.left) * box.viewBox.baseVal.width / frame.width)));
  };
  box.addEventListener("pointerdown", (event) => {
    for (const chart of charts) chart.point(x_of(event));
    if (event.pointerType === "mouse" && event.button === 0) pressed = x_of(event), box.setPointerCapture(event.pointerId);
  });
  box.addEventListener("pointermove", (event) => {
    const x = x_of(event);
    for (const chart of charts) chart.point(x);
    if (pressed == null) return;
    zoom.setAttribute("x", Math.min(to_x(pressed), to_x(x)));
    zoom.setAttribute("width", Math.abs(to_x(pressed) - to_x(x)));
  });
  box.addEventListener("pointerup", (event) => {
    if (pressed == null) return;
    const x = x_of(event), from = Math.min(pressed, x), to = Math.max(pressed, x);
    pressed = null;
    if (Math.abs(to_x(to) - to_x(from)) > 8) set_range([from, to]);
    else zoom.setAttribute("width", 0);
  });
  box.addEventListener("pointerleave", () => pressed ?? charts.forEach((chart) => chart.point(null)));
  box.addEventListener("dblclick", () => set_range(null));
  return { root, draw, point };
}

function subtitle() {
  const starts = runs.flatMap((run) => run.starts), hosts = new Set(starts.flatMap((start) => start.hosts));
  const versions = [...new Set(starts.map((start) => start.weft))].join(", ");
  byId("subtitle").textContent = starts.length
    ? `Weft ${versions}, ${several ? "" : grid(last(starts)) + ", "}${hosts.size} ${hosts.size === 1 ? "host" : "hosts"}` : "";
}

function set_range(next) {
  range = next;
  byId("reset").hidden = next == null;
  for (const chart of charts) chart.draw();
}

function curves() {
  for (const [key, [title]] of Object.entries(axes))
    byId("axis").append(el("button", { "aria-pressed": String(key === axis), onclick: (event) => {
      axis = key;
      for (const button of byId("axis").children) button.setAttribute("aria-pressed", String(button === event.target));
      set_range(null);
    } }, title));
  byId("reset").addEventListener("click", () => set_range(null));
  for (const panel of panels.filter((p) => series_of(p).length)) charts.push(make_chart(panel));
  byId("charts").append(...charts.map((chart) => chart.root));
  for (const chart of charts) chart.draw();
  new ResizeObserver(() => charts.forEach((chart) => chart.draw())).observe(byId("charts"));
}

// ---- Samples

const words = (text) => text.split(/\s+/).filter(Boolean);
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "") || word;

function marked(text, reference) {  // each word of the reference is matched once
  const left = new Map();
  for (const word of words(reference)) left.set(bare(word), (left.get(bare(word)) || 0) + 1);
  return words(text).flatMap((word) => {
    const count = left.get(bare(word)) || 0;
    left.set(bare(word), count - 1);
    return [count > 0 ? el("span", { class: "match" }, word) : word, " "];
  });
}

function spread(list, count) {  // at most `count` of them, evenly, with both ends
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, i) => list[Math.round(i * (list.length - 1) / (count - 1))]);
}

function samples() {
  const groups = new Map();  // by source: reference, and rows of run, step and hypothesis
  runs.forEach((run, i) => run.validations.forEach((v) => (v.samples || []).forEach((s) => {
    if (!groups.has(s.source)) groups.set(s.source, { reference: s.reference, set: s.set, runs: new Map() });
    const of_runs = groups.get(s.source).runs;
    if (!of_runs.has(i)) of_runs.set(i, []);
    of_runs.get(i).push([v.step, s.hypothesis]);
  })));
  return [...groups].map(([source, group]) => el("div", { class: "sample" }, el("dl", {},
    el("dt", {}, group.set ? `source, ${group.set}` : "source"), el("dd", { class: "given source" }, source),
    el("dt", {}, "reference"), el("dd", { class: "given" }, group.reference),
    [...group.runs].flatMap(([i, rows]) => [el("div", { class: "gap" }), ...spread(rows, several ? 5 : 8).flatMap(([step, hypothesis]) => [
      el("dt", {}, several ? swatch(i) : null, `step ${step.toLocaleString("en")}`),
      el("dd", {}, hypothesis ? marked(hypothesis, group.reference) : "(empty)")])]))));
}

// ---- Attention

function heat_map({ source, target, weights }) {
  const cell = 24, most = Math.max(1e-9, ...weights.flat());
  const width_of = (labels) => 7.4 * Math.max(...labels.map((label) => [...label].length)) + 10;
  const tokens = (list) => list.map((token) => token.replaceAll("▁", "\u00a0").trim() || "▁");
  const rows = tokens(target), columns = tokens(source);
  const left = width_of(rows), top = 0.72 * width_of(columns) + 6, w = columns.length * cell, h = rows.length * cell;
  const width = left + w + 0.72 * width_of(columns) + 4, height = top + h + 2;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "cross-attention" },
    columns.map((token, x) => svg("text", { transform: `translate(${left + (x + 0.5) * cell} ${top - 6}) rotate(-45)` }, token)),
    rows.map((token, y) => svg("text", { x: left - 8, y: top + (y + 0.5) * cell + 4, "text-anchor": "end" }, token)),
    weights.flatMap((row, y) => row.map((weight, x) => svg("rect", { class: "cell", x: left + x * cell, y: top + y * cell, width: cell, height: cell, opacity: (weight / most).toFixed(3) },
      svg("title", {}, `${rows[y]} – ${columns[x]}: ${(100 * weight).toFixed(1)} %`)))),
    svg("rect", { class: "frame", x: left, y: top, width: w, height: h }));
}

function attention() {
  const maps = runs.map((run, i) => {
    const shown = run.validations.filter((v) => v.attention?.weights?.length);
    if (!shown.length) return null;
    const label = el("span", { class: "muted hint" }), drawing = el("div", { class: "scroll" });
    const slider = el("input", { type: "range", min: 0, max: shown.length - 1, value: shown.length - 1, "aria-label": "validation", style: colour(i) });
    const draw = () => {
      const v = shown[Number(slider.value)];
      label.textContent = `step ${v.step.toLocaleString("en")}${v.bleu == null ? "" : `, BLEU ${v.bleu.toFixed(2)}`}`;
      drawing.replaceChildren(heat_map(v.attention));
    };
    slider.addEventListener("input", draw);
    draw();
    return el("div", { class: "map" }, el("div", { class: "controls" }, several ? el("span", {}, named(i)) : null, slider, label), drawing);
  });
  return maps.some(Boolean) ? el("div", { class: "maps" }, maps) : null;
}

// ---- Tables

function validations() {
  const sets = runs.some((run) => run.validations.some((v) => v.sets.length));
  const scores = runs.some((run) => run.validations.some((v) => v.score != null));
  const rows = runs.flatMap((run, i) => {
    const cell = (v, key, digits, sign) => ({ content: fixed(v[key], digits), style: best(run, key, sign) === v ? "best" : "" });
    return run.validations.flatMap((v) => (v.sets.length ? v.sets : [""]).map((set) => {
      const [loss, nll, dot] = set ? [`${set}.loss`, `${set}.nll`, `${set}.`] : ["valid_loss", "valid_nll", ""];
      return [...(several ? [named(i)] : []), v.step.toLocaleString("en"), ...(sets ? [set] : []), short(v.tokens), hours(v.hours),
        cell(v, loss, 4, -1), cell(v, nll, 4, -1), cell(v, `${dot}bleu`, 2, 1), cell(v, `${dot}chrf`, 2, 1), ...(scores ? [fixed(v[`${dot}score`], 4)] : [])];
    }));
  });
  return rows.length ? table([...(several ? [["run"]] : []), ["step", 1], ...(sets ? [["set"]] : []), ["target tokens", 1], ["time of steps", 1], ["loss", 1], ["nll", 1], ["BLEU", 1], ["chrF", 1], ...(scores ? [["score", 1]] : [])], rows, "scroll tall") : null;
}

function events() {
  const when = (time) => time ? new Date(1000 * time).toISOString().slice(0, 19).replace("T", " ") + " UTC" : "–";
  const rows = runs.flatMap((run, i) => [
    ...run.starts.map((s) => [s.step, s.step > 0 ? "resumed" : "started", s.time, `${grid(s)}, ${[...new Set(s.hosts)].join(" ")}`]),
    ...run.rollbacks.map((r) => [r.step, "rolled back", r.time, `to step ${r.back_to}`]),
  ].sort((a, b) => a[0] - b[0]).map(([step, what, time, detail]) => [...(several ? [named(i)] : []), step.toLocaleString("en"), what, when(time), detail]));
  return rows.length ? table([...(several ? [["run"]] : []), ["step", 1], [""], ["time"], [""]], rows) : null;
}

function ranks() {
  const rows = runs.flatMap((run, i) => {
    const total = run.ranks.reduce((sum, r) => sum + r.slowest, 0);
    return run.ranks.slice(0, 16).map((r) => [...(several ? [named(i)] : []), r.rank, r.host || "–", percent(r.slowest / total), percent(r.waiting),
      el("span", { class: "bar", style: `${colour(i)}; width: ${(10 * r.slowest / total).toFixed(2)}rem` })]);
  });
  return rows.length ? table([...(several ? [["run"]] : []), ["rank", 1], ["host"], ["slowest in", 1], ["the others waited", 1], [""]], rows) : null;
}

const differences_table = () => differences.length === 0 ? null :
  table([["option"], ...runs.map((_, i) => [named(i)])], differences.map((d) => [d.name, ...d.values]));

function configuration() {
  return runs.map((run, i) => el("details", {}, el("summary", {}, named(i)),
    run.plan ? el("pre", {}, run.plan) : null, run.config ? el("pre", {}, run.config) : null));
}

subtitle();
section("summary", summary());
section("differences", differences_table());
curves();
byId("curves").hidden = charts.length === 0;
byId("marks").hidden = !runs.some((run) => run.starts.some((s) => s.step > 0) || run.rollbacks.length);
section("samples", samples());
section("attention", attention());
section("validations", validations());
section("events", events());
section("ranks", ranks());
section("configuration", configuration());
