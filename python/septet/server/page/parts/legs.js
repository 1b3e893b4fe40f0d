// A leg of a search as a track: all that match from left to right, the candidates shaded, the entry as a mark.

import { h } from "./dom.js";

/** Return the report of a leg. Ranks are shown by their logarithm, as the first ones matter most. */
export function track({ leg, matched, rank, of, taken, value, detail }) {
  const place = (n) => (of > 1 ? Math.log(Math.min(Math.max(n, 1), of)) / Math.log(of) : 0);
  const inside = rank !== null && rank <= taken;
  const words = rank === null ? (matched ? "matches, but a filter keeps it out" : "no match") : `rank ${rank.toLocaleString("en")} of ${of.toLocaleString("en")}`;
  const line = h("div.track", { "aria-hidden": "true" },
    h("span.taken", { vars: { "--share": of > 0 ? Math.max(place(taken), 0.015) : 0 } }),
    rank !== null && h("span.mark", { class: inside ? "mark" : "mark out", vars: { "--at": place(rank) } }));
  return h("div.leg", {},
    h("p.row", {}, h("strong", {}, leg), h("span", {}, words), value !== null && h("span.chip.number", {}, value.toFixed(3)),
      rank !== null && h("span.chip", { class: inside ? "chip" : "chip warning" }, inside ? "a candidate" : `only the first ${taken} are candidates`)),
    line,
    h("p.small.soft", {}, detail));
}
