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
const FACET_VALUES = 8;
const FACETS_MS = 250;

/** Make the view. */
export function create(context) {
  const form = searchForm({ context, changed, entered });
  const facets = h("div.facets", {});
  const summary = h("p.summary.soft", {});
  const notes = h("div", {});
  const list = h("ol.hits", { "aria-label": "Hits" });
  const pages = h("nav.pages", { "aria-label": "Pages" });
  const aside = h("aside.beside", { "aria-label": "How it was ranked" });
  const results = h("div.results", {}, h("div.found", {}, summary, notes, list, pages), aside);
  const element = h("section.search-view", { "aria-labelledby": "search-title" },
    h("h1.unseen", { id: "search-title" }, "Search"), form.element, results);
  let running = null;
  let waiting = 0;
  let counting = 0;
  let last = "";

  context.ready.then(() => !form.read().q?.trim() && welcome());

  function show(params) {
    form.write(params);
    const wanted = JSON.stringify(searchParams(params));
    if (wanted !== last || !list.childElementCount) ask(params);
    if (!params.q && !matchMedia("(pointer: coarse)").matches) form.box.focus();
  }

  /** A change of the form: a word that is being typed waits a moment, and the search starts at the first page. */
  function changed(params, typing) {
    clearTimeout(waiting);
    context.go(name, params, { replace: true });
    if (typing) waiting = setTimeout(() => ask(params), TYPING_MS);
    else ask(params);
  }

  function entered() {
    const params = form.read();
    clearTimeout(waiting);
    if (JSON.stringify(searchParams(params)) === last && list.querySelector(".hit")) step(list, "[data-hit]", 1);
    else ask(params);
  }

  async function ask(params) {
    running?.abort();
    running = null;
    clearTimeout(counting);
    last = JSON.stringify(searchParams(params));
    form.blame();
    if (!params.q?.trim()) return welcome();
    if (params.leg === "vector" && context.status.spaces?.length === 0) return withoutVectors();
    const own = (running = new AbortController());
    results.classList.add("busy");
    results.setAttribute("aria-busy", "true");
    try {
      const request = { ...requestOf(params), passages: PASSAGE };
      let stages = [];
      const answer = await context.api.call("search", request, { signal: own.signal, timed: (told) => (stages = told) });
      if (own !== running) return;
      present(params, answer, stages);
      if (params.leg !== "vector") counting = setTimeout(() => count(params, own.signal), FACETS_MS);
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

  /** Count all that match by field, when nobody types: that takes longer than the search. */
  async function count(params, signal) {
    try {
      const request = { ...requestOf(params), limit: 1, offset: 0, mode: "scan", facets: FACETS };
      const { facets: counted } = await context.api.call("search", request, { signal });
      if (!signal.aborted) showFacets(params, counted ?? {});
    } catch {
      // The hits are there without them.
    }
  }

  function clear() {
    for (const part of [facets, summary, notes, list, pages, aside]) fill(part);
  }

  function welcome() {
    clear();
    results.classList.remove("busy");
    if (context.status.entries === 0) return fill(list, empty());
    fill(list, h("li.empty", {}, h("h2", {}, "What are you looking for?"),
      h("p", {}, "Type a question or a few words. ", h("kbd", {}, "/"), " comes back to the box, ", h("kbd", {}, "j"), " ", h("kbd", {}, "k"),
        " go through the hits, ", h("kbd", {}, "Enter"), " says why one is there.")));
  }

  function withoutVectors() {
    clear();
    results.classList.remove("busy");
    fill(list, h("li.empty", {}, h("h2", {}, "There are no vectors"),
      h("p", {}, "Choose another mode, or embed the entries with ", h("code", {}, "septet embed"), ".")));
  }

  function empty() {
    return h("li.empty", {}, h("h2", {}, "The vault is empty"), howToFill());
  }

  function howToFill(said = "") {
    return h("p", {}, said, "Add entries with ", h("code", {}, "septet add"), ", or a folder of files with ", h("code", {}, "septet sync"), ".");
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
    showPages(params, answer);
    const timings = h("div", {});
    if (!hits.length) fill(facets);
    fill(aside, h("section", {}, h("h2", {}, "Signals × weights"), h("p.small.soft", {}, `profile ${answer.profile}`), legend(weights)),
      h("section", {}, h("h2", {}, "Time"), timings), answer.tiers.length > 1 && tierReports(answer.tiers), facets);
    showTimings(timings, stages, answer.took_ms);
    context.announce(hits.length ? `${hits.length} hits. The best: ${(hits[0].entry ?? hits[0]).title}` : "No hits");
  }

  function nothing(params) {
    return h("li.empty", {}, h("h2", {}, "Nothing found"), context.status.entries === 0 && howToFill("The vault is empty. "),
      h("p", {}, "Do you know the id of what should be here? ", h("a", { href: context.addressOf("why", searchParams(params)) }, "Ask why it is not.")));
  }

  function showFacets(params, counted) {
    const rows = Object.entries(counted).filter(([, { values }]) => values.length > 1 || params.kind || params.domain || params.type);
    fill(facets, rows.map(([field, { values, distinct }]) =>
      h("section", { role: "group", "aria-label": `Only one ${field}` },
        h("h2", {}, `By ${field}`),
        h("div.row.facet", {}, values.slice(0, FACET_VALUES).map(({ value, count }) => {
          const on = params[field] === value;
          const click = () => context.go(name, { ...params, [field]: on ? "" : value, offset: "" });
          return h("button.chip", { type: "button", "aria-pressed": String(on), on: { click } }, value, h("span.number", {}, count.toLocaleString("en")));
        }), distinct > FACET_VALUES && h("span.small.soft", {}, `and ${distinct - FACET_VALUES} more`)))));
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

  function hide() {
    running?.abort();
    clearTimeout(waiting);
    clearTimeout(counting);
  }

  return { element, show, onKey, hide };
}

function tierReports(tiers) {
  return h("section", {}, h("h2", {}, "Tiers"), h("ul.timings", {}, tiers.map(({ name: tier, candidates, took_ms: ms, error }) =>
    h("li", {}, h("span", {}, tier, error && h("span.soft", {}, ` ${error}`)), h("span.number", {}, `${candidates} · ${ms.toFixed(1)} ms`)))));
}
