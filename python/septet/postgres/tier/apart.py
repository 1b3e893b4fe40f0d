"""Memories that are ranked like entries, for a query with a phrase: in a local vault FTS5 ranks such a query.

FTS5 has statistics of each table, so memories score by theirs alone, and the scores are brought to one scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.tier.phrases import columns_of, times
from septet.ranking.bm25_scale import K1, B, TermCounts, factors, idf

if TYPE_CHECKING:
    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.statistics import QueryTerms, Statistics
    from septet.query.plan import SearchPlan


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
    texts, grams = columns_of(TEXTS, entry.candidate, entry.grams), columns_of(GRAMS, entry.candidate, entry.grams)
    columns = [*texts, *grams]
    columns[3] = []
    length, total, own = sum(map(len, columns)) / apart.average, 0.0, weights(plan)
    wanted, every, begun = plan.query.terms, False, bool(plan.query.steps)
    if begun:
        _, every, words = plan.query.steps[-1]
        wanted = tuple(plan.query.terms[at] for at in words)
    for term in wanted:
        tokens = terms.tokens[term]
        counts = [times(column, tokens, begun=begun) if tokens else 0 for column in columns]
        f = float(sum(weight * count for weight, count in zip(own, counts)))
        if every and not f:
            return 0.0
        if f:
            total += idf(apart.rows, apart.holding.get(terms.names[term], 0)) * (
                (f * (K1 + 1)) / (f + K1 * (1 - B + B * length))
            )
    return apart.scale * total
