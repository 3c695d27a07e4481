// launch/reports/run_page/elements.js: reads the data, which launch/reports/run_page.cpp writes as JSON into #data, and
// defines functions that all parts of the page use for elements, numbers and tables.
"use strict";

const { runs, differences, corpora, metrics } = JSON.parse(document.getElementById("data").textContent);
const several = runs.length > 1;
// number_of_step() returns a validation metric's key in step records, or null. key_of() returns the key for a set.
const number_of_step = (metric) => metric.key.startsWith("valid_") ? metric.key.slice(6) : null;
const key_of = (metric, set) => set ? `${set}.${number_of_step(metric) ?? metric.key}` : metric.key;
const byId = (id) => document.getElementById(id);
const colour = (i) => `--run: var(--run${i % 6})`;

// These functions make all elements and insert every string as text, so no string of a run becomes markup.
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
const is_dashed = (i) => i >= 6;  // the colors repeat
const swatch = (i) => el("span", { class: "swatch", style: `${colour(i)}; background: ${is_dashed(i)
  ? "repeating-linear-gradient(90deg, var(--run) 0 .3em, transparent .3em .5em)" : "var(--run)"}` });
const named = (i) => [several ? swatch(i) : null, runs[i].name];
const last = (list) => list[list.length - 1];
const best = (run, key, sign) => run.validations.filter((v) => v[key] != null)
  .reduce((a, v) => a == null || sign * v[key] > sign * a[key] ? v : a, null);

function table(columns, rows, className = "scroll") {  // columns: [title, whether the column contains numbers]
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
