"""Inspection of a search: the filters of an entry, its rank in each leg, and facets of all matches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from septet.listing import Listings
from septet.listing.queries import Counted, counted_in
from septet.model.explanation import LegReport
from septet.query.facets import Faceted
from septet.query.plan import MEMORY, SearchPlan
from septet.ranking.pool import Candidate
from septet.sqlite.tables import conditions, entries, fulltext
from septet.sqlite.tables.fulltext import Rank
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.inspection import answering_step, memory_place, nothing_compared, text_detail
from septet.tiers.protocol import Inspected


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
        place = Rank(None, 0, None)
        if plan.asks_text:
            place = fulltext.rank_of_memory(view.read, view.at_step(plan), candidate.row)
        return Inspected(candidate, filters, [memory_place(plan, place.rank if passes else None, place.matches)])
    if "text" in plan.legs:
        legs.append(_text_place(view, candidate, passes))
    if plan.asks_vectors:
        legs.append(_vector_place(view, candidate, passes))
    if "text" in plan.legs and "path" in plan.profile.columns:
        legs += _path_place(view, candidate, passes)
    return Inspected(candidate, filters, legs)


def _text_place(view: ReadView, candidate: Candidate, passes: bool) -> LegReport:
    plan = view.at_step(view.plan)
    query = plan.query
    if not query.terms:
        return LegReport("text", False, None, 0, view.taken, None, "no term is left of the query")
    by_fts5, row = view.needs_fts5(plan), candidate.row
    if by_fts5:
        # FTS5 does not report the share of one table in a score.
        place, holds, by_parts = fulltext.rank_of(view.read, plan, row), fulltext.terms_held(view.read, plan, row), 0.0
    else:
        place, holds, by_parts = _in_memory(view, plan, row)
    rank, of, score, whole, has_all = place
    if not (by_fts5 or passes) and (plan.scores_memories or plan.profile.text.constants is not None):
        # FTS5 has no such scores: they exist for what passes the filters.
        rank = score = None
    hit = [term for term, (held, _) in holds.items() if held]
    words = [term for term, (_, as_word) in holds.items() if as_word]
    detail = text_detail(query, hit, words, by_parts, whole, has_all=has_all)
    if query.steps:
        detail += f"; {answering_step(view.plan.query, view.answered.get(id(view.plan)))}"
    taken = fulltext.candidate_count(plan, of, view.taken)
    return LegReport("text", rank is not None, rank if passes else None, of, taken, score, detail)


def _in_memory(view: ReadView, plan: SearchPlan, row: int) -> tuple[Rank, dict[str, tuple[bool, bool]], float]:
    """Return the rank of a row, which terms it holds, and which as words, and the share of grams in its score."""
    rules = plan.profile.text
    matches, whole, before, score, has_all, held, by_parts = view.corpus.text_place(
        view._query(plan, None),
        _slot_of(view, row),
        weights=rules.weights.array,
        selection=view.selection(),
        constants=rules.constants,
        before=_known_before(view, row),
    )
    rank = Rank(None if score is None else before + 1, matches, score, whole, has_all)
    return rank, dict(zip(plan.query.terms, held)), by_parts


def _known_before(view: ReadView, row: int) -> int | None:
    """Return the number of matches before a row that the search found by its words; None for any other row."""
    if view.leading is None:
        return None
    pool, by_text = view.leading
    rows = pool.rows[:by_text]
    return rows.index(row) if row in rows else None


def _slot_of(view: ReadView, row: int) -> int | None:
    """Return the slot of a row; None for a split entry, which is in no index."""
    slot = int(view.snapshot.slots_of([row])[0])
    return slot if slot >= 0 else None


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


def _vector_place(view: ReadView, candidate: Candidate, passes: bool) -> LegReport:
    plan, space = view.plan, view._space()
    if space is None or plan.vector is None or view.space is None:
        return nothing_compared(plan, view.mismatch)
    slot, selection = _slot_of(view, candidate.row), view.selection()
    of, cosine, before = view.corpus.vector_place(plan.vector, slot, space, selection)
    if cosine is None:
        return LegReport("vector", False, None, of, view.taken, None, f"no vector of model {view.space.model!r}")
    rank = before + 1 if before is not None and passes else None
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
    matches = fulltext.matching(view.read, view.at_step(plan)) if view.needs_fts5(plan) else view.matches(query).rows
    rows = np.asarray(matches, dtype=np.int64)
    if plan.include_memories and not plan.scores_memories:
        memories = fulltext.recall_memories(view.read, view.at_step(plan), -1)
        rows = np.concatenate([rows, np.array(memories, dtype=np.int64)])
    return rows
