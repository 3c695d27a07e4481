// launch/reports/run_page/curves.js: draws the charts, with their scales, values under the pointer, and zoom.

const axes = {  // title of the button, text of a tick, text of a position
  step: ["Steps", short, (x) => `step ${Math.round(x).toLocaleString("en")}`],
  tokens: ["Target tokens", short, (x) => `${short(x)} tokens`],
  hours: ["Hours", (x) => `${Number(x.toPrecision(3))}`, (x) => hours(x)],
};
// The first validation set is the main set, whose curves are in the general panels. Every other set has separate panels.
// If the page shows one run, all corpora of a mix share a panel. If it shows several runs, each corpus has its own panel.
const main_sets = new Set(runs.flatMap((run) => run.validations.map((v) => v.sets[0] ?? "")));
const of_main_set = main_sets.size === 1 && [...main_sets][0] ? ` of ${[...main_sets][0]}` : "";
const set_names = [...new Set(runs.flatMap((run) => run.validations.flatMap((v) => v.sets.slice(1))))];
const of_steps = metrics.filter(number_of_step), of_validations = metrics.filter((m) => !number_of_step(m));
const panel_of = (m, set, words) => ({ title: `${m.title}${words}${m.unit}`, valid: key_of(m, set), falls: m.better < 0 });
const panels = [
  ...of_steps.map((m) => ({ ...panel_of(m, "", ""), train: number_of_step(m) })),
  ...(several ? corpora.map((c) => ({ title: `Nll of corpus ${c.name}`, corpora: [c], falls: true }))
    : corpora.length ? [{ title: "Nll by corpus", corpora, falls: true }] : []),
  ...of_validations.map((m) => panel_of(m, "", of_main_set)),
  ...set_names.flatMap((set) =>
    [...of_validations, ...of_steps.filter((m) => m.judges)].map((m) => panel_of(m, set, ` of ${set}`))),
  { title: "Learning rate", train: "lr", exact: true },
  { title: "Gradient norm", train: "grad_norm" },
  { title: "Target tokens per second", train: "speed" },
  { title: "Share of the peak (MFU)", train: "mfu", show: percent },
  { title: "Share of the roofline", train: "roofline", show: percent },
  { title: "Fill of the blocks", train: "fill", show: percent },
  { title: "Share of time spent waiting", train: "waiting", show: percent },
];
let axis = "step", range = null;  // range of the horizontal axis; null: all
const charts = [];

function moving_mean({ x, y }) {  // centered, over 1/50 of the points; over fewer points near both ends
  const half = Math.max(1, Math.round(y.length / 100)), sums = [0], counts = [0];
  y.forEach((v, i) => { sums.push(sums[i] + (v ?? 0)); counts.push(counts[i] + (v != null)); });
  return { x, y: y.map((_, i) => {
    const h = Math.min(half, i), a = i - h, b = Math.min(y.length, i + h + 1);
    return counts[b] > counts[a] ? (sums[b] - sums[a]) / (counts[b] - counts[a]) : null;
  }) };
}

// Returns the curves to draw: { colour, x, y, kind }. The kind is raw or mean for training, and valid for validations.
function series_of(panel) {
  const of_training = (run, i) => panel.corpora ? panel.corpora.map((c, k) => [several ? i : k, run.steps.corpora[c.folder]])
    : panel.train ? [[i, run.steps[panel.train]]] : [];
  const has_values = (s) => s.y?.some((y) => y != null);
  return runs.flatMap((run, i) => {
    const curves = of_training(run, i).map(([colour, y]) => ({ colour, x: run.steps[axis], y })).filter(has_values);
    const valid = { colour: i, kind: "valid", x: run.validations.map((v) => v[axis]), y: run.validations.map((v) => v[panel.valid]) };
    return [
      ...curves.flatMap((c) => panel.exact ? [{ ...c, kind: "mean" }] : [{ ...c, kind: "raw" }, { ...c, kind: "mean", ...moving_mean(c) }]),
      ...(has_values(valid) ? [valid] : [])];
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

// Returns the vertical range of a chart. The range leaves out values that would flatten the other values: the highest and
// lowest hundredth of single steps and, unless the chart is zoomed, the fall of a loss in the first tenth of a run.
function height_range(series, [a, to], falls) {
  const from = falls && !range ? a + (to - a) / 10 : a;
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
  if (low > high) return falls && from > a ? height_range(series, [a, to], false) : [0, 1];
  const margin = (high - low || Math.abs(high) || 1) * 0.06;
  return [low >= 0 && low < 0.3 * high ? 0 : low - margin, high + margin];
}

// Returns vertical lines: { kind, x, label, style }. On a page of several runs, a line that one run uses has its color.
function marks() {
  const all = new Map();
  runs.forEach((run, i) => {
    const add = (kind, place, label) => {
      const key = JSON.stringify([kind, place[axis], label]);
      all.set(key, { kind, x: place[axis], label, style: several && !all.has(key) ? `--mark: var(--run${i % 6})` : null });
    };
    for (const s of run.starts) if (s.step > 0) add("start", s, "");
    for (const r of run.rollbacks) add("rollback", r, "");
    for (const s of run.stages) add("stage", s, s.name);
  });
  return [...all.values()];
}

function describe_marks() {
  const any = (kind) => marks().some((mark) => mark.kind === kind);
  return (any("start") ? "Dotted lines: the run resumed. " : "") + (any("rollback") ? "Red lines: the run rolled back. " : "") + (any("stage") ? "Dashed lines: a data stage started. " : "");
}

function curve_path(s, to_x, to_y) {
  let path = "", pen = "M";
  s.y.forEach((y, i) => {
    if (y == null) { pen = "M"; return; }
    path += `${pen}${to_x(s.x[i]).toFixed(1)} ${to_y(y).toFixed(1)}`;
    pen = "L";
  });
  return path;
}

class Chart {
  constructor(panel) {
    this.panel = panel, this.show = panel.show || precise;
    this.readout = el("span", { class: "readout" });
    this.box = svg("svg", { role: "img", "aria-label": panel.title });
    const legend = panel.corpora && !several ? el("p", { class: "legend" }, panel.corpora.map((c, k) => el("span", { title: c.folder }, swatch(k), c.name))) : null;
    this.root = el("figure", { class: "chart" }, el("header", {}, el("h3", {}, panel.title), legend, this.readout), this.box);
    this.pressed = null;       // value where the mouse was pressed
    this.fingers = new Map();  // pixel of each finger on a touch screen
    this.pinched = null;       // values that were under the two fingers of a pinch
    const listen = { pointerdown: this.press, pointermove: this.move, pointerup: this.release, pointercancel: this.release, pointerleave: this.leave };
    for (const [event, handler] of Object.entries(listen)) this.box.addEventListener(event, handler.bind(this));
    this.box.addEventListener("dblclick", () => set_range(null));
  }

  tick_text(y, span) {
    if (this.panel.show) return `${Number((100 * y).toFixed(span < 0.05 ? 1 : 0))} %`;
    return y !== 0 && Math.abs(y) < 1e-2 ? `${Number(y.toPrecision(2)).toExponential()}` : short(y);
  }

  draw() {
    this.series = series_of(this.panel);
    const marked = marks(), top = marked.some((mark) => mark.label) ? 20 : 8;  // labels are above the curves
    const height = 182 + top, left = 46, right = 8, bottom = 22;
    const width = Math.max(260, this.root.clientWidth || 340), [a, b] = range || whole_range();
    const [lowest, high] = height_range(this.series, [a, b], this.panel.falls), low = this.panel.show ? 0 : lowest;  // axes of shares start at 0
    const to_x = (x) => left + (x - a) / (b - a) * (width - left - right);
    const to_y = (y) => top + (high - y) / (high - low) * (height - top - bottom);
    Object.assign(this, { to_x, left, plot_width: width - left - right });
    const clip = `clip-${charts.indexOf(this)}`;
    const lines = this.series.map((s) => {
      const dots = (s.kind !== "valid" || s.y.length > 60) && s.y.length > 1 ? [] : s.y.map((y, i) => y == null ? null :
        svg("circle", { class: "dot", cx: to_x(s.x[i]), cy: to_y(y), r: 2.6 }));
      const path = { class: `curve ${s.kind}`, d: curve_path(s, to_x, to_y), "stroke-dasharray": is_dashed(s.colour) ? "6 3" : null };
      return svg("g", { style: colour(s.colour) }, svg("path", path), dots);
    });
    const mark_lines = marked.filter(({ x }) => x > 0)
      .map(({ kind, x, style }) => svg("line", { class: kind, style, x1: to_x(x), x2: to_x(x), y1: top, y2: height - bottom }));
    const labels = marked.filter(({ x, label }) => label && x >= a && x <= b)
      .map(({ x, label, style }) => svg("text", { class: "label", style, x: to_x(x), y: top - 6 }, label));
    const y_ticks = round_ticks(low, high, 6), x_ticks = round_ticks(a, b, Math.max(3, Math.floor(width / 75)));
    this.pointer = svg("line", { class: "pointer", y1: top, y2: height - bottom, visibility: "hidden" });
    this.zoom = svg("rect", { class: "zoom", y: top, height: height - top - bottom, width: 0 });
    this.box.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.box.replaceChildren(
      svg("clipPath", { id: clip }, svg("rect", { x: left - 4, y: top - 4, width: width - left - right + 8, height: height - top - bottom + 8 })),
      ...y_ticks.map((y) => svg("line", { class: "grid", x1: left, x2: width - right, y1: to_y(y), y2: to_y(y) })),
      ...y_ticks.map((y) => svg("text", { x: left - 6, y: to_y(y) + 4, "text-anchor": "end" }, this.tick_text(y, high - low))),
      ...x_ticks.map((x) => svg("text", { x: to_x(x), y: height - 6, "text-anchor": to_x(x) > width - 24 ? "end" : "middle" }, axes[axis][1](x))),
      svg("g", { "clip-path": `url(#${clip})` }, ...mark_lines, ...lines), ...labels, this.zoom, this.pointer);
  }

  point(x) {  // shows the values at x; null: none
    this.pointer.setAttribute("visibility", x == null ? "hidden" : "visible");
    this.readout.replaceChildren();
    if (x == null) return;
    this.pointer.setAttribute("x1", this.to_x(x)), this.pointer.setAttribute("x2", this.to_x(x));
    this.readout.append(axes[axis][2](x));
    const [a, b] = range || whole_range();
    for (const s of this.series) {
      if (s.kind === "raw") continue;
      let nearest = -1;
      s.x.forEach((value, i) => {
        if (s.y[i] != null && (nearest < 0 || Math.abs(value - x) < Math.abs(s.x[nearest] - x))) nearest = i;
      });
      if (nearest < 0 || Math.abs(s.x[nearest] - x) > (b - a) / 4) continue;
      this.readout.append(el("b", { style: colour(s.colour) }, (s.kind === "valid" && this.panel.train ? "○ " : "") + this.show(s.y[nearest])));
    }
  }

  pixel_of(event) {
    const frame = this.box.getBoundingClientRect();
    return (event.clientX - frame.left) * this.box.viewBox.baseVal.width / frame.width;
  }

  value_at(pixel) {
    const [a, b] = range || whole_range();
    return Math.min(b, Math.max(a, a + (pixel - this.left) / this.plot_width * (b - a)));
  }

  press(event) {
    const pixel = this.pixel_of(event);
    for (const chart of charts) chart.point(this.value_at(pixel));
    if (event.pointerType === "touch") {
      this.fingers.set(event.pointerId, pixel);
      this.pinched = this.fingers.size === 2 ? this.pixels().map((p) => this.value_at(p)) : null;
    } else if (event.button === 0) {
      this.pressed = this.value_at(pixel), this.box.setPointerCapture(event.pointerId);
    }
  }

  pixels() { return [...this.fingers.values()].sort((p, q) => p - q); }

  move(event) {
    const pixel = this.pixel_of(event), x = this.value_at(pixel);
    if (this.fingers.has(event.pointerId)) this.fingers.set(event.pointerId, pixel);
    if (this.pinched) return this.pinch();
    for (const chart of charts) chart.point(x);
    if (this.pressed == null) return;
    this.zoom.setAttribute("x", Math.min(this.to_x(this.pressed), this.to_x(x)));
    this.zoom.setAttribute("width", Math.abs(this.to_x(this.pressed) - this.to_x(x)));
  }

  pinch() {  // each finger keeps the value under it
    const [p, q] = this.pixels(), [a, b] = whole_range();
    const scale = (this.pinched[1] - this.pinched[0]) / Math.max(q - p, 1);
    const from = Math.max(a, this.pinched[0] - (p - this.left) * scale), to = Math.min(b, from + scale * this.plot_width);
    if (to - from > (b - a) / 1e4) set_range(from === a && to === b ? null : [from, to]);
  }

  release(event) {
    if (this.fingers.delete(event.pointerId)) this.pinched = null;
    if (this.pressed == null) return;
    const x = this.value_at(this.pixel_of(event)), from = Math.min(this.pressed, x), to = Math.max(this.pressed, x);
    this.pressed = null;
    if (Math.abs(this.to_x(to) - this.to_x(from)) > 8) set_range([from, to]);
    else this.zoom.setAttribute("width", 0);
  }

  leave(event) {  // values that a finger selected stay visible
    if (event.pointerType !== "touch" && this.pressed == null) charts.forEach((chart) => chart.point(null));
  }
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
  for (const panel of panels.filter((p) => series_of(p).length)) charts.push(new Chart(panel));
  if (several) byId("charts").before(el("div", { class: "legend runs" }, runs.map((_, i) => el("span", {}, named(i)))));
  byId("charts").append(...charts.map((chart) => chart.root));
  for (const chart of charts) chart.draw();
  new ResizeObserver(() => charts.forEach((chart) => chart.draw())).observe(byId("charts"));
}
