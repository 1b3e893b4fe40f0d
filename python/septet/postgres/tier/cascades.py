"""Memories of a cascade. With a fixed score, the step is that of the entries.

Ranked apart, they are read for every step: the first step with an entry or a memory counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.postgres.store.pipeline import together
from septet.postgres.tables import cascades
from septet.postgres.tables.conditions import conditions, conjunction
from septet.postgres.tier.apart import Apart, BestMemories, are_apart, ranked, weights
from septet.tiers.notes import MOST_MEMORIES

if TYPE_CHECKING:
    from septet.postgres.store.pipeline import Statement
    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.fulltext import TextLeg
    from septet.postgres.tier.statistics import QueryTerms, Statistics
    from septet.query.plan import SearchPlan
    from septet.store.rows import Condition

Rows: TypeAlias = Sequence[tuple[Any, ...]]


def memories_of(
    read: PostgresReading,
    plans: Sequence[SearchPlan],
    steps: Sequence[int | None],
    statistics: Statistics,
    terms: QueryTerms,
) -> list[BestMemories]:
    """Return the memories of each query, in one round trip.

    Args:
        steps: of each query the one that has an answer.
    """
    places = [at for at, plan in enumerate(plans) if _asks(plan)]
    questions = [_question(read, plans[at], steps[at], statistics, terms) for at in places]
    kept = [BestMemories()] * len(plans)
    for at, rows in zip(places, together(read, questions)):
        count = rows[0][0] if rows else 0
        if not plans[at].include_memories:
            kept[at] = BestMemories(left_out=min(count, MOST_MEMORIES))
        else:
            kept[at] = BestMemories([row[-1] for row in rows], count)
    return kept


def _asks(plan: SearchPlan) -> bool:
    wanted = plan.include_memories or "kinds" not in plan.filters
    return bool(plan.asks_text and plan.query.steps and wanted and not plan.scores_memories)


def _question(
    read: PostgresReading, plan: SearchPlan, step: int | None, statistics: Statistics, terms: QueryTerms
) -> Statement:
    _, every, words = plan.query.steps[-1 if step is None else step]
    stems = [terms.names.get(plan.query.terms[at], "") for at in words]
    totals = statistics.held_memories, statistics.average_memory
    passing = conjunction(conditions(plan, memories=True))
    most = plan.candidates if plan.include_memories else 1
    phrases = [posting for name in dict.fromkeys(stems) for posting in statistics.phrases.postings.get(name, ())]
    looked = [float(weight > 0) for weight in weights(plan)]
    return cascades.memories(read.vault, (every, stems), looked, totals, passing, most, phrases)


def ranked_apart(plans: Sequence[SearchPlan], statistics: Statistics, terms: QueryTerms) -> dict[int, Apart]:
    """Return the separate statistics of memories, by the place of the query."""
    begun = {terms.names[term]: statistics.begun_in_memories.get(terms.stem(term), 0) for term in terms.names}
    places = [at for at, plan in enumerate(plans) if plan.query.steps and are_apart(plan, statistics)]
    return {at: ranked(plans[at], statistics, terms, begun) for at in places}


def memories_apart(
    vault: VaultRow, plan: SearchPlan, totals: tuple[int, float], terms: QueryTerms, leg: TextLeg, passing: Condition
) -> list[Statement]:
    """Return the statement for memories with statistics of their own, for each step of a query."""
    names = [terms.names.get(term, "") for term in plan.query.terms]
    steps = [(every, [names[at] for at in words]) for _, every, words in plan.query.steps]
    most, phrases, own = leg.most, leg.phrases, weights(plan)
    return [cascades.memories(vault, step, own, totals, passing, most, phrases) for step in steps]


def first_answer(entries: Rows, memories: Sequence[Rows]) -> tuple[int | None, Rows, Rows]:
    """Return the first step with a match, and its entries and memories.

    Args:
        entries: the best of the first step that finds any, with its number in the second place.
        memories: the best of each step.
    """
    own = entries[0][1] if entries else len(memories)
    others = next((step for step, rows in enumerate(memories) if rows), len(memories))
    first = min(own, others)
    if first == len(memories):
        return None, (), ()
    return first, entries if own == first else (), memories[first] if others == first else ()
