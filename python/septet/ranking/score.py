"""From a pool to scores: signals, weights, contributions, order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.ranking.fusion import formula
from septet.ranking.pool import Pool

if TYPE_CHECKING:
    from septet.profiles.model import Profile

__all__ = ["Scored", "score"]


class Scored(NamedTuple):
    """A pool with its scores.

    Attributes:
        signals: raw signal values ``(c, m)``, NaN where unknown.
        contributions: weight x signal ``(c, m)``; a candidate's score is the sum of its column.
        scores: ``(m,)``.
        order: candidate positions, best first; equal scores keep the pool's order ``(m,)``.
        weights: the weight of each signal as it counted ``(c,)``.
    """

    pool: Pool
    names: tuple[str, ...]
    signals: NDArray[np.float64]
    contributions: NDArray[np.float64]
    scores: NDArray[np.float64]
    order: NDArray[np.int64]
    weights: NDArray[np.float64]

    def breakdown(self, position: int) -> dict[str, float]:
        """Return weight x signal of one candidate, by signal."""
        return dict(zip(self.names, self.contributions[:, position].tolist()))

    def raw(self, position: int) -> dict[str, float | None]:
        """Return the signals of one candidate; None where unknown."""
        return {n: None if v != v else v for n, v in zip(self.names, self.signals[:, position].tolist())}

    def named_weights(self) -> dict[str, float]:
        """Return the weights by signal."""
        return dict(zip(self.names, self.weights.tolist()))


def score(pool: Pool, profile: Profile, weights: Mapping[str, float]) -> Scored:
    """Evaluate a profile's signals over a pool and fuse them by the given weights."""
    names = tuple(profile.signals)
    counted = np.array([weights[n] for n in names], dtype=np.float64)
    found = _formula(profile).score(pool.columns, pool.facts["kind"], counted)
    return Scored(pool, names, *found)


#: Formulas that were used, by the signals they were made of: a profile's do not change, but a copy may have others.
_made: dict[int, tuple[object, str, _core.Formula]] = {}
_MOST_MADE = 64


def _formula(profile: Profile) -> _core.Formula:
    signals, missing = profile.signals, profile.missing
    made = _made.get(id(signals))
    # The signals are kept beside the formula, so that no others can get their id.
    if made is None or made[0] is not signals or made[1] != missing:
        if len(_made) >= _MOST_MADE:
            _made.clear()
        made = _made[id(signals)] = signals, missing, formula(tuple(signals.values()), missing)
    return made[2]
