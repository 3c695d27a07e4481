// launch/reports/run_page/page.js: makes the summary and the tables, and draws all parts of the page in order.

const sets_of = (v) => v.sets.length ? v.sets : [""];
const grid = (start) => start ? `dp ${start.dp} × tp ${start.tp}, ${start.device}` : "–";

function figures_of(run) {
  const bleu = best(run, "bleu", 1), nll = best(run, "valid_nll", -1), s = run.steps;
  const seconds = 3600 * (last(s.hours) || 0);
  return { bleu, nll, steps: last(s.step), tokens: last(s.tokens), hours: last(s.hours), speed: seconds > 0 ? last(s.tokens) / seconds : null };
}

function summary() {
  const columns = [["run"], ["best BLEU", 1], ["chrF at that step", 1], ["lowest validation nll", 1], ["steps", 1], ["target tokens", 1], ["training time", 1], ["target tokens/s", 1], ["grid"]];
  if (several) {
    return table(columns, runs.map(figures_of).map((f, i) => [named(i), fixed(f.bleu?.bleu, 2), fixed(f.bleu?.chrf, 2), fixed(f.nll?.valid_nll, 4), short(f.steps ?? 0), short(f.tokens ?? 0), hours(f.hours ?? 0), f.speed ? short(f.speed) : "–", grid(last(runs[i].starts))]));
  }
  const f = figures_of(runs[0]);
  const items = [
    f.bleu && [fixed(f.bleu.bleu, 2), `best BLEU, at step ${f.bleu.step.toLocaleString("en")}`],
    f.bleu && [fixed(f.bleu.chrf, 2), "chrF at that step"],
    f.nll && [fixed(f.nll.valid_nll, 3), "lowest validation nll"],
    [short(f.steps ?? 0), "steps"], [short(f.tokens ?? 0), "target tokens"], [hours(f.hours ?? 0), "training time"],
    f.speed && [short(f.speed), "target tokens/s"],
  ];
  return el("div", { class: "figures" }, items.filter(Boolean).map(([value, name]) => el("div", {}, el("b", {}, value), el("span", {}, name))));
}

function signatures() {  // of BLEU; if there are several, each with its runs and sets
  const owners = new Map();
  runs.forEach((run) => run.validations.forEach((v) => sets_of(v).forEach((set) => {
    const signature = v[key_of({ key: "bleu_signature" }, set)];
    if (signature) owners.set(signature, (owners.get(signature) ?? new Set()).add([several && run.name, set].filter(Boolean).join(" ")));
  })));
  const owner = (names) => owners.size > 1 && !names.has("") ? `${[...names].join(", ")}: ` : "";
  return [...owners].map(([signature, names]) => el("p", { class: "muted hint" }, `${owner(names)}BLEU|${signature}`));
}

function subtitle() {
  const starts = runs.flatMap((run) => run.starts), hosts = new Set(starts.flatMap((start) => start.hosts));
  const versions = [...new Set(starts.map((start) => start.weft))].join(", ");
  byId("subtitle").textContent = starts.length
    ? `Weft ${versions}, ${several ? "" : grid(last(starts)) + ", "}${hosts.size} ${hosts.size === 1 ? "host" : "hosts"}` : "";
}

function validations() {
  const sets = runs.some((run) => run.validations.some((v) => v.sets.length));
  const has = (v, m) => sets_of(v).some((set) => v[key_of(m, set)] != null);
  const shown = metrics.filter((m) => runs.some((run) => run.validations.some((v) => has(v, m))));
  const rows = runs.flatMap((run, i) => {
    const cell = (v, key, m) => ({ content: fixed(v[key], m.digits), style: m.better && best(run, key, m.better) === v ? "best" : "" });
    return run.validations.flatMap((v) => sets_of(v).map((set) =>
      [...(several ? [named(i)] : []), v.step.toLocaleString("en"), ...(sets ? [set] : []), short(v.tokens), hours(v.hours),
        ...shown.map((m) => cell(v, key_of(m, set), m))]));
  });
  return rows.length ? table([...(several ? [["run"]] : []), ["step", 1], ...(sets ? [["set"]] : []), ["target tokens", 1], ["training time", 1], ...shown.map((m) => [m.word, 1])], rows, "scroll tall") : null;
}

function events() {
  const when = (time) => time ? new Date(1000 * time).toISOString().slice(0, 19).replace("T", " ") + " UTC" : "–";
  const rows = runs.flatMap((run, i) => [
    ...run.starts.map((s) => [s.step, s.step > 0 ? "resumed" : "started", s.time, `${grid(s)}, ${[...new Set(s.hosts)].join(" ")}`]),
    ...run.stages.map((s) => [s.step, `stage ${s.name}`, s.time, ""]),
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
  return rows.length ? table([...(several ? [["run"]] : []), ["rank", 1], ["host"], ["steps as slowest", 1], ["other ranks waited", 1], [""]], rows) : null;
}

// Allows line breaks in long values after commas and slashes.
const divided = (value) => value.split(/(?<=[,/])/).flatMap((part) => [part, el("wbr")]);
const differences_table = () => differences.length === 0 ? null :
  table([["option"], ...runs.map((_, i) => [named(i)])], differences.map((d) => [d.name, ...d.values.map((value) => value == null ? el("span", { class: "muted" }, "not given") : divided(value))]));

function configuration() {
  return runs.map((run, i) => el("details", {}, el("summary", {}, named(i)),
    run.plan ? el("pre", {}, run.plan) : null, run.config ? el("pre", {}, run.config) : null));
}

subtitle();
section("summary", summary(), signatures());
section("differences", differences_table());
curves();
byId("curves").hidden = charts.length === 0;
byId("marks").textContent = describe_marks();
section("samples", samples());
section("attention", attention());
section("validations", validations());
section("events", events());
section("ranks", ranks());
section("configuration", configuration());
