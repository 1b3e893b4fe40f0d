// Hits, notes and faults as elements.

import { h } from "./dom.js";
import { scoreBar, shown } from "./signals.js";

/** Return pieces of text with the matches marked. */
export function marked(pieces) {
  return pieces.map(({ text, match }) => (match ? h("mark", {}, text) : text));
}

/** Return a hit as a list item. `why` is the address of its explanation. */
export function hitItem(hit, { rank, weights, most, why }) {
  const about = hit.entry ?? hit;
  const title = marked(hit.marked?.title ?? [{ text: about.title, match: false }]);
  const passage = marked(hit.marked?.passage ?? [{ text: hit.snippet ?? "", match: false }]);
  return h(
    "li.hit", { "data-id": hit.id },
    h("span.rank.number", { "aria-hidden": "true" }, rank),
    h("div.what", {},
      h("h2", {}, h("a", { href: why, "data-hit": "", "aria-label": `${rank}. ${about.title || hit.id}: why is it here?` }, title.length ? title : hit.id)),
      h("p.id.mono.soft", {}, hit.id),
      passage.length > 0 && h("p.passage", {}, passage),
      chips(hit, about),
      hit.parts?.length > 0 && h("p.small.soft", {}, `with ${hit.parts.length} more of ${about.parent}`)),
    h("div.much", {},
      h("p.score.number", { title: `confidence ${shown(hit.confidence)}` }, shown(hit.score)),
      h("p.small.soft.number", {}, `conf. ${shown(hit.confidence, 2)}`),
      hit.breakdown && scoreBar(hit, weights, most)),
  );
}

function chips(hit, about) {
  const all = [
    hit.tier && h("span.chip.tier", {}, hit.tier),
    h("span.chip", {}, about.kind),
    about.type && about.type !== about.kind && h("span.chip", {}, about.type),
    about.domain && h("span.chip", {}, about.domain),
    about.severity && about.severity !== "suggestion" && h(`span.chip.${about.severity}`, {}, about.severity),
    about.trust && about.trust !== "trusted" && h(`span.chip.${about.trust}`, {}, about.trust),
    ...(about.tags ?? []).slice(0, 6).map((tag) => h("span.chip", {}, `#${tag}`)),
    hit.citation && h("span.chip.mono", {}, hit.citation),
  ];
  return h("p.row.chips", {}, all);
}

/** Return the notes of a search. */
export function noteList(notes) {
  if (!notes?.length) return null;
  return h("ul.stack.notes", { "aria-label": "Notes" }, notes.map(({ code, cause, cure, tier }) =>
    h("li.note", {}, h("code", {}, code), " ", tier && `${tier}: `, cause, cure && h("span.soft", {}, ` — ${cure}`))));
}

/** Return an error as an element that is read out. */
export function fault(error) {
  return h("div.fault", { role: "alert", title: error.code }, sentence(error));
}

/** Return an error as a sentence; advice that is for programs is left out. */
export function sentence({ code, message }) {
  if (code === "entry_not_found") {
    const id = /no entry (?:'([^']*)'|"([^"]*)")/.exec(message);
    return id ? `There is no entry with the id “${id[1] ?? id[2]}”.` : "There is no such entry.";
  }
  const plain = message.trim().replaceAll("`", "");
  const begun = plain.charAt(0).toUpperCase() + plain.slice(1);
  return /[.!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** Move the focus to the next (1) or previous (-1) element that a selector names; false at the end. */
export function step(root, selector, by) {
  const all = [...root.querySelectorAll(selector)];
  const at = all.findIndex((one) => one === document.activeElement || one.closest("li")?.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
}
