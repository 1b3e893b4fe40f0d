"""Fit weights to judged candidates: each query is searched once, and its candidates are ranked again for each try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from septet._core import Pool
from septet.evaluation.judgements import Query
from septet.evaluation.measures import UNJUDGED, Measure
from septet.ranking.adaptive import weights_of
from septet.ranking.profile import Profile, WeightSet
from septet.ranking.score import rank
from septet.search.federated import FederatedSearch, next_attempt
from septet.search.run import ranked, recalled
from septet.search.searchable import Searchable
from septet.tiers.protocol import SearchAgain

#: Factors tried on a signal's share of the weights; of equal gains the first, smallest change wins.
FACTORS = (1.33, 0.75, 2.0, 0.5, 4.0, 0.25, 0.0)
#: Shares tried for a signal with weight 0.
FROM_NOTHING = (0.05, 0.15, 0.35)
MOST_SHARE = 0.95
#: Minimum gain of the mean for a change to be accepted.
LEAST_GAIN = 1e-4
MOST_ROUNDS = 6


class JudgedPool(NamedTuple):
    """The candidates of one query, with their judgements.

    Attributes:
        row: the row of weights that ranks it.
        grades: grades of the candidates ``(m,)``.
        judged: grades of all judged entries, best first.
        moving: signals whose values differ between candidates.
    """

    query: str
    row: WeightSet
    pool: Pool
    now: float
    domain: str | None
    feedback: Mapping[str, int]
    grades: Sequence[float]
    judged: Sequence[float]
    moving: frozenset[str]

    def value(self, profile: Profile, weights: Mapping[str, float], measure: Measure) -> float:
        """Return the measure of the candidates ranked by weights."""
        order = rank(self.pool, profile, weights, now=self.now, domain=self.domain).order[: measure.at].tolist()
        return measure.function([self.grades[at] for at in order], self.judged, measure.at)


def judged_pools(
    vault: Searchable, queries: Sequence[Query], vectors: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[JudgedPool]:
    """Search for each query and yield all its ranked candidates.

    Link neighbours come from the current weights: other weights may choose other anchors.
    """
    if not queries:
        return
    base = vault._plan(queries[0].text, {**options, "query_vector": vectors.get(queries[0].id)}, "tune")
    for query in queries:
        plan = vault._asked(base.of_query(query.text, vectors.get(query.id), vault._embeds()))
        # Otherwise the ids of candidates are not read.
        plan, attempts = plan._replace(needs_ids=True), 1
        while True:
            try:
                search = recalled(FederatedSearch(vault._tiers(), [plan]))
                break
            except SearchAgain as fault:
                attempts = next_attempt(attempts, fault)
        try:
            ranking = ranked(search, 0).ranking
            vectors_count = any(answer.recalled[0].with_vectors for answer in search.answers)
            feedback = dict(search.feedback())
        finally:
            search.close()
        grades = query.grades or {}
        with np.errstate(invalid="ignore"):
            signals = ranking.signals
            known = np.where(np.isnan(signals), -1.0, signals)
            spread = np.ptp(known, axis=1) if known.shape[1] else np.zeros(len(known))
        yield JudgedPool(
            query=query.id,
            row="hybrid" if vectors_count else "text",
            pool=ranking.pool,
            now=plan.now,
            domain=plan.domain,
            feedback=feedback,
            grades=[grades.get(id, UNJUDGED) for id in ranking.pool.ids or ()],
            judged=sorted(grades.values(), reverse=True),
            moving=frozenset(name for name, width in zip(ranking.names, spread.tolist()) if width > 0),
        )


def with_weights(profile: Profile, row: WeightSet, weights: Mapping[str, float]) -> Profile:
    """Return the profile with other weights in one row."""
    fields = {name: getattr(profile, name) for name in Profile.__dataclass_fields__}
    return Profile.known(**{**fields, "weights": {**profile.weights, row: dict(weights)}})


def fitted(profile: Profile, row: WeightSet, pools: Sequence[JudgedPool], measure: Measure) -> dict[str, float]:
    """Return the weights of a row with the highest mean of a measure, by coordinate ascent.

    Each signal's share is multiplied by each factor in turn, and the other weights are scaled to keep the sum. A change
    that raises the mean by 0.0001 or more is accepted, until none does (Metzler and Croft 2007).
    """
    weights = dict(profile.weights[row])
    moving = [name for name in weights if any(name in pool.moving for pool in pools)]

    def mean(tried: Mapping[str, float]) -> float:
        changed = with_weights(profile, row, tried)
        # Feedback moves the weights of searches too.
        counted = weights_of(changed, row, pools[0].feedback).values
        return sum(pool.value(profile, counted, measure) for pool in pools) / len(pools)

    best = mean(weights)
    for _ in range(MOST_ROUNDS):
        before = best
        for name in moving:
            for tried in list(_steps(weights, name)):
                value = mean(tried)
                if value >= best + LEAST_GAIN:
                    best, weights = value, tried
        if best < before + LEAST_GAIN:
            break
    return weights


def _steps(weights: Mapping[str, float], name: str) -> Iterator[dict[str, float]]:
    """Yield the weights with each other share of one signal."""
    total = sum(weights.values())
    share, rest = weights[name] / total, total - weights[name]
    shares = FROM_NOTHING if share == 0 else [share * factor for factor in FACTORS]
    for new in shares:
        if rest > 0 and new <= MOST_SHARE:
            scale = (1 - new) * total / rest
            yield {other: new * total if other == name else value * scale for other, value in weights.items()}
