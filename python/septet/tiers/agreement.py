"""Agreement of vectors with words: entries that share rare words should also be nearer by vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from septet.query.parse import TextQuery, parse
from septet.ranking.fusion import Agreement
from septet.ranking.pool import Candidate, Pool

if TYPE_CHECKING:
    from septet.query.plan import SearchPlan
    from septet.ranking.bm25_scale import TermCounts

RULE = Agreement()


class TierView(Protocol):
    """A read view of a tier: `ReadView` or `PostgresView`."""

    plans: Sequence[SearchPlan]

    def candidates(self, tier: int) -> list[tuple[Pool, int]]:
        """Return the candidates of each plan, and the number of matches."""

    def term_counts(self, plan: SearchPlan) -> TermCounts:
        """Return the number of entries with each term of a plan."""


def measured(
    plan: SearchPlan,
    drawn: Sequence[Candidate],
    view_of: Callable[[Sequence[SearchPlan]], TierView],
    units_of: Callable[[Sequence[int]], NDArray[np.float64]],
    pairs: tuple[float, float],
) -> float:
    """Return the agreement of a space's vectors with words: from 0, none, to 1, that of a working model.

    The cosine of an entry with others that share its rarest words is expressed as a z-score against random pairs. Most
    are positive for a working model, and half for random or broken vectors.

    Args:
        plan: a search of the space; its profile defines words.
        drawn: random entries with a vector.
        view_of: returns the read view of plans.
        units_of: returns the unit vectors of rows ``(m, d)``, NaN without one.
        pairs: mean and standard deviation of the cosines of random pairs.
    """
    if len(drawn) < RULE.least_entries:
        return 1.0
    plans = [_plan(plan, f"{entry.title}\n{entry.description}") for entry in drawn]
    view = view_of(plans)
    view.plans = [_rarest(p, view.term_counts(p)) for p in plans]
    near = [
        [row for row in pool.rows if row != entry.row][: RULE.nearest]
        for entry, (pool, _) in zip(drawn, view.candidates(0))
    ]
    rows = list(dict.fromkeys(row for entry, others in zip(drawn, near) for row in (entry.row, *others)))
    unit = dict(zip(rows, units_of(rows)))
    mean, deviation = pairs
    deviations = []
    for entry, others in zip(drawn, near):
        cosines = np.array([unit[entry.row] @ unit[row] for row in others])
        cosines = cosines[cosines < RULE.same]
        if len(cosines) >= RULE.least_near:
            deviations.append(float((cosines.mean() - mean) / deviation))
    return _agreement(deviations)


def _plan(plan: SearchPlan, text: str) -> SearchPlan:
    """Return the plan of a text-only search for the words of a text."""
    return plan._replace(
        query=parse(text, plan.profile.text),
        filters={},
        vector=None,
        legs=frozenset({"text"}),
        candidates=RULE.nearest + 1,
        corpus_columns=frozenset(),
        needs_ids=False,
        typos=False,
        boost_tags=(),
    )


def _agreement(deviations: Sequence[float]) -> float:
    if len(deviations) < RULE.least_entries:
        return 1.0
    quantile = sorted(deviations)[int(RULE.far * len(deviations))]
    return min(max((quantile - RULE.none) / (RULE.full - RULE.none), 0.0), 1.0)


def _rarest(plan: SearchPlan, counts: TermCounts) -> SearchPlan:
    query = plan.query
    rare = range(2, max(2, counts.entries // RULE.common) + 1)
    shared = [term for term in dict.fromkeys(query.terms) if counts.holding.get(term, 0) in rare]
    rarest = set(sorted(shared, key=counts.holding.__getitem__)[: RULE.rarest])
    words = [term for term in dict.fromkeys(query.terms[: query.words]) if term in rarest]
    terms = (*words, *(term for term in shared if term in rarest and term not in words))
    return plan._replace(query=TextQuery(query.text, terms, 0, query.grams, query.has_phrase, words=len(words)))
