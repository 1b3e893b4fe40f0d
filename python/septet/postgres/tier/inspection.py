"""Inspection of a search on PostgreSQL: the rank of an entry in each leg, and facets of all matches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.listing.queries import Counted
from septet.model.explanation import LegReport
from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.store.packing import unpacked
from septet.postgres.store.pipeline import together
from septet.postgres.tables import blocks, ranking
from septet.postgres.tables.candidates import filters_passed
from septet.postgres.tables.conditions import among, conditions, conjunction
from septet.postgres.tables.listed import ListingSelection, values
from septet.postgres.tables.nearest import around
from septet.postgres.tables.ranking import Matches
from septet.postgres.tier.apart import memories_of
from septet.postgres.tier.candidates import cascade, memories_apart, memories_leg, text_leg
from septet.postgres.tier.completion import holds_all
from septet.postgres.tier.phrases import columns_of, times
from septet.query.facets import Faceted
from septet.query.plan import MEMORY, MOST, SearchPlan
from septet.ranking.cuts import guarded
from septet.store.rows import Condition
from septet.tiers.inspection import answering_step, memory_place, nothing_compared, text_detail
from septet.tiers.protocol import Inspected

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.view import PostgresView


def matches(view: PostgresView, plan: SearchPlan, only: Condition | None = None) -> Matches:
    """Return the matches of a query in their order.

    Args:
        only: those that pass this rather than the filters.
    """
    if not (plan.asks_text and view.statistics.rows):
        return Matches.of((), (), ())
    planned = view.at_step(plan)
    leg = text_leg(planned, view.statistics, view.terms)._replace(most=MOST)
    if only is not None:
        leg = leg._replace(condition=only)
    vault, apart = view.read.vault, view.apart.get(id(plan))
    more = memories_apart(vault, planned, view.statistics, view.terms, leg, only) if apart is not None else []
    if planned.query.steps:
        rows, *beside = together(view.read, [cascade(vault, planned, view.statistics, view.terms, leg), *more])
        *_, scores, numbers = zip(*rows) if rows else ((), ())
        best = Matches.of((False,) * len(rows), scores, numbers)
    else:
        statements = [ranking.of_terms(vault, leg), blocks.changes(vault)]
        if leg.condition is None and leg.now is not None:
            statements.append(ranking.outside(vault, leg.now))
        answers = together(view.read, [*statements, *more])
        best, beside = ranking.matched(leg, ranking.TermBlocks(*answers[: len(statements)])), answers[len(statements) :]
        if leg.condition is not None:
            (passed,) = together(view.read, [best.passing(vault, leg.condition)])
            best = best.filtered(passed)
    if apart is not None and beside[0]:
        _, _, whole, scores, numbers = zip(*beside[0])
        best = best.merged(Matches.of(whole, np.array(scores, dtype=np.float64) * apart.scale, numbers))
    return best


def memories_matching(view: PostgresView, plan: SearchPlan) -> list[int]:
    """Return the rows of the memories that match a query, best first, where they have a fixed score."""
    if not (plan.asks_text and view.statistics.held_memories):
        return []
    if plan.query.steps:
        step = view.answered.get(id(plan))
        (kept,) = memories_of(view.read, [plan._replace(candidates=MOST)], [step], view.statistics, view.terms)
        return [*kept.rows]
    statements = memories_leg(view.read, view.at_step(plan)._replace(candidates=MOST), view.statistics, view.terms)
    (rows,) = together(view.read, [statement for _, statement in statements])
    return [row[-1] for row in rows]


def inspected(view: PostgresView, entry_id: str) -> Inspected | None:
    """Return how an entry fares, None when the vault does not hold it."""
    candidate = view.read.tables.entries.find(view.read, [entry_id]).get(entry_id)
    if candidate is None:
        return None
    (entry,) = view.entries_at([candidate.row])
    as_memory = view.plan.include_memories and not view.plan.scores_memories and candidate.kind == MEMORY
    filters = filters_passed(view.read, view.plan, candidate.row, memories=as_memory)
    passes, legs = all(filters.values()), list[LegReport]()
    if as_memory:
        memories = memories_matching(view, view.plan)
        rank = memories.index(candidate.row) + 1 if passes and candidate.row in memories else None
        legs = [memory_place(view.plan, rank, len(memories))]
    elif "text" in view.plan.legs:
        legs.append(_text_place(view, entry, passes))
    if view.plan.asks_vectors and not as_memory:
        legs.append(_vector_place(view, entry, passes))
    return Inspected(candidate, filters, legs)


def _text_place(view: PostgresView, entry: CandidateRow, passes: bool) -> LegReport:
    plan = view.at_step(view.plan)
    if not plan.query.terms:
        return LegReport("text", False, None, 0, view.taken, None, "no term is left of the query")
    every, row = matches(view, view.plan), entry.candidate.row
    own = every.only(row)
    in_memory = plan.scores_memories or plan.profile.text.constants is not None
    if not len(own.rows) and (plan.query.has_phrase or not in_memory):
        # Its score is reported whether or not it passes the filters.
        own = matches(view, view.plan, Condition("e.row = %s::bigint", (row,)))
    score = float(own.scores[0]) if len(own.rows) else None
    rank = None if score is None else every.before(row, score, whole=own.whole > 0) + 1
    terms = list(dict.fromkeys(plan.query.terms))
    hit = [term for term in terms if _holds(view, plan, entry, term)]
    words = [term for term in hit if _holds(view, plan, entry, term, grams=False)]
    by_parts = view.bm25_of_grams(entry) if hit else 0.0
    has_all = bool(hit and plan.query.needed and holds_all(plan, entry, view.terms))
    detail = text_detail(plan.query, hit, words, by_parts, every.whole, has_all=has_all)
    if plan.query.steps:
        detail += f"; {answering_step(view.plan.query, view.answered.get(id(view.plan)))}"
    of = len(every.rows)
    taken = of if guarded(plan.profile.cuts, limit=plan.limit, matches=of) else min(view.taken, of)
    return LegReport("text", rank is not None, rank if passes else None, of, taken, score, detail)


def _holds(view: PostgresView, plan: SearchPlan, entry: CandidateRow, term: str, *, grams: bool = True) -> bool:
    """Return True if full text finds a term of the query in an entry, with grams or without."""
    candidate = entry.candidate
    # No search finds one that is split into parts.
    if (candidate.kind == MEMORY and not plan.scores_memories) or candidate.parent == candidate.id:
        return False
    wanted, begun = _core.index_terms(term), bool(plan.query.steps)
    parts = (TEXTS, GRAMS) if plan.query.grams and grams else (TEXTS,)
    columns = [column for part in parts for column in columns_of(part, entry.candidate, entry.grams)]
    if plan.query.has_phrase and entry.candidate.kind == MEMORY:
        # FTS5 has no context of memories.
        columns[3] = []
    if begun:
        names = ("id", "title", "description", "context", "tags")
        columns = [column for name, column in zip(names, columns) if name in plan.query.columns]
    return bool(wanted) and any(times(column, wanted, begun=begun) for column in columns)


def _vector_place(view: PostgresView, entry: CandidateRow, passes: bool) -> LegReport:
    plan, space = view.plan, view.space
    if plan.vector is None or space is None:
        return nothing_compared(plan, view.mismatch)
    passing, vault = conjunction(conditions(plan)), view.read.vault
    exact, scan = plan.vector.exact, plan.vector.scan

    def cosines_of(vectors: Sequence[bytes]) -> NDArray[np.float64]:
        units = _core.unit_rows(unpacked(vault.vectors, vectors, space.dimensions))
        return _core.cosine_at(exact, units, np.arange(len(units), dtype=np.int64))

    own = None if entry.vector is None else float(cosines_of([entry.vector])[0])
    # Nothing is so far.
    distance = 10.0 if own is None else 1.0 - own
    ((of, nearer),), beside = together(view.read, around(vault, space, scan, distance, passing))
    if own is None:
        return LegReport("vector", False, None, of, view.taken, None, f"no vector of model {space.model!r}")
    cosines: list[float] = cosines_of([row[0] for row in beside]).tolist() if beside else []
    row = entry.candidate.row
    before = sum((-cosine, match[1]) < (-own, row) for cosine, match in zip(cosines, beside) if match[1] != row)
    return LegReport("vector", True, nearer + before + 1 if passes else None, of, view.taken, own, f"cosine {own:.4f}")


def counted_matches(view: PostgresView, query: int, fields: Sequence[Faceted]) -> list[Counted]:
    """Return by values of fields how many entries match a query and pass the filters."""
    listed = ListingSelection({}, None, also=_matching(view, query))
    counts = [values(view.read, what.field, what.by, listed, None) for what in fields]
    return [Counted(field.counts, field.total, field.missing, field.distinct) for field in counts]


def _matching(view: PostgresView, query: int) -> Condition:
    """Return the condition on matches; if only vectors are compared, on all entries that pass the filters."""
    plan = view.plans[query]
    if not plan.asks_text:
        compared = plan.asks_vectors and view.space is not None
        return conjunction(conditions(plan)) if compared else Condition("FALSE")
    rows: list[int] = matches(view, plan).rows.tolist()
    if plan.include_memories and not plan.scores_memories:
        rows += memories_matching(view, plan)
    return among(rows)
