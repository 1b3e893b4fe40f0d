"""From a pool to scores: signals, weights, contributions, order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.ranking.pool import Pool

if TYPE_CHECKING:
    from septet.ranking.profile import Profile

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

    def breakdowns(self, positions: Sequence[int]) -> list[dict[str, float]]:
        """Return weight x signal of candidates, by signal."""
        return [dict(zip(self.names, parts)) for parts in self.contributions[:, positions].T.tolist()]

    def raw(self, positions: Sequence[int]) -> list[dict[str, float | None]]:
        """Return the signals of candidates; None where unknown."""
        known = self.signals[:, positions].T.tolist()
        return [{n: None if v != v else v for n, v in zip(self.names, values)} for values in known]

    def named_weights(self) -> dict[str, float]:
        """Return the weights by signal."""
        return dict(zip(self.names, self.weights.tolist()))


def score(pool: Pool, profile: Profile, weights: Mapping[str, float]) -> Scored:
    """Evaluate a profile's signals over a pool and fuse them by the given weights."""
    names = tuple(profile.signals)
    counted = np.array([weights[n] for n in names], dtype=np.float64)
    found = profile.formula.score(pool.columns, pool.facts["kind"], counted)
    return Scored(pool, names, *found)
