"""A query of filters alone: what passes them is listed, the newest first, as nothing is left to rank by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.listing.asked import CountsAsked, NumberAsked, PageAsked
from septet.listing.counting import facets_of
from septet.listing.request import Key, Request
from septet.model.results import Hit, Note, Results, hits_of
from septet.query.filters import Compare, Filter
from septet.query.plan import MEMORY, Plan
from septet.search.facets import MOST_VALUES

if TYPE_CHECKING:
    from septet.listing.paging import Placed

__all__ = ["as_list"]

#: Asks the listings of tiers: what, the moment at which entries are valid, which tiers; the answers by their names.
Asked: TypeAlias = Callable[[Any, "float | None", "frozenset[str] | None"], "list[tuple[str, Any]]"]

NEWEST_FIRST = (Key("updated_at", True), Key("created_at", True))
CAUSE = "the query has filters alone: what passes them is listed, the newest first, and not ranked"


def as_list(asked: Asked, plan: Plan, results: Results) -> Results:
    """Return the results of a search without a word, with the entries that pass its filters as hits.

    Their scores and confidences are 0. Groups, offset, budget of tokens and facets are as for a search.

    Raises:
        SeptetError: every tier failed.
    """
    filters: dict[str, Filter] = {**plan.filters}
    if not plan.include_memories:
        filters["without memories"] = Compare("kind", "$ne", MEMORY)
    request = Request(filters, None if plan.include_expired else plan.now, NEWEST_FIRST)
    hits = _hits(plan, _wanted(asked, plan, request))
    left: tuple[Note, ...] = ()
    if plan.max_tokens is not None:
        from septet.search.budget import cost_of_scan, within_budget

        costs = [hit.token_estimate if plan.mode == "full" else cost_of_scan(hit) for hit in hits]
        budget = within_budget(plan, costs, [hit.score for hit in hits])
        hits, left = tuple(hits[at] for at in budget.places), tuple(budget.notes)
    note = Note("no_terms", CAUSE, "add a word to rank them")
    counted = {
        what.field: facets_of(what, _answers(asked, plan, request, CountsAsked(what, request, None)), MOST_VALUES)
        for what in plan.facets
    }
    return replace(
        results,
        hits=hits,
        total=sum(_answers(asked, plan, request, NumberAsked(request))),
        facets=counted,
        notes=(note, *(one for one in results.notes if one.code != "no_terms"), *left),
    )


def _answers(asked: Asked, plan: Plan, request: Request, what: Any) -> list[Any]:
    return [answer for _, answer in asked(what, request.as_of, plan.tiers)]


def _wanted(asked: Asked, plan: Plan, request: Request) -> list[tuple[str, Placed]]:
    """Return the entries of the page with their tiers: one of each group, and none that was split, as its parts are."""
    from septet.listing.paging import in_order

    last = plan.offset + plan.most_hits
    most = last
    while True:
        page = request._replace(limit=most)
        parts = asked(PageAsked(page), request.as_of, plan.tiers)
        tiers = {one.entry.id: name for name, part in parts for one in part}
        found = in_order([one for _, part in parts for one in part], page)
        kept: dict[str, tuple[str, Placed]] = {}
        for one in found:
            if one.entry.parent != one.entry.id:
                group = one.entry.parent if plan.group_by is not None else None
                kept.setdefault(group or one.entry.id, (tiers[one.entry.id], one))
        if len(kept) >= last or len(found) <= most:
            return list(kept.values())[plan.offset : last]
        most *= 4


def _hits(plan: Plan, placed: list[tuple[str, Placed]]) -> tuple[Hit, ...]:
    scored: list[Any] = [(0.0, tier, {}, {}, 0.0, dict.fromkeys(("cosine", "bm25", "tfidf"))) for tier, _ in placed]
    chars = plan.profile.text.snippet_chars
    return hits_of([one.entry for _, one in placed], scored, full=plan.mode == "full", snippet_chars=chars)
