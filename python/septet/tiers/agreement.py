"""Agreement of vectors with words: whether entries that share rare words are nearer than others by vectors, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from septet.query.parse import TextQuery, parse
from septet.ranking.passes import Agreement
from septet.ranking.pool import Candidate, Pool

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.ranking.bm25_scale import TermCounts

__all__ = ["RULE", "measured"]

RULE = Agreement()


class View(Protocol):
    """A read view of a tier: `ReadView` or `PostgresView`."""

    plans: Sequence[Plan]

    def recall(self, tier: int) -> list[tuple[Pool, int]]:
        """Return the candidates of each plan, and how many entries match."""

    def term_counts(self, plan: Plan) -> TermCounts:
        """Return how many entries hold each term of a plan."""


def measured(
    plan: Plan,
    drawn: Sequence[Candidate],
    view_of: Callable[[Sequence[Plan]], View],
    units_of: Callable[[Sequence[int]], NDArray[np.float64]],
    pairs: tuple[float, float],
) -> float:
    """Return how far the vectors of a space agree with words: 0 not at all, 1 as those of a working model do.

    The cosine of an entry with one that shares its rarest words is compared with that of two random entries, in its
    deviations: a working model has most above, random or broken vectors have half of them below.

    Args:
        plan: a search of the space; its profile says what words are.
        drawn: entries that have a vector, by chance.
        view_of: returns what plans read.
        units_of: returns the vectors of rows at unit length ``(m, d)``, NaN where there is none.
        pairs: mean and standard deviation of the cosines of two entries.
    """
    if len(drawn) < RULE.least_entries:
        return 1.0
    plans = [_plan(plan, f"{one.title}\n{one.description}") for one in drawn]
    view = view_of(plans)
    view.plans = [_rarest(one, view.term_counts(one)) for one in plans]
    near = [
        [row for row in pool.rows if row != one.row][: RULE.nearest] for one, (pool, _) in zip(drawn, view.recall(0))
    ]
    rows = list(dict.fromkeys(row for one, others in zip(drawn, near) for row in (one.row, *others)))
    unit = dict(zip(rows, units_of(rows)))
    mean, deviation = pairs
    deviations = []
    for one, others in zip(drawn, near):
        cosines = np.array([unit[one.row] @ unit[row] for row in others])
        cosines = cosines[cosines < RULE.same]
        if len(cosines) >= RULE.least_near:
            deviations.append(float((cosines.mean() - mean) / deviation))
    return _agreement(deviations)


def _plan(plan: Plan, text: str) -> Plan:
    """Return the plan of a search for the words of a text alone."""
    return plan._replace(
        query=parse(text, plan.profile.text),
        filters={},
        vector=None,
        legs=frozenset({"text"}),
        candidates=RULE.nearest + 1,
        corpus_columns=frozenset(),
        needs_ids=False,
        typos=False,
        tags=(),
    )


def _agreement(deviations: Sequence[float]) -> float:
    if len(deviations) < RULE.least_entries:
        return 1.0
    judged = sorted(deviations)[int(RULE.far * len(deviations))]
    return min(max((judged - RULE.none) / (RULE.full - RULE.none), 0.0), 1.0)


def _rarest(plan: Plan, counts: TermCounts) -> Plan:
    query = plan.query
    rare = range(2, max(2, counts.entries // RULE.common) + 1)
    shared = [term for term in dict.fromkeys(query.terms) if counts.holding.get(term, 0) in rare]
    rarest = set(sorted(shared, key=counts.holding.__getitem__)[: RULE.rarest])
    words = [term for term in dict.fromkeys(query.terms[: query.words]) if term in rarest]
    terms = (*words, *(term for term in shared if term in rarest and term not in words))
    return plan._replace(query=TextQuery(query.text, terms, 0, query.grams, query.has_phrase, words=len(words)))
