"""Results of an evaluation, and of a comparison of two with the significance of their difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import inf, nan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.errors import QueryError
from septet.inputs.arguments import shown, whole
from septet.model.codec import as_dict
from septet.model.entry import Tabular

#: Smaller differences are rounding errors.
LEAST = 1e-12
#: Maximum differing queries for the exact test, which tries every assignment of signs.
MOST_EXACT = 14
#: Random assignments tried with more queries.
TRIALS = 10_000
#: Maximum signs in memory at once.
CHUNK = 1_000_000
#: Maximum differing queries for random trials: beyond, they are slow and the mean is close to normal.
MOST_TRIED = 20_000


@dataclass(frozen=True, slots=True)
class Evaluation(Tabular):
    """Measures of the searches of one profile.

    Attributes:
        profile: the name of the profile.
        means: the mean over all queries, by measure; each 0 to 1, higher is better.
        per_query: by query id, the value of each measure.
        unjudged: ids of queries without a judgement, which were skipped.
        unknown: relevant ids that no search returned and that are not in the vault, sorted: often typos.
        notes: number of queries with each note, by code.
    """

    _shown_as = "evaluation"

    profile: str
    means: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    unjudged: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    notes: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, measure: str) -> float:
        return self.means[measure]

    def __repr__(self) -> str:
        lines = [f"<Evaluation of {self.profile} over {len(self.per_query)} queries>"]
        lines += [f"  {name:<10} {value:.4f}" for name, value in self.means.items()]
        if self.unjudged:
            lines.append(f"  {len(self.unjudged)} queries without a judgement were skipped")
        if self.unknown:
            lines.append(f"  {len(self.unknown)} relevant ids are not in the vault, such as {shown(self.unknown[0])}")
        lines += [f"  note {code} for {count} queries" for code, count in self.notes.items()]
        return "\n".join(lines)

    def worst(self, measure: str, limit: int = 10) -> list[tuple[str, float]]:
        """Return the queries with the lowest values of a measure, worst first, each with its value.

        Raises:
            QueryError: the measure was not computed, or the limit is not a number from 1.
        """
        if not isinstance(measure, str) or measure not in self.means:
            raise QueryError(f"{shown(measure)} was not measured; available: {', '.join(self.means)}")
        rows = sorted(((id, values[measure]) for id, values in self.per_query.items()), key=lambda row: row[1])
        return rows[: whole(limit, "limit", QueryError, 1)]

    def compare(self, baseline: Evaluation, *, seed: int = 0) -> Comparison:
        """Compare with another evaluation of the same queries; positive differences mean that this one is better.

        The p-value is from a paired randomization test, the 95 % interval is the paired t interval.

        Args:
            seed: seed of the test's random signs.

        Raises:
            QueryError: the evaluations have different queries, or no common measure.
        """
        if not isinstance(baseline, Evaluation):
            raise QueryError(f"baseline is {shown(baseline)}: wanted an Evaluation")
        seed = whole(seed, "seed", QueryError, 0, 2**63 - 1)
        if other := sorted(baseline.per_query.keys() ^ self.per_query.keys()):
            only = f"{shown(other[0])} is only in one; evaluate both on the same"
            raise QueryError(f"the two evaluations have different queries: {only}")
        names = [name for name in self.means if name in baseline.means]
        if not names:
            raise QueryError(
                f"the two evaluations share no measure: {', '.join(self.means)}; {', '.join(baseline.means)}"
            )
        ids = list(self.per_query)
        differences = {}
        for name in names:
            values = [np.array([evaluation.per_query[id][name] for id in ids]) for evaluation in (baseline, self)]
            differences[name] = difference_of(name, values[0], values[1], seed)
        return Comparison(self.profile, baseline.profile, len(ids), differences)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {**as_dict(self), "queries": len(self.per_query)}


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of two rankings.

    Attributes:
        before: mean of the baseline.
        after: mean of the other ranking.
        difference: ``after - before``.
        low, high: 95 % interval of the difference (paired t).
        p: two-sided p-value of the paired randomization test, above 0 and up to 1.
        wins, ties, losses: queries with a higher, equal and lower value than the baseline.
    """

    measure: str
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int

    @property
    def significant(self) -> bool:
        """True if the interval excludes 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Comparison(Tabular):
    """Differences between two evaluations, by measure.

    Attributes:
        profile: name of the compared profile.
        baseline: name of the profile it is compared with.
        queries: number of queries.
    """

    _shown_as = "comparison"

    profile: str
    baseline: str
    queries: int
    differences: Mapping[str, Difference]

    def __getitem__(self, measure: str) -> Difference:
        return self.differences[measure]

    def __repr__(self) -> str:
        lines = [
            f"<Comparison of {self.profile} with {self.baseline} over {self.queries} queries>",
            f"  {'':<10} {'before':>7} {'after':>7} {'change':>8}  {'95 %':<18} {'p':>6}  better/same/worse",
        ]
        for d in self.differences.values():
            reach = f"{d.low:+.4f} to {d.high:+.4f}"
            lines.append(
                f"  {d.measure:<10} {d.before:7.4f} {d.after:7.4f} {d.difference:+8.4f}  {reach:<18} {d.p:6.4f}"
                f"  {d.wins}/{d.ties}/{d.losses}"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict; an infinite bound is None."""
        return {
            "profile": self.profile,
            "baseline": self.baseline,
            "queries": self.queries,
            "differences": {
                name: {key: None if value in (np.inf, -np.inf) else value for key, value in asdict(row).items()}
                for name, row in self.differences.items()
            },
        }


def difference_of(name: str, before: NDArray[np.float64], after: NDArray[np.float64], seed: int = 0) -> Difference:
    """Return the difference of one measure from its values per query ``(n,)``."""
    differences = after - before
    differences[np.abs(differences) < LEAST] = 0.0
    low, high = interval(differences)
    return Difference(
        measure=name,
        before=float(before.mean()),
        after=float(after.mean()),
        difference=float(differences.mean()),
        low=low,
        high=high,
        p=randomization(differences, seed),
        wins=int(np.count_nonzero(differences > 0)),
        ties=int(np.count_nonzero(differences == 0)),
        losses=int(np.count_nonzero(differences < 0)),
    )


def randomization(differences: NDArray[np.float64], seed: int = 0) -> float:
    """Return the two-sided p-value, above 0 and up to 1, of the paired randomization test of a mean of 0.

    If two rankings are equally good, each difference could have the opposite sign. p is the share of the assignments of
    signs whose mean is at least as far from 0 as the observed one: over all assignments for up to 14 nonzero
    differences, otherwise over 10,000 random ones and the observed one (Smucker, Allan and Carterette 2007).
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
    """Return the paired t interval of the mean of differences: ``mean ± t(n - 1) * s / sqrt(n)``, unbounded for one."""
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
