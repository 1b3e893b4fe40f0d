"""Searches that find nothing: reasons in the filters, corrected words, and a list of what passes filters alone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from septet._core import words
from septet.errors import SeptetError
from septet.inputs.arguments import shown
from septet.model.results import Results, hits_of
from septet.notes import Note
from septet.query.filters import AllOf, AnyOf, Compare, Filter, Holds, Not, Scalar
from septet.query.parse import parse, with_words
from septet.query.plan import MEMORY, SearchPlan
from septet.search.federated import FederatedSearch, guess_note
from septet.search.merge import MOST_VALUES
from septet.tiers.protocol import Tier, TierCandidates

if TYPE_CHECKING:
    from septet.listing.queries import Placed
    from septet.listing.request import Request

#: Maximum comparisons checked: each may read every entry.
MOST_COMPARISONS = 8


def reasons(search: FederatedSearch) -> list[Note]:
    """Return a note for each filter that no entry of any tier passes, for a search without candidates."""
    plan = search.plan
    if search.late or (plan.deadline is not None and plan.deadline.passed):
        return []
    items = [item for name, item in plan.filters.items() if name.startswith("where ")]
    compared = [*dict.fromkeys(chain.from_iterable(map(_comparisons, items)))][:MOST_COMPARISONS]
    try:
        notes = [note for item in compared if (note := _mismatch(search, item)) is not None]
        return notes + _unknown_words(search)
    except SeptetError:
        # The notes are only hints.
        return []


def _comparisons(item: Filter, *, negated: bool = False) -> Iterator[Compare]:
    """Yield the comparisons of attrs that must be true, except those that a missing value passes."""
    if isinstance(item, Not):
        yield from _comparisons(item.part, negated=not negated)
    elif isinstance(item, (AllOf, AnyOf)):
        for part in item.parts:
            yield from _comparisons(part, negated=negated)
    elif isinstance(item, Compare) and item.field.startswith("attrs."):
        asks_value = item.operator not in ("$ne", "$nin") and not (item.operator == "$exists" and item.value is False)
        if asks_value != negated:
            yield item


def _mismatch(search: FederatedSearch, item: Compare) -> Note | None:
    values = item.value if isinstance(item.value, tuple) else (item.value,)
    examples = {} if item.operator == "$exists" else {_type_of(value): value for value in values}
    if None in examples or not (examples or item.operator == "$exists"):
        return None
    # ``$all`` needs every type in the field, other operators any.
    names = [name for name in examples if name is not None]
    matching = [name for name in names if _any_passes(search, [_of_type(item.field, name)])[0]]
    if matching and (item.operator != "$all" or len(matching) == len(names)):
        return None
    exists = Compare(item.field, "$exists", True)
    field_exists, *types = _any_passes(search, [exists, *(_of_type(item.field, name) for name in _TYPES)])
    if not field_exists:
        return Note("filter_mismatch", f"where compares {item.field}, which no entry has", "check the field's name")
    if item.operator == "$exists":
        return None
    missing = [name for name in names if name not in matching]
    has = " and ".join(name for name, there in zip(_TYPES, types) if there) or "neither text, numbers nor true or false"
    shown_values = ", ".join(shown(examples[name]) for name in missing)
    cause = f"where compares {item.field} with {' and '.join(missing)} ({shown_values}), and entries have {has} there"
    return Note("filter_mismatch", cause, "compare it with a value of the type that entries have")


#: Names of value types in notes.
_TYPES = ("text", "numbers", "true or false")


def _type_of(value: Scalar) -> str | None:
    if value is None:
        return None
    return _TYPES[2] if isinstance(value, bool) else _TYPES[0] if isinstance(value, str) else _TYPES[1]


def _of_type(field: str, name: str) -> Filter:
    """Return a filter for values of a type: text only compares with text, numbers only with numbers."""
    if name == _TYPES[2]:
        return Compare(field, "$in", (True, False))
    return Compare(field, "$gte", "" if name == _TYPES[0] else -sys.float_info.max)


def _unknown_words(search: FederatedSearch) -> list[Note]:
    required: dict[str, Filter] = {}
    for name in ("must", "phrase"):
        item = search.plan.filters.get(name)
        if search.plan.required is not None and isinstance(item, AllOf):
            for part in item.parts:
                # In a script without spaces a phrase has alternatives; the first is the phrase as written.
                first = part.parts[0] if isinstance(part, AnyOf) else part
                required[first.match.strip('"') if isinstance(first, Holds) else ""] = part
    passed = _any_passes(search, [*required.values()]) if required else []
    unknown = ", ".join(repr(word) for word, there in zip(required, passed) if not there)
    if not unknown:
        return []
    cause = f"no entry holds {unknown}, which results must contain"
    return [Note("unknown_words", cause, "check the spelling or leave it out")]


def _any_passes(search: FederatedSearch, filters: Sequence[Filter]) -> list[bool]:
    """Return for each filter whether an entry of any tier passes it."""
    passed_by_tier = [answer.session.any_passing(filters) for answer in search.answers]
    return [any(passed) for passed in zip(*passed_by_tier, strict=True)]


def guessed(answers: Sequence[TierCandidates]) -> Mapping[str, str]:
    """Return the best guess for each word of a query that no tier contains."""
    guesses: dict[str, str] = {}
    for word in answers[0].guesses:
        if all(word in answer.guesses for answer in answers):
            near: dict[str, tuple[int, int]] = {}
            for guess, edits, rows in (guess for answer in answers for guess in answer.guesses[word]):
                near[guess] = edits, near.get(guess, (0, 0))[1] + rows
            if near:
                # Fewest edits, then most frequent.
                guesses[word] = min(near, key=lambda guess: (near[guess][0], -near[guess][1], guess))
    return guesses


def corrected(
    tiers: Sequence[Tier],
    started: float,
    plan: SearchPlan,
    guesses: Mapping[str, str],
    results: Results,
    run: Callable[[Sequence[Tier], Sequence[SearchPlan]], Sequence[Results]],
) -> Results:
    """Search with guesses in place of unknown words; return ``results`` if these match nothing either."""
    rules = plan.profile.text
    query = parse(" ".join(guesses.get(word, word) for word in words(plan.query.text)), rules)
    if plan.required is not None:
        query = with_words(query, plan.required, rules)
    (corrected_results,) = run(tiers, [plan._replace(query=query, typos=False)])
    if not corrected_results.total:
        return results
    notes = (guess_note(guesses, used=True), *corrected_results.notes)
    return replace(corrected_results, query=results.query, notes=notes, took_ms=(time.perf_counter() - started) * 1e3)


#: Runs a listing: request, time at which entries must be valid, tiers; returns answers by tier name.
Ask: TypeAlias = Callable[[Any, "float | None", "frozenset[str] | None"], "list[tuple[str, Any]]"]


def as_list(ask: Ask, plan: SearchPlan, results: Results) -> Results:
    """Return the results of a search without words: the entries that pass its filters.

    Scores and confidences are 0. Groups, offset, token budget and facets work as in a search.

    Raises:
        SeptetError: every tier failed.
    """
    # Imported here: corrections of words do not list.
    from septet.listing.queries import CountsQuery, NumberQuery, facets_of
    from septet.listing.request import Key, Request

    filters: dict[str, Filter] = {**plan.filters}
    if not plan.include_memories:
        filters["without memories"] = Compare("kind", "$ne", MEMORY)
    newest_first = Key("updated_at", True), Key("created_at", True)
    request = Request(filters, None if plan.include_expired else plan.now, newest_first)
    page = _page(ask, plan, request)
    raw = dict.fromkeys(("cosine", "bm25", "tfidf"))
    scored: list[Any] = [(0.0, tier, {}, {}, 0.0, raw) for tier, _ in page]
    chars = plan.profile.text.snippet_chars
    hits = hits_of([item.entry for _, item in page], scored, full=plan.mode == "full", snippet_chars=chars)
    budget_notes: tuple[Note, ...] = ()
    if plan.max_tokens is not None:
        from septet.search.arranging import cost_of_scan, within_budget

        costs = [hit.token_estimate if plan.mode == "full" else cost_of_scan(hit) for hit in hits]
        budget = within_budget(plan, costs, [hit.score for hit in hits])
        hits, budget_notes = tuple(hits[at] for at in budget.places), tuple(budget.notes)
    cause = "the query has filters only: matching entries are listed, newest first, not ranked"
    note = Note("no_terms", cause, "add a word to rank them")
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
    from septet.listing.queries import PageQuery, in_order

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
