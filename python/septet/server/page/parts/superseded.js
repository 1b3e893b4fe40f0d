// Superseded entries, each beside its successor, with reason and times.

import { fill, h } from "./dom.js";
import { changeList } from "./diff.js";
import { capturedOf } from "./captured.js";
import { dated } from "./facts.js";
import { versionList } from "./entry.js";
import { fault } from "./hits.js";

const PAGE = 10;
const COMPARED = ["title", "description", "context", "trust", "source", "tags"];

/** Make the list, the last superseded first. */
export function supersededList({ context, addressOf, entryAddress }) {
  let asked = 0;
  const list = h("div.stack", {});
  const pages = h("nav.pages", { "aria-label": "Pages" });
  const element = h("div.stack", {},
    h("p.small.soft", {}, "An entry that another one superseded stays, as a past version: searches return it only for a time at which it was valid."), list, pages);

  async function show(params) {
    asked += 1;
    const own = asked;
    list.classList.add("busy");
    try {
      const where = { $and: [capturedOf(""), { valid_until: { $lte: Date.now() / 1000 } }] };
      const page = await context.api.call("entries", { where, order_by: ["valid_until", "desc"], limit: PAGE, ...(params.after ? { after: params.after } : {}) });
      const pairs = await Promise.all(page.entries.map(pairOf));
      if (own !== asked) return;
      fill(list, pairs.map(section), !pairs.length && h("div.empty", {}, params.after ? "No more." : "No memory was superseded."));
      fill(pages, params.after && h("a.button", { href: addressOf({ ...params, after: "" }) }, "← First page"),
        page.next && h("a.button", { href: addressOf({ ...params, after: page.next }), rel: "next" }, "More →"));
    } catch (error) {
      if (own !== asked) return;
      fill(pages);
      fill(list, fault(error));
    } finally {
      if (own === asked) list.classList.remove("busy");
    }
  }

  /** Return an old entry with those that took its place. */
  async function pairOf(old) {
    const { links } = await context.api.call("links", { id: old.id });
    const own = links.filter(({ type, target }) => type === "supersedes" && target === old.id);
    const { entries } = own.length ? await context.api.call("load", { ids: own.map(({ source }) => source) }) : { entries: [] };
    return { old, others: entries.map((entry) => ({ entry, note: own.find(({ source }) => source === entry.id)?.note })) };
  }

  function section({ old, others }) {
    return h("section.card", {}, h("h2", {}, `${dated(old.valid_until)} UTC`),
      others.map(({ note }) => note && h("p", {}, h("span.soft", {}, "Reason: "), note)),
      h("div.beside", {}, side("Old", old), others.length ? others.map(({ entry }) => side("New", entry)) : h("p.soft", {}, "No entry is in its place: it expired, or the new one was forgotten.")),
      others.map(({ entry }) => changes(old, entry)));
  }

  function side(label, entry) {
    const since = entry.valid_from ?? entry.created_at;
    return h("article", { "aria-label": `${label} entry` }, h("h3", {}, h("span.chip", {}, label), " ", h("a", { href: entryAddress(entry.id), "data-entry": "" }, entry.title || entry.id)),
      ["description", "context"].filter((field) => entry[field]).map((field) => h("p.text", {}, entry[field])),
      h("p.small.soft", {}, `valid from ${dated(since)}${entry.valid_until === undefined ? "" : ` to ${dated(entry.valid_until)}`} · ${entry.trust}${entry.source ? ` · by ${entry.source}` : ""}`),
      earlier(entry));
  }

  /** The earlier versions of an entry, asked for when they are opened. */
  function earlier(entry) {
    const inside = h("div.later", {});
    let open = false;
    return h("details", { on: { toggle: async () => {
      if (open) return;
      open = true;
      try {
        fill(inside, versionList(entry, (await context.api.call("history", { id: entry.id })).versions));
      } catch (error) {
        fill(inside, fault(error));
      }
    } } }, h("summary", {}, "Earlier versions"), inside);
  }

  function changes(old, entry) {
    const fields = COMPARED.filter((field) => JSON.stringify(old[field] ?? "") !== JSON.stringify(entry[field] ?? ""));
    return fields.length > 0 && h("div", {}, h("h3", {}, "Changes"), changeList(old, entry, fields));
  }

  return { element, show };
}
