"""Score a pool: signals, weights, contributions, order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from septet._core import Pool, Ranking
from septet.ranking.pool import with_ages
from septet.ranking.profile import Profile

#: A ranked candidate: position in the pool, place of the tier, row, score, weight x signal, signals (None if unknown),
#: confidence, and raw values (cosine, bm25, tfidf; None if unknown). A memory of fixed score has position -1, -2, …,
#: its score, and confidence 0. A plain tuple, as native code returns it.
Placed: TypeAlias = tuple[
    int,
    int,
    int,
    float,
    "dict[str, float] | None",
    "dict[str, float | None] | None",
    float,
    "dict[str, float | None] | None",
]


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
