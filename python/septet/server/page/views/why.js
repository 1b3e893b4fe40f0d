// Why / why not: what became of one entry in a search, and the change that would have brought it back.

import { fill, h, ownId } from "../parts/dom.js";
import { searchForm } from "../parts/form.js";
import { fault, noteList } from "../parts/hits.js";
import { track } from "../parts/legs.js";
import { changedParams, FieldError, requestOf, searchParams } from "../parts/request.js";
import { scoreBar, shown, valuesTable } from "../parts/signals.js";

export const name = "why";
export const title = "Why / why not";
export const key = "w";

const TYPING_MS = 250;
const EXCERPT = 700;

/** Make the view. */
export function create(context) {
  const id = h("input.box.mono", {
    id: ownId("id"), name: "id", autocomplete: "off", spellcheck: "false", placeholder: "Click a hit, or paste an id",
  });
  const own = [h("div.field.grow", {}, h("label.unseen", { for: id.id }, "Id of the entry"), id)];
  const form = searchForm({ context, changed, entered, own, without: ["mode"], action: "Explain", label: "The query" });
  const answer = h("div.explained", {});
  const element = h("section.why-view", { "aria-labelledby": "why-title" }, h("h1.unseen", { id: "why-title" }, title), form.element, answer);
  let running = null;
  let waiting = 0;

  function show(params) {
    form.write(params);
    if (id.value !== (params.id ?? "")) id.value = params.id ?? "";
    ask(read());
  }

  const read = () => ({ ...form.read(), id: id.value.trim() });

  function changed() {
    clearTimeout(waiting);
    const params = read();
    context.go(name, params, { replace: true });
    waiting = setTimeout(() => ask(params), TYPING_MS);
  }

  function entered() {
    clearTimeout(waiting);
    ask(read());
  }

  async function ask(params) {
    running?.abort();
    form.blame();
    if (!params.id) return invite(params);
    const mine = (running = new AbortController());
    const { signal } = mine;
    answer.classList.add("busy");
    try {
      const { mode, ...request } = requestOf(params);
      const [told, loaded] = await Promise.all([
        context.api.call("explain", { ...request, id: params.id }, { signal }),
        context.api.call("load", { ids: [params.id] }, { signal }),
      ]);
      if (mine === running) present(params, told, loaded.entries[0]);
    } catch (error) {
      if (error.name === "AbortError" || mine !== running) return;
      fill(answer);
      if (error instanceof FieldError) form.blame(error);
      else fill(answer, fault(error));
    } finally {
      if (mine === running) answer.classList.remove("busy");
    }
  }

  function invite(params) {
    fill(answer, h("div.empty", {}, h("h2", {}, "Why is it here, and why is it not?"),
      h("p", {}, "Paste the id of an entry that a search returns, or should have returned. ",
        params.q && h("a", { href: context.addressOf("search", searchParams(params)) }, "See what it returns."))));
  }

  function present(params, told, entry) {
    const { found, rank, reason, legs, filters, notes } = told;
    const verdict = found ? `Comes back at rank ${rank}` : rank === null ? "Does not come back" : `Does not come back: rank ${rank}`;
    fill(answer,
      h("div.card.verdict", { class: `card verdict ${found ? "good" : "bad"}` },
        h("h2", {}, h("span.sign", { "aria-hidden": "true" }, found ? "✓" : "✗"), verdict), h("p", {}, reason)),
      told.remedy && remedyCard(params, told.remedy),
      !found && !told.remedy && h("p.soft", {}, "No single option of this search that was tried brings it back."),
      noteList(notes),
      h("div.halves", {},
        h("div.stack", {},
          h("section.card", {}, h("h2", {}, "Legs"), h("p.small.soft", {}, "Where the entry stands among all that match, and how many of them become candidates."), legs.map(track), legs.length === 0 && h("p", {}, "No leg was asked.")),
          filterCard(filters)),
        h("div.stack", {}, scoreCard(told), entryCard(params, entry, told))),
    );
    context.announce(`${verdict}. ${told.remedy?.text ?? ""}`);
  }

  function remedyCard(params, { changes, text }) {
    const better = changedParams(params, changes);
    return h("div.card.remedy", {},
      h("h2", {}, Object.keys(changes).length === 1 ? "The one change" : "What it takes"),
      h("p", {}, text), h("p.small.soft", {}, "The search was done with it: this is what it found."),
      h("p.row", {},
        h("a.button", { href: context.addressOf("search", searchParams(better)) }, "Search with it"),
        h("a.button", { href: context.addressOf(name, better) }, "Explain with it")));
  }

  function filterCard(filters) {
    const all = Object.entries(filters);
    return h("section.card", {}, h("h2", {}, "Filters"),
      h("ul.checks", {}, all.map(([filter, passes]) =>
        h("li", { class: passes ? "good" : "bad" }, h("span.sign", { "aria-hidden": "true" }, passes ? "✓" : "✗"),
          h("span", {}, filter), h("span.soft", {}, passes ? "passes" : "fails")))),
      all.length === 0 && h("p.soft", {}, "The search has none."));
  }

  function scoreCard(told) {
    if (told.rank === null) {
      return h("section.card", {}, h("h2", {}, "Score"), h("p.soft", {}, "It was no candidate, so it has no score."));
    }
    return h("section.card.score-card", {}, h("h2", {}, `Score ${shown(told.score, 4)}`),
      scoreBar(told, told.weights, Math.max(told.score, 1)), h("div.scroll", {}, valuesTable(told, told.weights, told.estimated)),
      h("p.small.soft", {}, `Limit ${told.limit}; each leg takes ${told.candidates} candidates. Another limit compares others, and may rank otherwise.`));
  }

  function entryCard(params, entry, told) {
    if (!entry) return null;
    const text = [entry.description, entry.context].filter(Boolean).join("\n\n");
    return h("section.card", {}, h("h2", {}, entry.title || entry.id),
      h("p.row", {}, h("span.chip.tier", {}, told.tier), h("span.chip", {}, entry.kind), entry.domain && h("span.chip", {}, entry.domain),
        (entry.tags ?? []).slice(0, 8).map((tag) => h("span.chip", {}, `#${tag}`))),
      h("p.passage", {}, text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text),
      h("p", {}, h("a", { href: context.addressOf("search", searchParams(params)) }, "All hits of this query")));
  }

  return { element, show, hide: () => running?.abort() };
}
