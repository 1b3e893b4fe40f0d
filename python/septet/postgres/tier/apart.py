"""Memories that are ranked like entries, for a query with a phrase: in a local vault FTS5 ranks such a query.

FTS5 has statistics of each table, so memories score by theirs alone, and the scores are brought to one scale.
In a cascade they are read for every step, and the first step with an entry or a memory counts; memories of fixed score
are those of the step of the entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.store.pipeline import together
from septet.postgres.tables import cascades
from septet.postgres.tables.conditions import conditions, conjunction
from septet.postgres.tier.phrases import bm25_of, columns_of
from septet.ranking.bm25_scale import K1, B, TermCounts, factors, idf
from septet.tiers.view import MOST_MEMORIES

if TYPE_CHECKING:
    from septet.postgres.store.pipeline import Statement
    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.statistics import QueryTerms, Statistics
    from septet.query.plan import SearchPlan

Rows: TypeAlias = Sequence[tuple[Any, ...]]


class Apart(NamedTuple):
    """The statistics that memories score by.

    Attributes:
        rows: their number.
        average: the tokens of an average one.
        holding: their number by stored term.
        scale: factor of their scores.
    """

    rows: int
    average: float
    holding: Mapping[str, int]
    scale: float


class BestMemories(NamedTuple):
    """The best memories of fixed score of a query, and the number of matches; or the number of excluded ones."""

    rows: Sequence[int] = ()
    more: int = 0
    left_out: int = 0


def are_apart(plan: SearchPlan, statistics: Statistics) -> bool:
    """Return True if memories score by statistics of their own."""
    return bool(plan.query.has_phrase and plan.scores_memories and plan.asks_text and statistics.held_memories)


def weights(plan: SearchPlan) -> list[float]:
    """Return the weights of the columns, as `memories.EQUAL` has them."""
    id_, title, description, _, tags = plan.profile.text.weights.array.tolist()
    return [id_, title, description, 0.0, tags, 1.0 if plan.query.grams else 0.0]


def ranked(plan: SearchPlan, statistics: Statistics, terms: QueryTerms, holding: Mapping[str, int]) -> Apart:
    """Return the statistics of memories, from the number of them with each term."""
    rows = statistics.held_memories
    entries = _of_entries(plan, statistics, terms)
    own = TermCounts(rows, {term: holding.get(terms.names.get(term, ""), 0) for term in plan.query.terms})
    of_entries, of_memories = factors((entries, own), plan.query.terms)
    scale = of_memories / of_entries if of_entries else 1.0
    return Apart(rows, statistics.average_memory, holding, scale)


def term_counts(plan: SearchPlan, statistics: Statistics, terms: QueryTerms, apart: Apart) -> TermCounts:
    """Return the number of entries, and how many hold each term; those of memories where no entry holds any."""
    counts = _of_entries(plan, statistics, terms)
    if any(counts.holding.values()):
        return counts
    names = {term: terms.names.get(term, "") for term in plan.query.terms}
    return TermCounts(apart.rows, {term: apart.holding.get(name, 0) for term, name in names.items()})


def _of_entries(plan: SearchPlan, statistics: Statistics, terms: QueryTerms) -> TermCounts:
    alone, grams = statistics.of_entries(), plan.query.grams
    if plan.query.steps:
        begun = {term: alone.begun.get(terms.stem(term), 0) for term in plan.query.terms}
        return TermCounts(alone.rows, begun)
    held = {term: alone.holding(terms.names.get(term), grams=grams) for term in dict.fromkeys(plan.query.terms)}
    return TermCounts(alone.rows, held)


def score(plan: SearchPlan, entry: CandidateRow, terms: QueryTerms, apart: Apart) -> float:
    """Return the score of a memory, in a cascade by its one step; 0 without a match."""
    columns = [column for part in (TEXTS, GRAMS) for column in columns_of(part, entry.candidate, entry.grams)]
    columns[3] = []
    norm = K1 * (1 - B + B * (sum(map(len, columns)) / apart.average))
    wanted, every, begun = plan.query.terms, False, bool(plan.query.steps)
    if begun:
        _, every, words = plan.query.steps[-1]
        wanted = tuple(plan.query.terms[at] for at in words)
    held = [apart.holding.get(terms.names.get(term, ""), 0) for term in wanted]
    counted = [(terms.tokens[term], idf(apart.rows, count)) for term, count in zip(wanted, held)]
    return apart.scale * bm25_of(columns, weights(plan), counted, K1, norm, begun=begun, every=every)


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
    places = [
        at
        for at, plan in enumerate(plans)
        if plan.asks_text
        and plan.query.steps
        and not plan.scores_memories
        and (plan.include_memories or "kinds" not in plan.filters)
    ]
    questions = [_question(read, plans[at], steps[at], statistics, terms) for at in places]
    kept = [BestMemories()] * len(plans)
    for at, rows in zip(places, together(read, questions)):
        count = rows[0][0] if rows else 0
        if not plans[at].include_memories:
            kept[at] = BestMemories(left_out=min(count, MOST_MEMORIES))
        else:
            kept[at] = BestMemories([row[-1] for row in rows], count)
    return kept


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
