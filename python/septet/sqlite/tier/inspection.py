"""Inspection of a search: the filters of an entry, its rank in each leg, and facets of all matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.listing import Listings
from septet.listing.queries import Counted, counted_in
from septet.model.explanation import LegReport
from septet.query.facets import Faceted
from septet.query.parse import Step
from septet.query.plan import MEMORY, SearchPlan
from septet.ranking.pool import Candidate
from septet.sqlite.tables import conditions, entries, fulltext
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.inspection import answering_step, memory_place, nothing_compared, text_detail
from septet.tiers.protocol import Inspected

if TYPE_CHECKING:
    from septet.ranking.pool import Pool


_EQUAL = np.ones(5)


def inspected(view: ReadView, entry_id: str) -> Inspected | None:
    """Explain an entry: the filters that it passes, and its place in every leg; None without such an entry."""
    candidate = entries.find(view.read, [entry_id]).get(entry_id)
    if candidate is None:
        return None
    plan = view.plan
    # A memory of fixed score.
    as_memory = plan.include_memories and not plan.scores_memories and candidate.kind == MEMORY
    filters = conditions.filters_passed(view.read, plan, candidate.row, memories=as_memory)
    passes, legs = all(filters.values()), list[LegReport]()
    if as_memory:
        rows = fulltext.recall_memories(view.read, view.at_step(plan), -1) if plan.asks_text else []
        return Inspected(candidate, filters, [memory_place(plan, rows, candidate.row, passes=passes)])
    if "text" in plan.legs:
        legs.append(_text_place(view, candidate, passes))
    if plan.asks_vectors:
        legs.append(_vector_place(view, candidate, passes))
    if "text" in plan.legs and "path" in plan.profile.columns:
        legs += _path_place(view, candidate, passes)
    return Inspected(candidate, filters, legs)


def _text_place(view: ReadView, candidate: Candidate, passes: bool) -> LegReport:
    plan = view.at_step(view.plan)
    if not plan.query.terms:
        return LegReport("text", False, None, 0, view.taken, None, "no term is left of the query")
    needs_memory = plan.scores_memories or plan.profile.text.constants is not None
    known = not view.needs_fts5(plan)
    native, row = needs_memory and known, candidate.row
    rank, of, score = _rank_in_memory(view, row) if native else fulltext.rank_of(view.read, plan, row)
    terms = list(dict.fromkeys(plan.query.terms))
    # A split entry is in no index.
    known = known and view.snapshot.slots_of([candidate.row])[0] >= 0
    indexed = native and known

    def holds(term: str, *, grams: bool = True) -> bool:
        one_term = _one_term(view, term, grams=grams)
        if not indexed:
            return bool(fulltext.score_rows(view.read, one_term, [row]))
        # Include columns without a weight, except in a cascade.
        weights = None if one_term.query.steps else _EQUAL
        return bool(_in_memory(view, one_term, row, weights).columns["bm25"][0] > 0)

    def whole() -> tuple[bool, int]:
        if indexed:
            has_all = bool(_in_memory(view, plan, row).columns["all_words"][0] > 0)
        else:
            has_all = bool(fulltext.whole_rows(view.read, plan, [row]))
        count = view.whole.get(id(view.plan))
        if count is None:
            count = 0 if has_all else len(fulltext.whole_rows(view.read, view.plan))
        return has_all, count

    hit = [term for term in terms if holds(term)]
    # FTS5 does not report the share of one table in a score.
    by_parts = _in_memory(view, plan, row).columns["bm25_grams"][0] if known else 0.0
    words = [term for term in hit if holds(term, grams=False)]
    detail = text_detail(plan.query, hit, words, by_parts, whole)
    if plan.query.steps:
        detail += f"; {answering_step(view.plan.query, view.answered.get(id(view.plan)))}"
    taken = fulltext.candidate_count(plan, of, view.taken)
    return LegReport("text", rank is not None, rank if passes else None, of, taken, score, detail)


def _path_place(view: ReadView, candidate: Candidate, passes: bool) -> list[LegReport]:
    """Return the place of an entry whose file is named by the query, if any."""
    from septet.sqlite.tier.additions import named_by

    matches = named_by(view, view.plan.query.text)
    exact = matches.get(candidate.row)
    if exact is None:
        return []
    rank = list(matches).index(candidate.row) + 1 if passes else None
    detail = f"the query is the {('stem', 'name', 'path')[exact - 1]} of its file"
    return [LegReport("path", True, rank, len(matches), len(matches), float(exact), detail)]


def _rank_in_memory(view: ReadView, row: int) -> fulltext.Rank:
    """Rank in memory, by the statistics and constants of the plan."""
    matches = view.matches()
    order = matches.rows
    if row not in order:
        return fulltext.Rank(None, len(order), None)
    place = order.index(row)
    return fulltext.Rank(place + 1, len(order), float(matches.columns["bm25"][place]))


def _in_memory(view: ReadView, plan: SearchPlan, row: int, weights: NDArray[np.float64] | None = None) -> Pool:
    return view.corpus.candidates_at(
        view._query(plan, None),
        view.snapshot.slots_of([row]),
        tier=0,
        weights=plan.profile.text.weights.array if weights is None else weights,
        columns={"bm25", "bm25_grams"},
        constants=plan.profile.text.constants,
    )


def _one_term(view: ReadView, term: str, *, grams: bool = True) -> SearchPlan:
    query = view.plan.query
    steps = (Step("all", True, (0,)),) if query.steps else ()
    term_query = query._replace(terms=(term,), needed=(), steps=steps, grams=query.grams and grams)
    return view.plan._replace(query=term_query)


def _vector_place(view: ReadView, candidate: Candidate, passes: bool) -> LegReport:
    vectors, plan = view.vectors, view.plan
    if vectors is None or plan.vector is None or view.space is None:
        return nothing_compared(plan, view.mismatch)
    allowed = view.mask()[vectors.slots]
    of = int(np.count_nonzero(allowed))
    at = vectors.at(view.snapshot.slots_of([candidate.row]))
    if at[0] < 0:
        return LegReport("vector", False, None, of, view.taken, None, f"no vector of model {view.space.model!r}")
    cosine = float(_core.cosine_at(plan.vector.exact, vectors.rows, at)[0])
    order, _ = vectors.nearest(plan.vector.scan, of, allowed)
    place = np.flatnonzero(order == at[0])
    rank = int(place[0]) + 1 if len(place) and passes else None
    return LegReport("vector", True, rank, of, view.taken, cosine, f"cosine {cosine:.4f}")


def counted_matches(view: ReadView, query: int, listings: Listings, fields: Sequence[Faceted]) -> list[Counted]:
    """Count the matches of a query that pass the filters, by values of fields."""
    listing = listings.at(view.read)
    mask = listing.listing.mask_of(_rows(view, query))
    return [counted_in(listing, field, mask) for field in fields]


def _rows(view: ReadView, query: int) -> NDArray[np.int64]:
    """Return the matching rows; in a vector-only search, all that pass the filters."""
    plan = view.plans[query]
    if not plan.asks_text:
        compared = plan.asks_vectors and view.space is not None
        return view.snapshot.rows[view.mask()] if compared else np.empty(0, dtype=np.int64)
    from septet.sqlite.tables import fulltext

    matches = fulltext.matching(view.read, view.at_step(plan)) if view.needs_fts5(plan) else view.matches(query).rows
    rows = np.asarray(matches, dtype=np.int64)
    if plan.include_memories and not plan.scores_memories:
        memories = fulltext.recall_memories(view.read, view.at_step(plan), -1)
        rows = np.concatenate([rows, np.array(memories, dtype=np.int64)])
    return rows
