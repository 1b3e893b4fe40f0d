"""Diversity: an order of candidates in which the next is relevant and unlike those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["diversified", "relevance_of"]


def relevance_of(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return scores ``(m,)``, best first, as parts of the best, 0 to 1; all 0 where the best is 0 or less."""
    values = np.array(scores, dtype=np.float64)
    if not len(values) or values[0] <= 0:
        return np.zeros(len(values))
    relevance: NDArray[np.float64] = np.clip(values / values[0], 0.0, 1.0)
    return relevance


def diversified(
    relevance: NDArray[np.float64], alike: Callable[[int], NDArray[np.float64]], most: int, diversity: float
) -> list[int]:
    """Return the places of candidates by maximal marginal relevance, of equal ones the first.

    The next place is always the one with the highest ``lambda * relevance - (1 - lambda) * likeness to the most alike
    before it``, where ``lambda = 1 - diversity`` (Carbonell and Goldstein 1998: The use of MMR).

    Args:
        relevance: of each candidate, 0 to 1, descending ``(m,)``.
        alike: returns how much each candidate is like the one at a place, 0 to 1 ``(m,)``.
        most: so many are wanted.
        diversity: from 0, the order of relevance, to 1, as unlike as can be.
    """
    left = np.ones(len(relevance), dtype=bool)
    nearest = np.zeros(len(relevance))
    order: list[int] = []
    while len(order) < min(most, len(relevance)):
        values = (1.0 - diversity) * relevance - diversity * nearest
        at = int(np.argmax(np.where(left, values, -np.inf)))
        order.append(at)
        left[at] = False
        nearest = np.maximum(nearest, alike(at))
    return order
