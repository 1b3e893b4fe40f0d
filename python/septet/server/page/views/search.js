// Search: a box, filters, and the hits with what their scores are made of.

import { fill, h } from "../parts/dom.js";
import { searchForm } from "../parts/form.js";
import { fault, hitItem, noteList, step } from "../parts/hits.js";
import { FieldError, requestOf, searchParams } from "../parts/request.js";
import { legend, shown, showTimings } from "../parts/signals.js";

export const name = "search";
export const title = "Search";
export const key = "s";

const TYPING_MS = 140;
const PASSAGE = 240;
const FACETS = ["kind", "domain", "type"];
const FACET_VALUES = 6;

/** Make the view. */
export function create(context) {
  const form = searchForm({ context, changed, entered });
  const facets = h("div.facets", {});
  const summary = h("p.summary.soft", {});
  const notes = h("div", {});
  const list = h("ol.hits", { "aria-label": "Hits" });
  const pages = h("nav.pages", { "aria-label": "Pages" });
  const aside = h("aside.beside", { "aria-label": "How it was ranked" });
  const results = h("div.results", {}, h("div.found", {}, summary, facets, notes, list, pages), aside);
  const element = h("section.search-view", { "aria-labelledby": "search-title" },
    h("h1.unseen", { id: "search-title" }, "Search"), form.element, results);
  let running = null;
  let waiting = 0;
  let last = "";

  function show(params) {
    form.write(params);
    const wanted = JSON.stringify(searchParams(params));
    if (wanted !== last || !list.childElementCount) ask(params);
    if (!params.q && !matchMedia("(pointer: coarse)").matches) form.box.focus();
  }

  /** A change of the form: a word that is being typed waits a moment, and the page begins anew. */
  function changed(params, typing) {
    clearTimeout(waiting);
    context.go(name, params, { replace: true });
    if (typing) waiting = setTimeout(() => ask(params), TYPING_MS);
    else ask(params);
  }

  function entered() {
    const params = form.read();
    clearTimeout(waiting);
    if (JSON.stringify(params) === last && list.childElementCount) step(list, "[data-hit]", 1);
    else ask(params);
  }

  async function ask(params) {
    running?.abort();
    running = null;
    last = JSON.stringify(searchParams(params));
    form.blame();
    if (!params.q?.trim()) return welcome();
    const own = (running = new AbortController());
    results.classList.add("busy");
    results.setAttribute("aria-busy", "true");
    try {
      const request = { ...requestOf(params), passages: PASSAGE };
      if (params.leg !== "vector") request.facets = FACETS;
      let stages = [];
      const answer = await context.api.call("search", request, { signal: own.signal, timed: (told) => (stages = told) });
      if (own === running) present(params, answer, stages);
    } catch (error) {
      if (error.name === "AbortError" || own !== running) return;
      clear();
      if (error instanceof FieldError) form.blame(error);
      else fill(list, h("li", {}, fault(error)));
    } finally {
      if (own === running) {
        results.classList.remove("busy");
        results.removeAttribute("aria-busy");
      }
    }
  }

  function clear() {
    for (const part of [facets, summary, notes, list, pages, aside]) fill(part);
  }

  function welcome() {
    clear();
    results.classList.remove("busy");
    fill(list, h("li.empty", {}, h("h2", {}, "What are you looking for?"),
      h("p", {}, "Type a question or a few words. ", h("kbd", {}, "/"), " comes back to the box, ", h("kbd", {}, "j"), " ", h("kbd", {}, "k"),
        " go through the hits, ", h("kbd", {}, "Enter"), " says why one is there.")));
  }

  function present(params, answer, stages) {
    const { hits, offset = 0, total, weights } = answer;
    const most = Math.max(...hits.map(({ score }) => score), 1e-9);
    const range = hits.length ? `${offset + 1}–${offset + hits.length}` : "Nothing";
    const of = total === null || total === undefined ? "" : ` of ${total.toLocaleString("en")} that match`;
    fill(summary, h("strong", {}, range), of,
      h("span", {}, ` · confidence ${shown(answer.confidence, 2)}`),
      answer.matched_by && h("span", {}, ` · matched by ${answer.matched_by}`));
    fill(notes, noteList(answer.notes));
    fill(list, hits.map((hit, n) => {
      const why = context.addressOf("why", { ...searchParams(params), id: hit.id });
      return hitItem(hit, { rank: offset + n + 1, weights, most, why });
    }));
    if (!hits.length) fill(list, nothing(params));
    showFacets(params, answer.facets ?? {});
    showPages(params, answer);
    const timings = h("div", {});
    fill(aside, h("section", {}, h("h2", {}, "Signals × weights"), h("p.small.soft", {}, `profile ${answer.profile}`), legend(weights)),
      h("section", {}, h("h2", {}, "Time"), timings), answer.tiers.length > 1 && tierReports(answer.tiers));
    showTimings(timings, stages, answer.took_ms);
    context.announce(hits.length ? `${hits.length} hits. The best: ${(hits[0].entry ?? hits[0]).title}` : "No hits");
  }

  function nothing(params) {
    return h("li.empty", {}, h("h2", {}, "Nothing found"),
      h("p", {}, "Do you know the id of what should be here? ", h("a", { href: context.addressOf("why", searchParams(params)) }, "Ask why it is not.")));
  }

  function showFacets(params, counted) {
    const rows = Object.entries(counted).filter(([, { values }]) => values.length > 1 || params.kind || params.domain || params.type);
    fill(facets, rows.map(([field, { values, distinct }]) =>
      h("div.row.facet", { role: "group", "aria-label": `Only one ${field}` }, h("span.label", {}, field),
        values.slice(0, FACET_VALUES).map(({ value, count }) => {
          const on = params[field] === value;
          const click = () => {
            const changed = { ...params, [field]: on ? "" : value, offset: "" };
            context.go(name, changed);
          };
          return h("button.chip", { type: "button", "aria-pressed": String(on), on: { click } }, value, h("span.number", {}, count.toLocaleString("en")));
        }),
        distinct > FACET_VALUES && h("span.small.soft", {}, `and ${distinct - FACET_VALUES} more`))));
  }

  function showPages(params, { hits, offset = 0, total }) {
    const size = Number(params.limit || 10);
    const at = (where) => context.addressOf(name, { ...params, offset: where > 0 ? where : "", limit: params.limit ?? "" });
    const more = hits.length >= size && (total === null || offset + hits.length < total);
    fill(pages,
      offset > 0 && h("a.button", { href: at(Math.max(0, offset - size)), rel: "prev" }, "← Better"),
      more && h("a.button", { href: at(offset + hits.length), rel: "next" }, "More →"));
  }

  function onKey(event) {
    const typing = event.target === form.box;
    if (event.key === "ArrowDown" || (event.key === "j" && !typing)) move(event, 1);
    else if ((event.key === "ArrowUp" || event.key === "k") && !typing) {
      const first = document.activeElement === list.querySelector("[data-hit]");
      if (first) event.preventDefault(), form.box.focus();
      else move(event, -1);
    }
  }

  function move(event, by) {
    if (event.target.closest?.("select, input:not([type=search])")) return;
    if (step(list, "[data-hit]", by)) event.preventDefault();
  }

  return { element, show, onKey, hide: () => running?.abort() };
}

function tierReports(tiers) {
  return h("section", {}, h("h2", {}, "Tiers"), h("ul.timings", {}, tiers.map(({ name: tier, candidates, took_ms: ms, error }) =>
    h("li", {}, h("span", {}, tier, error && h("span.soft", {}, ` ${error}`)), h("span.number", {}, `${candidates} · ${ms.toFixed(1)} ms`)))));
}
