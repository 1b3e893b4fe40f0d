"""The tests of significance, against slow twins, tables and their own promise."""

from itertools import product
from math import inf, nan

import numpy as np
import pytest

from septet.evaluation.outcomes import interval, randomization, t_quantile


@pytest.mark.parametrize(
    ("freedom", "wanted"), [(1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (9, 2.2622), (30, 2.0423), (1e6, 1.96)]
)
def test_the_quantiles_of_t_are_those_of_the_tables(freedom, wanted):
    assert t_quantile(0.975, int(freedom)) == pytest.approx(wanted, rel=5e-3)


def test_the_quantiles_of_t_are_those_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    for freedom in (1, 2, 3, 5, 10, 49, 200):
        assert t_quantile(0.975, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=5e-3)
    assert np.isnan(t_quantile(nan, 3))


def test_few_differences_are_tested_with_every_assignment_of_signs():
    values = np.array([0.3, -0.1, 0.2, 0.25, 0.0, 0.05])
    sums = [abs(sum(s * v for s, v in zip(signs, values))) for signs in product((1, -1), repeat=len(values))]
    wanted = np.mean([s >= abs(values.sum()) - 1e-12 for s in sums])
    assert randomization(values) == pytest.approx(wanted)


def test_many_differences_are_tested_with_random_signs_that_are_the_same_every_time():
    values = np.random.default_rng(3).normal(0.2, 1.0, 200)
    assert randomization(values, 1) == randomization(values, 1)
    assert randomization(values, 1) == pytest.approx(randomization(values, 2), abs=0.01)
    assert randomization(values) == pytest.approx(randomization(-values), abs=0.01)


def test_no_difference_is_no_evidence():
    assert randomization(np.zeros(50)) == 1.0
    assert interval(np.zeros(50)) == (0.0, 0.0)
    assert interval(np.ones(1)) == (-inf, inf)


def test_very_many_differences_are_tested_by_their_normal_mean():
    random = np.random.default_rng(0)
    noise = random.normal(0, 1, 30_000)
    assert randomization(noise - noise.mean()) > 0.99
    assert randomization(noise + 0.1) < 1e-6


def test_about_one_in_twenty_differences_without_a_cause_is_outside_the_interval():
    random = np.random.default_rng(7)
    outside = small = 0
    for trial in range(400):
        values = random.normal(0, 0.2, 40)
        low, high = interval(values)
        outside += not low <= 0 <= high
        small += trial < 100 and randomization(values) <= 0.05
    assert 8 <= outside <= 34
    assert small <= 13


def test_the_interval_is_that_of_a_paired_t_test():
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(1).normal(0.1, 0.3, 25)
    wanted = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert interval(values) == pytest.approx((wanted.low, wanted.high), rel=1e-3)
