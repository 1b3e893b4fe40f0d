"""Score a pool: weights adjusted by feedback, signals, contributions, order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from septet._core import Pool, Ranking
from septet.model.codec import Plain
from septet.ranking.pool import AGES, SECONDS_A_DAY
from septet.ranking.profile import Profile, WeightSet
from septet.system.records import NamedTuple, dataclass


@dataclass(frozen=True, slots=True)
class Weights(Plain):
    """Weights in use, and the reason.

    Attributes:
        values: one weight per signal.
        row: ``text`` without vectors, ``hybrid`` with them.
        cause: reason, one sentence.
        counted: number of feedback rows counted.
        accept_rate: mean value of the counted rows, 0 to 1; None without any.
    """

    profile: str
    row: str
    values: Mapping[str, float]
    cause: str
    counted: int
    accept_rate: float | None


def weights_of(profile: Profile, chosen: WeightSet, feedback: Mapping[str, int]) -> Weights:
    """Return a profile's weights after feedback.

    Documented rule: from 30 counted rows on, ``rate = (accepted + 0.5 * modified) / counted``; the moving signals
    together get ``base + (rate - 0.5) * 2 * 0.15``; the others keep their proportions and bring the sum to 1.

    Args:
        feedback: rows per action; actions without a value in the profile (``failed``) are not counted.
    """
    rule, base = profile.adaptive, profile.weights[chosen]
    counted = sum(n for action, n in feedback.items() if action in rule.values)
    accepted = sum(rule.values[action] * n for action, n in feedback.items() if action in rule.values)
    rate = accepted / counted if counted else None
    if rate is None or counted < rule.min_rows:
        cause = f"as documented: {counted} of the {rule.min_rows} feedback rows needed to move them"
        return Weights(profile.name, chosen, dict(base), cause, counted, rate)
    moving = [s for s in (rule.text if chosen == "text" else rule.hybrid) if s in base]
    if not moving:
        cause = f"{counted} feedback rows, but no signal of this profile moves"
        return Weights(profile.name, chosen, dict(base), cause, counted, rate)
    if (total := sum(base.values())) > 1:
        # The bounds assume a sum of 1: normalize larger weights.
        base = {s: w / total for s, w in base.items()}
    fixed = sum(base[s] for s in rule.fixed if s in base)
    start = sum(base[s] for s in moving)
    target = min(max(start + (rate - 0.5) * 2 * rule.span, 0.0), 1 - fixed)
    others = sum(w for s, w in base.items() if s not in moving and s not in rule.fixed)
    rest = (1 - target - fixed) / others if others > 0 else 0.0
    share = target / start if start > 0 else 0.0
    values = {
        s: w if s in rule.fixed and s not in moving else w * (share if s in moving else rest) for s, w in base.items()
    }
    cause = f"accept rate {rate:.2f} over {counted} feedback rows moved {' and '.join(moving)} by {target - start:+.3f}"
    return Weights(profile.name, chosen, values, cause, counted, rate)


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
    """Return the ranking of a pool by a profile's signals, fused by the given weights.

    Fills ages, and the columns ``severity``, ``decay`` and ``domain`` (NaN without a ``domain``), each 0 to 1.
    ``least`` caps the score that the profile's floor raises to; ``taken`` is the number of candidates per leg.
    """
    if profile.ages:
        known = [name for name in profile.ages if AGES[name] in pool.columns]
        pool = pool.with_columns({name: (now - pool.columns[AGES[name]]) / SECONDS_A_DAY for name in known})
    names, counted = profile.signal_names, [weights[name] for name in profile.signals]
    rules, taken = profile.facts.rules, taken if profile.takes_top else None
    return profile.formula.rank(pool, names, counted, rules=rules, now=now, domain=domain, least=least, taken=taken)
