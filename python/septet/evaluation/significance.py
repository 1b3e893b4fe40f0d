"""Significance of a difference over the same queries."""

from __future__ import annotations

from math import inf, nan, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

#: Maximum differing queries for the exact test, which tries every assignment of signs.
MOST_EXACT = 14
#: Random assignments tried with more queries.
TRIALS = 10_000
#: Maximum signs in memory at once.
CHUNK = 1_000_000
#: Maximum differing queries for random trials: beyond, they are slow and the mean is close to normal.
MOST_TRIED = 20_000


def randomization(differences: NDArray[np.float64], seed: int = 0) -> float:
    """Return the two-sided p-value of the paired randomization test of a mean of 0.

    If two rankings are equally good, each difference could have the opposite sign. p is the share of the assignments of
    signs whose mean is at least as far from 0 as the observed one: over all assignments for up to 14 nonzero
    differences, otherwise over 10,000 random ones and the observed one (Smucker, Allan and Carterette 2007).

    Args:
        differences: per query, shape ``(n,)``.
        seed: seed of the random signs.

    Returns:
        p, above 0 and up to 1.
    """
    # Queries without a difference change no sum.
    values = differences[differences != 0]
    if not len(values):
        return 1.0
    observed = abs(float(values.sum())) * (1 - 1e-9)
    if len(values) <= MOST_EXACT:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate([sums + value, sums - value])
        return float(np.mean(np.abs(sums) >= observed))
    if len(values) > MOST_TRIED:
        return 2 * NormalDist().cdf(-observed / sqrt(float((values**2).sum())))
    random, far, remaining = np.random.default_rng(seed), 0, TRIALS
    while remaining:
        rows = min(remaining, max(1, CHUNK // len(values)))
        signs = random.integers(0, 2, size=(rows, len(values)), dtype=np.int8)
        far += int(np.count_nonzero(np.abs((2.0 * signs - 1.0) @ values) >= observed))
        remaining -= rows
    return (far + 1) / (TRIALS + 1)


def interval(differences: NDArray[np.float64], level: float = 0.95) -> tuple[float, float]:
    """Return the paired t interval of the mean: ``mean ± t(n - 1) * s / sqrt(n)``; unbounded for one difference.

    Args:
        differences: per query, shape ``(n,)``, at least one.
        level: confidence level, 0 to 1.
    """
    n = len(differences)
    if n < 2:
        return -inf, inf
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    reach = t_quantile((1 + level) / 2, n - 1) * spread / sqrt(n)
    return mean - reach, mean + reach


def t_quantile(share: float, freedom: int) -> float:
    """Return the quantile of Student's t distribution; NaN for invalid arguments.

    Exact for 1 and 2 degrees of freedom, otherwise the expansion of Abramowitz and Stegun 26.7.5, with an error below
    0.5 % at 0.975.
    """
    if not 0 < share < 1 or freedom < 1:
        return nan
    if freedom == 1:
        return float(np.tan(np.pi * (share - 0.5)))
    if freedom == 2:
        return float((2 * share - 1) / sqrt(2 * share * (1 - share)))
    x = NormalDist().inv_cdf(share)
    terms = (
        x,
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92_160,
    )
    return float(sum(term / freedom**power for power, term in enumerate(terms)))
