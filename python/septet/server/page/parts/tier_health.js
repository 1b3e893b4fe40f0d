// The health of a tier: its contents and size, its vectors, its sidecar, its folders.

import { h } from "./dom.js";
import { dated, sized } from "./facts.js";
import { noteList } from "./hits.js";

const SIDECAR = {
  current: () => ["good", "up to date"],
  behind: (n) => ["good", `${n.toLocaleString("en")} ${n === 1 ? "write" : "writes"} behind, caught up in memory`],
  none: () => ["soft", "none: vaults under 2,000 entries need none"],
  off: () => ["soft", "not used"],
};

/** Return a tier as a card. */
export function tierCard(tier, { alone }) {
  const head = h("h2", {}, alone ? "The vault" : `Tier ${tier.name}`);
  if (tier.error !== null) return h("section.card.tier-health", {}, head, h("p.fault", {}, tier.error));
  return h("section.card.tier-health", {}, head,
    h("dl.tiles", {},
      tile("Entries", tier.entries.toLocaleString("en")), tile("Links", tier.links.toLocaleString("en")),
      tile("Feedback", Object.values(tier.feedback).reduce((all, count) => all + count, 0).toLocaleString("en")),
      tile("File", tier.size_bytes ? sized(tier.size_bytes) : "in memory"),
      tier.sidecar && tile("Sidecar", tier.sidecar.size_bytes ? sized(tier.sidecar.size_bytes) : "–"),
      tile("Writes", tier.generation.toLocaleString("en"))),
    tier.sidecar && state("Sidecar", ...SIDECAR[tier.sidecar.state](tier.sidecar.behind)),
    tier.spaces && vectors(tier),
    tier.folders && folders(tier.folders),
    noteList([...tier.notes, ...(tier.embedding?.notes ?? [])]));
}

function tile(name, value) {
  return h("div", {}, h("dt", {}, name), h("dd.number", {}, value));
}

function state(name, mood, text) {
  return h("p.state", {}, h(`span.dot.${mood}`, { "aria-hidden": "true" }), h("strong", {}, `${name}: `), text);
}

function vectors({ spaces, embedding }) {
  const activity = { idle: ["soft", "idle"], running: ["good", "embedding now"], waiting: ["warn", "waiting to try again"] }[embedding.activity];
  return h("section", {}, h("h3", {}, "Vectors"),
    embedding.models.length > 0 ? state("Embedder", ...(embedding.asking ? activity : ["warn", "does not answer: queries are not embedded"])) : h("p.soft.small", {}, "No embedder: vectors are those that programs store."),
    h("ul.small", {}, embedding.models.filter(({ fault }) => fault).map(({ model, fault }) => h("li.note", {}, h("code", {}, model || "embedder"), ` ${fault}`))),
    spaces.length === 0 && h("p.soft.small", {}, "No vectors: searches go by words."),
    h("ul.spaces", {}, spaces.map(space)));
}

function space({ model, dimensions, entries, missing, active, given, standby }) {
  const all = entries + missing;
  const share = all ? entries / all : 1;
  const percent = Math.floor(share * 100);
  const role = standby ? "stands by" : active ? "answers" : "is being filled";
  return h("li", {},
    h("div.space-head", {}, h("code", {}, model), h("span.soft.small", {}, `${dimensions ?? "?"} dimensions · ${role}${given ? " · given by programs" : ""}`),
      h("span.number", {}, `${entries.toLocaleString("en")} of ${all.toLocaleString("en")}`)),
    h("div.progress", { role: "progressbar", "aria-label": `Entries with a vector of ${model}`, "aria-valuenow": percent, "aria-valuemin": 0, "aria-valuemax": 100, vars: { "--share": share } }, h("span")));
}

function folders({ in_step: inStep, running, folders: every }) {
  if (!every.length) return null;
  const mood = running ? ["good", "a sync runs"] : inStep ? ["good", "in sync with the disk"] : ["warn", "not in sync: `septet sync` reads the differences"];
  const columns = ["Folder", "Files", "Chunks", "New", "Changed", "Gone", "Last synced"];
  return h("section", {}, h("h3", {}, "Folders"), state("Files", ...mood),
    h("div.scroll", {}, h("table", {},
      h("thead", {}, h("tr", {}, columns.map((head, n) => h(n && n < 6 ? "th.number" : "th", { scope: "col" }, head)))),
      h("tbody", {}, every.map((one) => h("tr", {},
        h("th", { scope: "row" }, one.name, one.missing && h("span.chip.critical", {}, "not there"), one.failed && h("span.chip.critical", {}, "last sync failed"),
          one.rebuilding && h("span.chip.warning", {}, "to be read again")),
        [one.files, one.chunks, one.new, one.changed, one.gone].map((count) => h("td.number", {}, count.toLocaleString("en"))),
        h("td.number", {}, dated(one.synced_at))))))));
}
