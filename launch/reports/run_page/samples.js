// launch/reports/run_page/samples.js: shows sample translations at each validation, and cross-attention.

const words = (text) => text.split(/\s+/).filter(Boolean);
const bare = (word) => word.toLowerCase().replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "") || word;

function marked(text, reference) {  // highlights matches; each word of the reference matches once
  const left = new Map();
  for (const word of words(reference)) left.set(bare(word), (left.get(bare(word)) || 0) + 1);
  return words(text).flatMap((word) => {
    const count = left.get(bare(word)) || 0;
    left.set(bare(word), count - 1);
    return [count > 0 ? el("span", { class: "match" }, word) : word, " "];
  });
}

function spread(list, count) {  // returns at most `count` elements, evenly spaced, with both ends
  if (list.length <= count) return list;
  return Array.from({ length: count }, (_, i) => list[Math.round(i * (list.length - 1) / (count - 1))]);
}

let shows_all_samples = false;
const kMaxSamples = several ? 5 : 8;  // validations per run to show until a button asks for all

function samples() {
  const groups = sample_groups(), most = Math.max(0, ...groups.flatMap((group) => [...group.runs.values()].map((rows) => rows.length)));
  const list = el("div");
  const draw = () => list.replaceChildren(...groups.map(sample));
  const button = most <= kMaxSamples ? null : el("button", { onclick: () => {
    shows_all_samples = !shows_all_samples;
    button.textContent = label();
    draw();
  } });
  const label = () => shows_all_samples ? `Show only ${kMaxSamples} validations` : `Show all ${most} validations`;
  if (button) button.textContent = label();
  draw();
  return groups.length ? [button, list] : [];
}

function sample_groups() {
  const groups = new Map();  // from set and source to the reference and the runs' steps and hypotheses
  runs.forEach((run, i) => run.validations.forEach((v) => v.samples.forEach((s) => {
    const key = JSON.stringify([s.set, s.source]);
    if (!groups.has(key)) groups.set(key, { source: s.source, reference: s.reference, set: s.set || v.sets[0], runs: new Map() });
    const of_runs = groups.get(key).runs;
    if (!of_runs.has(i)) of_runs.set(i, []);
    of_runs.get(i).push([v.step, s.hypothesis]);
  })));
  return [...groups.values()];
}

function sample(group) {
  return el("div", { class: "sample" }, el("dl", {},
    el("dt", {}, group.set ? `source, ${group.set}` : "source"), el("dd", { class: "given source" }, group.source),
    el("dt", {}, "reference"), el("dd", { class: "given" }, group.reference),
    [...group.runs].flatMap(([i, rows]) => [el("div", { class: "gap" }), ...(shows_all_samples ? rows : spread(rows, kMaxSamples)).flatMap(([step, hypothesis]) => [
      el("dt", {}, several ? swatch(i) : null, `step ${step.toLocaleString("en")}`),
      el("dd", {}, hypothesis ? marked(hypothesis, group.reference) : "(empty)")])])));
}

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
