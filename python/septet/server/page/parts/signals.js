// Signals as colours: the stacked bar of a hit, its values, the legend.

import { fill, h } from "./dom.js";

const KNOWN = ["semantic", "vector", "severity", "temporal_decay", "tag_overlap", "domain_match", "graph_proximity"];
const COLOURS = 8;

/** Return the class of a signal's colour: the same in every view. */
export function colourOf(name, names = []) {
  const known = KNOWN.indexOf(name);
  const at = known >= 0 ? known : Math.max(names.indexOf(name), 0) % COLOURS;
  return `signal-${at + 1}`;
}

/** Return the name of a signal as people read it; `semantic` is how well the words match, so it is shown as that. */
export function called(name) {
  return name === "semantic" ? "Words" : name.replaceAll("_", " ");
}

/** Return a number with `digits` digits, or "unknown". */
export function shown(value, digits = 3) {
  return value === null || value === undefined ? "unknown" : value.toFixed(digits);
}

/**
 * Return the stacked bar of a hit: weight x signal for each signal, as wide as the score is of `most`.
 *
 * Its text says the same; hovering, focusing or pressing it shows weights and raw values.
 */
export function scoreBar({ score, breakdown, signals, raw, confidence }, weights, most) {
  const names = Object.keys(breakdown);
  const parts = names.filter((name) => breakdown[name] > 0);
  const bar = h(
    "div.bar",
    { role: "img", tabindex: "0", "aria-label": `Score ${shown(score)}: ${parts.map((name) => `${called(name)} ${shown(breakdown[name])}`).join(", ") || "nothing"}` },
    parts.map((name) =>
      h(`span.part.${colourOf(name, names)}`, { vars: { "--share": most > 0 ? breakdown[name] / most : 0 } })),
  );
  const holder = h("div.bar-holder", {}, bar);
  let values = null;
  const open = () => {
    values ??= h("div.values", { "aria-hidden": "true" }, valuesTable({ breakdown, signals, raw, confidence, score }, weights));
    holder.append(values);
  };
  const close = () => values?.remove();
  bar.addEventListener("focus", open);
  bar.addEventListener("blur", close);
  bar.addEventListener("pointerenter", open);
  bar.addEventListener("pointerleave", () => document.activeElement !== bar && close());
  bar.addEventListener("keydown", (event) => event.key === "Escape" && close());
  return holder;
}

/** Return the parts of a score as a table, with what they were made from. */
export function valuesTable({ breakdown, signals, raw = {}, confidence, score }, weights, estimated = []) {
  const names = Object.keys(breakdown);
  const rows = names.map((name) => {
    const weight = weights[name];
    return h(
      "tr", {},
      h("th", { scope: "row" }, swatch(name, names), called(name), estimated.includes(name) && h("span.chip", {}, "estimated")),
      h("td.number", {}, weight === undefined ? "" : shown(weight)),
      h("td.number", {}, signals[name] === null || signals[name] === undefined ? "–" : shown(signals[name])),
      h("td.number", {}, (weight === undefined && breakdown[name] >= 0 ? "+" : "") + shown(breakdown[name])),
    );
  });
  const known = Object.entries(raw).filter(([, value]) => value !== null);
  return [
    h("table.parts", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Signal"), h("th.number", { scope: "col" }, "weight"),
        h("th.number", { scope: "col" }, "value"), h("th.number", { scope: "col" }, "part"))),
      h("tbody", {}, rows, h("tr.sum", {}, h("th", { scope: "row" }, "Score"), h("td"), h("td"), h("td.number", {}, shown(score, 4))))),
    h("p.small.soft.number", {},
      [`confidence ${shown(confidence, 2)}`, ...known.map(([name, value]) => `${name} ${value.toFixed(3)}`)].join(" · ")),
  ];
}

/** Return the legend: each signal with the weight that counted. */
export function legend(weights) {
  const names = Object.keys(weights);
  const most = Math.max(...Object.values(weights), 1e-9);
  return h("ul.legend", {}, names.map((name) =>
    h(`li.${colourOf(name, names)}`, { class: weights[name] > 0 ? undefined : "off" },
      h("span", {}, swatch(name, names), called(name)),
      h("span.number", {}, shown(weights[name])),
      h("span.gauge", { "aria-hidden": "true" }, h("span", { vars: { "--share": weights[name] / most } })))));
}

/** Return the coloured square of a signal. */
export function swatch(name, names) {
  return h(`span.swatch.${colourOf(name, names)}`, { "aria-hidden": "true" });
}

/** Put how long each stage took into an element. */
export function showTimings(element, stages, total) {
  // The total of the request, if it is told, is no stage.
  const own = stages.filter(({ name, ms }) => ms > 0 && !["total", "app", "request"].includes(name));
  const sum = own.reduce((all, { ms }) => all + ms, 0);
  fill(element,
    own.length > 0 && h("div.bar.thin", { "aria-hidden": "true" }, own.map(({ name, ms }, n) =>
      h("span.part.stage", { title: name, vars: { "--share": ms / sum, "--n": n } }))),
    h("ul.timings", {},
      own.map(({ name, ms }, n) => h("li", {}, h("span", {}, h("span.swatch.stage", { "aria-hidden": "true", vars: { "--n": n } }), called(name)), h("span.number", {}, `${ms.toFixed(2)} ms`))),
      h("li.sum", {}, h("span", {}, "search"), h("span.number", {}, `${total.toFixed(2)} ms`))));
}
