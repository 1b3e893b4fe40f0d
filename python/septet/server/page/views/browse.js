// Browse: entries by kind, domain, tag and age; and one entry with all that is known of it.

import { fill, h, ownId } from "../parts/dom.js";
import { makeActing } from "../parts/acting.js";
import { ageBars, bucketOf, spanOf, whenNamed } from "../parts/ages.js";
import { entryHead, entryParts } from "../parts/entry.js";
import { dated, factChips } from "../parts/facts.js";
import { fault, step } from "../parts/hits.js";

export const name = "browse";
export const title = "Browse";
export const key = "b";

const FIELDS = { kind: "kind", domain: "domain", type: "type", tag: "tags" };
const ORDERS = { "": "newest first", "created_at asc": "oldest first", "updated_at desc": "last changed first", "title asc": "by title", "id asc": "by id" };
const VALUES = 10;
const PAGE = 25;
const TYPING_MS = 200;

/** Make the view. */
export function create(context) {
  const acting = makeActing(context);
  const { inTier } = acting;
  const content = h("div.browsed", {});
  const element = h("section.browse-view", {}, acting.bar, content, acting.dialog);
  let asked = 0;
  let shown = {};
  const address = (params) => context.addressOf(name, params);

  const box = h("input", { id: ownId("contains"), type: "search", name: "contains", "data-box": "", autocomplete: "off", placeholder: "Words in the title", maxlength: "200" });
  const order = h("select", { id: ownId("order"), name: "order" }, Object.entries(ORDERS).map(([value, text]) => h("option", { value }, text)));
  const tier = h("select", { id: ownId("tier"), name: "tier" });
  const tierField = h("div.field", { hidden: true }, h("label", { for: tier.id }, "Tier"), tier);
  const chosen = h("div.row.chosen", {});
  const facets = h("aside.facet-lists", { "aria-label": "Narrow down" });
  const ages = h("section", { "aria-label": "By age" });
  const summary = h("p.summary.soft", { role: "status" });
  const rows = h("ol.entries", { "aria-label": "Entries" });
  const pages = h("nav.pages", { "aria-label": "Pages" });
  const listing = h("div.listing", {},
    h("h1", {}, "Browse"),
    h("div.ways", { role: "search" }, h("div.field.grow", {}, h("label", { for: box.id }, "Title contains"), box),
      h("div.field", {}, h("label", { for: order.id }, "Order"), order), tierField),
    h("div.columns", {}, facets, h("div.stack", {}, chosen, ages, summary, rows, pages)));
  let waiting = 0;
  box.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => narrow({ contains: box.value.trim() }, true), TYPING_MS);
  });
  order.addEventListener("change", () => narrow({ order: order.value }));
  tier.addEventListener("change", () => narrow({ tier: tier.value }));

  function show(params) {
    shown = params;
    asked += 1;
    return params.id === undefined ? list(params, asked) : one(params, asked);
  }

  /** Change what is listed; the first page of it. */
  function narrow(changes, typing = false) {
    const params = { ...shown, ...changes, after: "", id: undefined };
    context.go(name, params, { replace: typing });
    if (typing) show(Object.fromEntries(Object.entries(params).filter(([, value]) => value)));
  }

  async function list(params, own) {
    if (box !== document.activeElement) box.value = params.contains ?? "";
    order.value = params.order ?? "";
    if (content.firstChild !== listing) fill(content, listing);
    listing.classList.add("busy");
    try {
      await context.ready;
      const tiers = Object.keys(context.status.tiers ?? {});
      tierField.hidden = tiers.length < 2;
      fill(tier, h("option", { value: "" }, "all"), tiers.map((value) => h("option", { value }, value)));
      tier.value = params.tier ?? "";
      const call = inTier(params.tier);
      const [page, ...every] = await Promise.all([
        call("entries", { where: whereOf(params), order_by: orderOf(params), limit: PAGE, ...(params.after ? { after: params.after } : {}) }),
        call("count", { where: whereOf(params) }),
        ageCounts(call, params),
        ...Object.keys(FIELDS).map((field) => call("facets", { field: FIELDS[field], where: whereOf(params, field), limit: VALUES })),
      ]);
      if (own === asked) present(params, page, every);
    } catch (error) {
      if (own !== asked) return;
      for (const part of [rows, ages, facets, pages, chosen]) fill(part);
      fill(summary, fault(error));
    } finally {
      if (own === asked) listing.classList.remove("busy");
    }
  }

  async function ageCounts(call, params) {
    const where = whereOf(params, "when");
    const all = await call("facets", { field: "created_at", by: "month", where, limit: 500 });
    const by = bucketOf(params.when ?? "", all.distinct);
    if (by === "month" && (params.when ?? "").length !== 4) return all;
    // The bars go one step deeper than what is chosen: the months of a year, the days of a month.
    const around = params.when ? { ...params, when: params.when.slice(0, by === "day" ? 7 : 4) } : {};
    return call("facets", { field: "created_at", by, where: params.when ? whereOf(around) : where, limit: 500 });
  }

  function present(params, page, [{ count }, byAge, ...byField]) {
    const more = (changes) => address({ ...params, after: "", ...changes });
    fill(facets, Object.keys(FIELDS).map((field, n) => facetList(field, byField[n], params, more)));
    fill(chosen, [...Object.keys(FIELDS), "when", "contains"].filter((field) => params[field]).map((field) =>
      h("a.chip.on", { href: more({ [field]: "" }), "aria-label": `Without ${field} ${params[field]}` }, `${field}: ${field === "when" ? whenNamed(params.when) : params[field]} `, h("span", { "aria-hidden": "true" }, "✕"))));
    fill(ages, byAge.values.length > 0 && ageBars(byAge.values, params.when ?? "", (when) => narrow({ when })));
    fill(summary, count === 0 ? "Nothing fits." : `${count.toLocaleString("en")} ${count === 1 ? "entry" : "entries"}${params.after ? ", further on" : ""}`);
    fill(rows, page.entries.map((entry) => entryRow(entry, address({ ...params, after: params.after ?? "", id: entry.id }))));
    if (count === 0) fill(rows, h("li.empty", {}, h("p", {}, h("a", { href: address({}) }, "Show all entries"))));
    fill(pages, params.after && h("a.button", { href: more({}) }, "← First page"),
      page.next && h("a.button", { href: address({ ...params, after: page.next }), rel: "next" }, "More →"));
    context.announce(`${count} entries`);
  }

  async function one(params, own) {
    const { id, ...rest } = params;
    const home = h("p", {}, h("a", { href: address(rest) }, "← All entries"));
    try {
      await context.ready;
      const tiers = await acting.holding(id, params.tier);
      if (own !== asked) return;
      if (!tiers.length) return fill(content, home, h("div.empty", {}, h("h1", {}, "There is no such entry"), h("p.mono", {}, id)));
      const call = inTier(params.tier ?? (tiers[0] || undefined));
      const entry = await call("get", { id });
      if (own !== asked) return;
      const to = (other) => address({ ...rest, id: other });
      const actions = context.status.writable ? [
        h("button", { type: "button", on: { click: () => acting.edit(entry, call, () => shown.id === id && show(shown)) } }, "Edit"),
        h("button.danger", { type: "button", on: { click: () => acting.forget(entry, call, tiers.length - 1, {
          gone: () => context.go(name, rest), back: () => context.go(name, params),
        }) } }, "Forget"),
      ] : null;
      const head = entryHead(entry, tiers.filter(Boolean), actions);
      fill(content, home, head, h("div.entry-parts", {}, entryParts(entry, call, to)));
      head.querySelector("h1").focus({ preventScroll: true });
      window.scrollTo(0, 0);
    } catch (error) {
      if (own === asked) fill(content, home, h("h1", {}, "Entry"), fault(error));
    }
  }

  function onKey(event) {
    const typing = event.target === box;
    const way = event.key === "ArrowDown" || (event.key === "j" && !typing) ? 1 : !typing && (event.key === "ArrowUp" || event.key === "k") ? -1 : 0;
    if (way && content.firstChild === listing && !event.target.closest?.("select") && step(rows, "[data-entry]", way)) event.preventDefault();
  }

  return { element, show, onKey };
}

/** Return the filter of parameters, without that of one field. */
function whereOf(params, without) {
  const own = Object.keys(FIELDS).filter((field) => params[field] && field !== without);
  const where = Object.fromEntries(own.map((field) => [FIELDS[field], params[field]]));
  if (params.contains) where.title = { $contains: params.contains };
  if (params.when && without !== "when") where.created_at = spanOf(params.when);
  return where;
}

function orderOf({ order }) {
  return (order || "created_at desc").split(" ");
}

function facetList(field, { values, distinct }, params, more) {
  if (!values.length) return null;
  return h("section", {}, h("h2", {}, field === "tag" ? "Tag" : field[0].toUpperCase() + field.slice(1)),
    h("ul", {}, values.map(({ value, count }) => {
      const on = params[field] === value;
      return h("li", {}, h("a", { href: more({ [field]: on ? "" : value }), "aria-current": on && "true" }, h("span", {}, value), h("span.number", {}, count.toLocaleString("en"))));
    })),
    distinct > values.length && h("p.small.soft", {}, `and ${(distinct - values.length).toLocaleString("en")} more`));
}

function entryRow(entry, href) {
  return h("li", { "data-id": entry.id },
    h("div.what", {}, h("a", { href, "data-entry": "" }, entry.title || entry.id), entry.description && h("p.line.soft", {}, entry.description), h("p.row.chips", {}, factChips(entry))),
    h("p.small.soft.number", {}, dated(entry.created_at).slice(0, 10)));
}
