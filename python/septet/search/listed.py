"""A query with filters but no words: matching entries, newest first, unranked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.listing.queries import CountsQuery, NumberQuery, PageQuery, facets_of
from septet.listing.request import Key, Request
from septet.model.results import Hit, Results, hits_of
from septet.notes import Note
from septet.query.filters import Compare, Filter
from septet.query.plan import MEMORY, SearchPlan
from septet.search.merge import MOST_VALUES

if TYPE_CHECKING:
    from septet.listing.queries import Placed

#: Runs a listing: request, time at which entries must be valid, tiers; returns answers by tier name.
Ask: TypeAlias = Callable[[Any, "float | None", "frozenset[str] | None"], "list[tuple[str, Any]]"]

NEWEST_FIRST = (Key("updated_at", True), Key("created_at", True))
CAUSE = "the query has filters only: matching entries are listed, newest first, not ranked"


def as_list(ask: Ask, plan: SearchPlan, results: Results) -> Results:
    """Return the results of a search without words: the entries that pass its filters.

    Scores and confidences are 0. Groups, offset, token budget and facets work as in a search.

    Raises:
        SeptetError: every tier failed.
    """
    filters: dict[str, Filter] = {**plan.filters}
    if not plan.include_memories:
        filters["without memories"] = Compare("kind", "$ne", MEMORY)
    request = Request(filters, None if plan.include_expired else plan.now, NEWEST_FIRST)
    hits = _hits(plan, _page(ask, plan, request))
    budget_notes: tuple[Note, ...] = ()
    if plan.max_tokens is not None:
        from septet.search.arranging import cost_of_scan, within_budget

        costs = [hit.token_estimate if plan.mode == "full" else cost_of_scan(hit) for hit in hits]
        budget = within_budget(plan, costs, [hit.score for hit in hits])
        hits, budget_notes = tuple(hits[at] for at in budget.places), tuple(budget.notes)
    note = Note("no_terms", CAUSE, "add a word to rank them")
    facets = {
        field.field: facets_of(field, _answers(ask, plan, request, CountsQuery(field, request, None)), MOST_VALUES)
        for field in plan.facets
    }
    return replace(
        results,
        hits=hits,
        total=sum(_answers(ask, plan, request, NumberQuery(request))),
        facets=facets,
        notes=(note, *(other for other in results.notes if other.code != "no_terms"), *budget_notes),
    )


def _answers(ask: Ask, plan: SearchPlan, request: Request, listing: Any) -> list[Any]:
    return [answer for _, answer in ask(listing, request.as_of, plan.tiers)]


def _page(ask: Ask, plan: SearchPlan, request: Request) -> list[tuple[str, Placed]]:
    """Return the entries of the page with their tiers: one per group, parts instead of split entries."""
    from septet.listing.queries import in_order

    last = plan.offset + plan.most_hits
    limit = last
    while True:
        page = request._replace(limit=limit)
        parts = ask(PageQuery(page), request.as_of, plan.tiers)
        tiers = {placed.entry.id: name for name, part in parts for placed in part}
        ordered = in_order([placed for _, part in parts for placed in part], page)
        groups: dict[str, tuple[str, Placed]] = {}
        for placed in ordered:
            entry = placed.entry
            if entry.parent != entry.id:
                group = entry.parent if plan.group_by is not None else None
                groups.setdefault(group or entry.id, (tiers[entry.id], placed))
        if len(groups) >= last or len(ordered) <= limit:
            return list(groups.values())[plan.offset : last]
        limit *= 4


def _hits(plan: SearchPlan, placed: list[tuple[str, Placed]]) -> tuple[Hit, ...]:
    scored: list[Any] = [(0.0, tier, {}, {}, 0.0, dict.fromkeys(("cosine", "bm25", "tfidf"))) for tier, _ in placed]
    chars = plan.profile.text.snippet_chars
    return hits_of([item.entry for _, item in placed], scored, full=plan.mode == "full", snippet_chars=chars)
