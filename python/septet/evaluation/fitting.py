"""Weights that rank judged candidates best: candidates are found once for each query, and ranked again for each try."""

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

__all__ = ["Found", "fitted", "found_for", "with_weights"]

#: What a signal's share of all weights is multiplied with in turn; of equal gains the smallest change is kept.
FACTORS = (1.33, 0.75, 2.0, 0.5, 4.0, 0.25, 0.0)
#: What a signal without a weight gets instead, as a share of all.
FROM_NOTHING = (0.05, 0.15, 0.35)
MOST_SHARE = 0.95
#: A change counts when it adds this much to the mean.
LEAST_GAIN = 1e-4
MOST_ROUNDS = 6


class Found(NamedTuple):
    """The candidates of one query, with their judgements.

    Attributes:
        row: which weights count for it.
        grades: of each candidate ``(m,)``.
        judged: the grades of all judged entries, best first.
        moving: the signals that tell the candidates apart.
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


def found_for(
    vault: Searchable, queries: Sequence[Query], vectors: Mapping[str, Any], options: Mapping[str, Any]
) -> Iterator[Found]:
    """Search for each query, and yield all candidates that the search ranked.

    Neighbours over links are those of the present weights: other weights may choose other anchors.
    """
    if not queries:
        return
    base = vault._plan(queries[0].text, {**options, "query_vector": vectors.get(queries[0].id)}, "tune")
    for query in queries:
        plan = vault._asked(base.of_query(query.text, vectors.get(query.id), vault._embeds()))
        # The ids of candidates are not read otherwise.
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
        yield Found(
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


def fitted(profile: Profile, row: WeightSet, found: Sequence[Found], measure: Measure) -> dict[str, float]:
    """Return the weights of a row for which the mean of a measure is highest, by coordinate ascent.

    Each signal in turn gets a multiple of its share, the others the rest in their proportions; a change that adds to
    the mean is kept, until none adds 0.0001. The sum stays what it was, and of equal means the weights that are there
    stay (Metzler and Croft 2007 fit such models so).
    """
    weights = dict(profile.weights[row])
    moving = [name for name in weights if any(name in one.moving for one in found)]

    def mean(tried: Mapping[str, float]) -> float:
        changed = with_weights(profile, row, tried)
        # Feedback moves weights in searches, too.
        counted = weights_of(changed, row, found[0].feedback).values
        return sum(one.value(profile, counted, measure) for one in found) / len(found)

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
    """Yield weights with another share for one signal."""
    total = sum(weights.values())
    share, rest = weights[name] / total, total - weights[name]
    shares = FROM_NOTHING if share == 0 else [share * factor for factor in FACTORS]
    for new in shares:
        if rest > 0 and new <= MOST_SHARE:
            scale = (1 - new) * total / rest
            yield {other: new * total if other == name else value * scale for other, value in weights.items()}
