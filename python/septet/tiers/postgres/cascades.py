"""Memories of a cascade: which of them match is known when the entries have told which step has an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.storage.postgres.pipeline import together
from septet.storage.postgres.tables import cascades, found
from septet.storage.postgres.tables.conditions import conditions, conjunction
from septet.tiers.notes import MOST_MEMORIES

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.ranking.pool import Candidate
    from septet.storage.postgres.pipeline import Statement
    from septet.storage.postgres.store import PostgresReading
    from septet.tiers.postgres.statistics import QueryTerms, Statistics

__all__ = ["Kept", "memories_of"]


class Kept(NamedTuple):
    """The best memories of a query, where they have a fixed score, and how many match; or how many are left out."""

    memories: Sequence[Candidate] = ()
    more: int = 0
    left_out: int = 0


def memories_of(
    read: PostgresReading,
    plans: Sequence[Plan],
    steps: Sequence[int | None],
    statistics: Statistics,
    terms: QueryTerms,
) -> list[Kept]:
    """Return the memories of each query, in one round trip.

    Args:
        steps: of each query the one that has an answer.
    """
    places = [at for at, plan in enumerate(plans) if _asks(plan)]
    asked = [_question(read, plans[at], steps[at], statistics, terms) for at in places]
    kept = [Kept()] * len(plans)
    for at, rows in zip(places, together(read, asked)):
        count = rows[0][0] if rows else 0
        if not plans[at].include_memories:
            kept[at] = Kept(left_out=min(count, MOST_MEMORIES))
        else:
            best = found.all_of([row[1:] for row in rows])
            kept[at] = Kept([one.candidate for one in best], count)
    return kept


def _asks(plan: Plan) -> bool:
    wanted = plan.include_memories or "kinds" not in plan.filters
    return bool(plan.asks_text and plan.query.steps and wanted and not plan.scores_memories)


def _question(
    read: PostgresReading, plan: Plan, step: int | None, statistics: Statistics, terms: QueryTerms
) -> Statement:
    _, every, words = plan.query.steps[-1 if step is None else step]
    stems = [terms.names.get(plan.query.terms[at], "") for at in words]
    totals = statistics.held_memories, statistics.average_memory
    passing = conjunction(conditions(plan, memories=True))
    most = plan.candidates if plan.include_memories else 1
    phrases = [one for name in dict.fromkeys(stems) for one in statistics.phrases.postings.get(name, ())]
    weights = plan.profile.text.weights.array.tolist()
    return cascades.memories(read.vault, (every, stems), weights, totals, passing, most, phrases)
