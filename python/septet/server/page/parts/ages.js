// When entries were made, as bars: years, months or days. A bar is a button that shows the entries of its time alone.

import { h } from "./dom.js";

const MOST_MONTHS = 24;
const MOST_BARS = 60;

/** Return the bucket to count by, under what was chosen: "", "2026" or "2026-03". */
export function bucketOf(when, months) {
  if (when.length >= 7) return "day";
  return when.length === 4 || months <= MOST_MONTHS ? "month" : "year";
}

/** Return the filter of a year, a month or a day: {$gte, $lt} in epoch seconds. */
export function spanOf(when) {
  const [year, month, day] = when.split("-").map(Number);
  const from = timeOf(year, (month || 1) - 1, day || 1);
  const to = day ? timeOf(year, month - 1, day + 1) : month ? timeOf(year, month, 1) : timeOf(year + 1, 0, 1);
  return { $gte: from, $lt: to };
}

function timeOf(year, month, day) {
  const date = new Date(0);
  date.setUTCFullYear(year, month, day);
  return date.getTime() / 1000;
}

/** Return the name of a time as people say it. */
export function whenNamed(when) {
  if (when.length < 7) return when;
  const [year, month, day] = when.split("-").map(Number);
  const options = { timeZone: "UTC", year: "numeric", month: "short", ...(day ? { day: "numeric" } : {}) };
  return new Intl.DateTimeFormat("en-GB", options).format(timeOf(year, month - 1, day || 1) * 1000);
}

/** Return counted times as bars with the gaps between them; `choose(when)` is called with the one that is pressed. */
export function ageBars(values, chosen, choose) {
  const counts = new Map(values.map(({ value, count }) => [value, count]));
  const shown = filled([...counts.keys()].sort());
  const most = Math.max(...counts.values(), 1);
  return h("div.scroll.ages", {}, h("ol.bars", {}, shown.map((when) => {
    const count = counts.get(when) ?? 0;
    const label = when.length === 10 ? when.slice(8) : when.length === 7 ? whenNamed(when).replace(/ \d+$/, "") : when;
    return h("li", {}, h("button.age", {
      type: "button", disabled: count === 0, "aria-pressed": String(when === chosen), title: `${whenNamed(when)}: ${count}`,
      "aria-label": `${whenNamed(when)}: ${count} entries`, on: { click: () => choose(when === chosen ? "" : when) },
    }, h("span.column", { "aria-hidden": "true" }, h("span", { vars: { "--share": count / most } })), h("span.when", { "aria-hidden": "true" }, label)));
  })));
}

/** Return the times with those between them; only those that are there where that would be too many. */
function filled(times) {
  if (times.length < 2) return times;
  const all = [];
  for (let at = times[0]; at <= times.at(-1); at = following(at)) {
    all.push(at);
    if (all.length > MOST_BARS) return times.slice(-MOST_BARS);
  }
  return all;
}

function following(when) {
  const [year, month, day] = when.split("-").map(Number);
  if (!month) return String(year + 1).padStart(4, "0");
  const next = new Date(0);
  next.setUTCFullYear(year, day ? month - 1 : month, day ? day + 1 : 1);
  return next.toISOString().slice(0, when.length);
}
