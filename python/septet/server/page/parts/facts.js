// Facts about an entry as chips, and times as text.

import { h } from "./dom.js";

const MOST_TAGS = 12;

/** Return a time as text in the order of the calendar; "never" for none. */
export function dated(seconds) {
  if (seconds === null || seconds === undefined) return "never";
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return `${seconds} s`;
  return date.toISOString().slice(0, 16).replace("T", " ");
}

/** Return a number of bytes as text. */
export function sized(bytes) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes, 0];
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000;
  return `${unit ? value.toFixed(value < 10 ? 1 : 0) : value} ${units[unit]}`;
}

/** Return what an entry is, as chips. */
export function factChips({ kind, type, domain, severity, trust, tags = [] }) {
  return [
    h("span.chip", {}, kind), type && type !== kind && h("span.chip", {}, type), domain && h("span.chip", {}, domain),
    severity && severity !== "suggestion" && h(`span.chip.${severity}`, {}, severity),
    trust && trust !== "trusted" && h(`span.chip.${trust}`, {}, trust),
    tags.slice(0, MOST_TAGS).map((tag) => h("span.chip", {}, `#${tag}`)),
    tags.length > MOST_TAGS && h("span.chip", {}, `+${tags.length - MOST_TAGS}`),
  ];
}
