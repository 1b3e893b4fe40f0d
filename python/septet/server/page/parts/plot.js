// Weights over time as lines, with the feedback of each day below them; and the same as a table.

import { h, svg } from "./dom.js";
import { called, colourOf, swatch } from "./signals.js";

const [WIDTH, HEIGHT, BARS] = [720, 210, 56];
const [LEFT, RIGHT, TOP, GAP] = [38, 12, 10, 14];
const ACTIONS = { accepted: "good", modified: "warn", dismissed: "bad", failed: "soft" };
const TABLE_DAYS = 30;

/** Return what feedback made of the weights: {days, base, min_rows, cause}. */
export function learnedPlot({ days, base, cause, min_rows: least, earlier_days: earlier }) {
  if (!days.length) return h("p.soft", {}, `No feedback yet. From ${least} rows on, accepted and dismissed results move the weights.`);
  const names = Object.keys(base);
  const times = days.map(({ day }) => Date.parse(day) / 86400000);
  const [first, last] = [times[0], Math.max(times.at(-1), times[0] + 1)];
  const x = (time) => LEFT + ((time - first) / (last - first)) * (WIDTH - LEFT - RIGHT);
  const most = Math.max(...names.flatMap((name) => [base[name], ...days.map(({ weights }) => weights[name])]), 0.1) * 1.08;
  const y = (weight) => TOP + (1 - weight / most) * HEIGHT;
  const peak = Math.max(...days.map(({ actions }) => sum(actions)), 1);
  const bottom = TOP + HEIGHT + GAP + BARS;
  const lines = names.map((name) => {
    const points = [[x(first), y(base[name])], ...days.flatMap(({ weights }, n) => [[x(times[n]), y(weights[name])]]), [x(last), y(days.at(-1).weights[name])]];
    return svg(`polyline.weight.${colourOf(name, names)}`, { points: points.map(([px, py]) => `${px.toFixed(1)},${py.toFixed(1)}`).join(" ") }, svg("title", {}, called(name)));
  });
  const bars = days.flatMap(({ actions }, n) => {
    let top = bottom;
    const wide = Math.max(2, Math.min(10, (WIDTH - LEFT - RIGHT) / (last - first + 1) - 1));
    return Object.keys(ACTIONS).filter((action) => actions[action]).map((action) => {
      const height = (actions[action] / peak) * BARS;
      top -= height;
      return svg(`rect.${ACTIONS[action]}`, { x: Math.min(x(times[n]), WIDTH - RIGHT - wide), y: top, width: wide, height }, svg("title", {}, `${days[n].day}: ${actions[action]} ${action}`));
    });
  });
  const grid = [0, 0.25, 0.5, 0.75, 1].map((part) => part * most).map((weight) => [
    svg("line.grid", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(weight), y2: y(weight) }),
    svg("text", { x: LEFT - 6, y: y(weight) + 4, "text-anchor": "end" }, weight.toFixed(2))]);
  const since = days.find(({ counted }) => counted >= least);
  const mark = since && since !== days[0] && [
    svg("line.since", { x1: x(Date.parse(since.day) / 86400000), x2: x(Date.parse(since.day) / 86400000), y1: TOP, y2: bottom }),
  ];
  return [
    h("p.small.soft", {}, `${cause}.`.replace(/^./, (letter) => letter.toUpperCase()), earlier > 0 && ` ${earlier} earlier days are not drawn.`),
    h("div.scroll", {}, svg("svg.plot", {
      viewBox: `0 0 ${WIDTH} ${bottom + 18}`, role: "img",
      "aria-label": `Weights from ${days[0].day} to ${days.at(-1).day}. Now: ${names.map((name) => `${called(name)} ${days.at(-1).weights[name].toFixed(2)}`).join(", ")}`,
    }, grid, mark, lines, svg("line.grid", { x1: LEFT, x2: WIDTH - RIGHT, y1: bottom, y2: bottom }), bars,
    svg("text", { x: LEFT, y: bottom + 14 }, days[0].day),
    days.length > 1 && svg("text", { x: WIDTH - RIGHT, y: bottom + 14, "text-anchor": "end" }, days.at(-1).day))),
    h("ul.row.small.keys-of-plot", { "aria-label": "Legend" },
      names.map((name) => h("li", {}, swatch(name, names), called(name))),
      Object.keys(ACTIONS).filter((action) => days.some(({ actions }) => actions[action])).map((action) => h("li", {}, h(`span.swatch.${ACTIONS[action]}`, { "aria-hidden": "true" }), action))),
    h("details", {}, h("summary", {}, "As a table"), table(days.slice(-TABLE_DAYS), names)),
  ];
}

function table(days, names) {
  const head = (text) => h("th", { scope: "col" }, text);
  return h("div.scroll", {}, h("table", {},
    h("thead", {}, h("tr", {}, head("After"), head("Feedback"), head("Accept rate"), names.map((name) => head(called(name))))),
    h("tbody", {}, days.map(({ day, actions, accept_rate: rate, weights }) => h("tr", {},
      h("th.number", { scope: "row" }, day), h("td", {}, Object.entries(actions).map(([action, count]) => `${count} ${action}`).join(", ")),
      h("td.number", {}, rate === null ? "–" : rate.toFixed(2)), names.map((name) => h("td.number", {}, weights[name].toFixed(3))))))));
}

function sum(actions) {
  return Object.values(actions).reduce((all, count) => all + count, 0);
}
