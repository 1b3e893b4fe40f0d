"""Adaptive weights: a profile's documented weights adjusted by feedback."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from septet.model.codec import Plain

if TYPE_CHECKING:
    from septet.ranking.profile import Profile, WeightSet


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
