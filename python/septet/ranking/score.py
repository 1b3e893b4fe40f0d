"""Score a pool: signals, weights, contributions, order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from septet._core import Pool, Ranking
from septet.ranking.pool import with_ages
from septet.ranking.profile import Profile


class RankedCandidate(NamedTuple):
    """A candidate with its score.

    Attributes:
        position: position in the pool; -1, -2, … for a memory of fixed score.
        tier: place of its tier.
        row: row in its tier.
        score: sum of the breakdown; the fixed score of a memory.
        breakdown: weight x signal by signal; None for a memory.
        signals: values of the signals, None where unknown; None for a memory.
        confidence: probability that it answers the query, 0 to 1; 0 for a memory.
        raw: the raw values ``cosine``, ``bm25`` and ``tfidf``, None where unknown; None for a memory.
    """

    position: int
    tier: int
    row: int
    score: float
    breakdown: dict[str, float] | None
    signals: dict[str, float | None] | None
    confidence: float
    raw: dict[str, float | None] | None


#: Names the fields of a candidate as native code returns it, without a Python call for each.
named: Callable[[tuple[Any, ...]], RankedCandidate] = partial(tuple.__new__, RankedCandidate)


def best_of(
    ranking: Ranking,
    limit: int | None = None,
    *,
    least: float | None = None,
    least_confidence: float | None = None,
    memories: int = 0,
    memory_score: float = 0.0,
) -> list[RankedCandidate]:
    """Return the candidates of `Ranking.best`, best first."""
    best = ranking.best(
        limit, least=least, least_confidence=least_confidence, memories=memories, memory_score=memory_score
    )
    return [*map(named, best)]


def score(pool: Pool, profile: Profile, weights: Mapping[str, float]) -> Ranking:
    """Evaluate a profile's signals over a pool's columns, fuse them by the given weights, and sort by the sums."""
    return profile.formula.rank(pool, profile.signal_names, [weights[name] for name in profile.signals])


def rank(
    pool: Pool,
    profile: Profile,
    weights: Mapping[str, float],
    *,
    now: float,
    domain: str | None,
    least: float | None = None,
    taken: int | None = None,
) -> Ranking:
    """Fill the columns ``severity``, ``decay`` and ``domain``, each 0 to 1, and ages, and return `score` of the pool.

    Column ``domain`` is NaN without a ``domain``. ``least`` caps the score that the profile's floor raises to;
    ``taken`` is the number of candidates per leg.
    """
    if profile.ages:
        pool = pool.with_columns(with_ages(pool.columns, profile.ages, now))
    counted = [weights[name] for name in profile.signals]
    names, rules = profile.signal_names, profile.facts.rules
    if taken is not None and profile.takes_top:
        return profile.formula.rank(pool, names, counted, rules=rules, now=now, domain=domain, least=least, taken=taken)
    return profile.formula.rank(pool, names, counted, rules=rules, now=now, domain=domain, least=least)
