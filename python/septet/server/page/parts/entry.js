// One entry with all that is known of it: text, facts, links, earlier versions, and what is like it.

import { fill, h } from "./dom.js";
import { changeList } from "./diff.js";
import { linkGraph } from "./graph.js";
import { dated, factChips } from "./facts.js";
import { fault } from "./hits.js";

const NODES = 24;
const ALIKE = 8;
/** From this similarity on two entries are near-duplicates, as for `add(on_similar=...)`. */
const NEAR = 0.95;
const ATTRS = 40;

/** Return the sections of an entry. `addressOf(id)` leads to another entry; `call` asks in the tier that is shown. */
export function entryParts(entry, call, addressOf) {
  const texts = ["description", "context"].filter((field) => entry[field]);
  const column = (...sections) => h("div.stack", {}, sections);
  return [
    column(h("section.card.texts", { "aria-label": "Text" },
      texts.map((field) => [h("h2", {}, field === "description" ? "Description" : "Context"), h("p.text", {}, entry[field])]),
      !texts.length && h("p.soft", {}, "It has a title alone.")),
      later("Similar entries", async () => alike(await call("similar", { id: entry.id, limit: ALIKE, mode: "scan" }), addressOf))),
    column(h("section.card", {}, h("h2", {}, "Facts"), facts(entry), attrs(entry.attrs ?? {})),
      later("History", async () => versionList(entry, (await call("history", { id: entry.id })).versions))),
    later("Links", async () => links(await call("neighbourhood", { id: entry.id, limit: NODES }), addressOf)),
  ];
}

/** Where the text of an entry stands. */
export function citation({ span }) {
  if (!span) return null;
  const sign = /\.pdf$/i.test(span.path) ? "p" : "L";
  const last = span.first_line === span.last_line ? "" : `-${sign}${span.last_line}`;
  return `${span.path}#${sign}${span.first_line}${last}`;
}

function facts(entry) {
  const rows = [
    ["Kind", entry.kind], ["Type", entry.type !== entry.kind && entry.type], ["Domain", entry.domain],
    ["Severity", entry.severity], ["Trust", entry.trust], ["Source", entry.source], ["Citation", citation(entry)],
    ["Part of", entry.parent], ["Created", dated(entry.created_at)], ["Updated", dated(entry.updated_at)],
    ["Valid from", entry.valid_from !== undefined && dated(entry.valid_from)],
    ["Valid until", entry.valid_until !== undefined && dated(entry.valid_until)],
  ];
  return h("dl.facts", {}, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function attrs(values) {
  const names = Object.keys(values);
  if (!names.length) return null;
  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));
  return [h("h3", {}, "Attrs"), h("dl.facts.mono", {}, names.slice(0, ATTRS).map((name) => [h("dt", {}, name), h("dd", {}, shown(values[name]))])),
    names.length > ATTRS && h("p.small.soft", {}, `and ${names.length - ATTRS} more`)];
}

/** A section whose contents come a moment later; it keeps its place meanwhile. */
function later(title, make) {
  const inside = h("div.later", { "aria-busy": "true" }, h("p.soft", {}, "…"));
  make().then((made) => fill(inside, made), (error) => fill(inside, fault(error))).finally(() => inside.removeAttribute("aria-busy"));
  return h("section.card", {}, h("h2", {}, title), inside);
}

function links(found, addressOf) {
  const [middle, ...others] = found.nodes;
  if (!others.length) return h("p.soft", {}, "It has no links.");
  const named = new Map(found.nodes.map((node) => [node.id, node.title || node.id]));
  const own = found.links.filter(({ source, target }) => source === middle.id || target === middle.id);
  return [linkGraph(found, addressOf),
    h("details", {}, h("summary", {}, `${own.length < middle.links ? `${own.length} of ${middle.links}` : own.length} direct links as a table`),
      h("div.scroll", {}, h("table", {},
        h("thead", {}, h("tr", {}, ["", "Entry", "Type", "Note"].map((head) => (head ? h("th", { scope: "col" }, head) : h("th", { scope: "col" }, h("span.unseen", {}, "Direction")))))),
        h("tbody", {}, own.map(({ source, target, type, note }) => {
          const [way, other] = source === middle.id ? ["to", target] : ["from", source];
          return h("tr", {}, h("td.soft", {}, way), h("td", {}, h("a", { href: addressOf(other) }, named.get(other))), h("td", {}, type), h("td", {}, note));
        })))))];
}

function alike({ hits, weights }, addressOf) {
  if (!hits.length) return h("p.soft", {}, "No similar entries.");
  const by = "cosine" in weights ? "vectors" : "words";
  return [h("p.small.soft", {}, `Nearest by ${by}, as an absolute similarity.`),
    h("ol.alike", {}, hits.map((hit) => h("li", {},
      h("span.gauge", { "aria-hidden": "true", vars: { "--share": Math.max(0, Math.min(hit.score, 1)) } }),
      h("span.number", {}, hit.score.toFixed(3)),
      h("a", { href: addressOf(hit.id) }, hit.title || hit.id),
      hit.score >= NEAR && h("span.chip.warning", {}, "near-duplicate"))))];
}

/** Return the earlier versions of an entry, the last first, each with what the change after it made different. */
export function versionList(entry, versions) {
  if (!versions.length) return h("p.soft", {}, "No earlier version is kept.");
  return h("ol.versions", {}, versions.map((version, n) => {
    const after = n === 0 ? entry : versions[n - 1].entry;
    return h("li", {},
      h("p.small", {}, h("strong", {}, dated(version.replaced_at)), h("span.soft", {}, ` by ${version.call}`)),
      changeList(version.entry, after, version.changed));
  }));
}

/** The head of an entry: its title, id and chips. */
export function entryHead(entry, tiers, actions) {
  return h("header.entry-head", {},
    h("div", {}, h("h1", { tabindex: "-1" }, entry.title || entry.id), h("p.mono.soft.id", {}, entry.id),
      h("p.row.chips", {}, tiers.map((tier) => h("span.chip.tier", {}, tier)), factChips(entry))),
    actions && h("div.buttons", {}, actions));
}
