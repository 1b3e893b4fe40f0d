"""Fusion, order, tags and time against slow twins."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from septet import _core

finite = st.floats(-1e6, 1e6)
maybe = st.one_of(finite, st.just(math.nan))


def doubles(values) -> np.ndarray:
    return np.array(values, dtype=np.float64)


@given(st.data())
def test_contributions_are_weight_times_value_and_nan_gives_none(data):
    c, m = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 9))
    columns = data.draw(hnp.arrays(np.float64, (c, m), elements=maybe))
    weights = data.draw(hnp.arrays(np.float64, c, elements=finite))
    named = {str(i): column for i, column in enumerate(columns)}
    formula = _core.Formula([("col", name) for name in named], missing="zero")
    signals, found, scores, order, counted = formula.score(named, ["entry"] * m, weights)
    assert found.shape == (c, m) and found.dtype == np.float64
    np.testing.assert_array_equal(signals, np.nan_to_num(columns))
    np.testing.assert_array_equal(found, np.where(np.isnan(columns), 0, columns * weights[:, None]))
    np.testing.assert_array_equal(scores, found.sum(axis=0))
    np.testing.assert_array_equal(order, np.argsort(-scores, kind="stable"))
    np.testing.assert_array_equal(counted, weights)


def slow_rrf(lists, weights, k, first_rank):
    scores = {}
    for ids, weight in zip(lists, weights, strict=True):
        for rank, i in enumerate(ids, first_rank):
            if ids.index(i) == rank - first_rank:
                scores[i] = scores.get(i, 0.0) + weight / (k + rank)
    ranked = sorted(scores, key=lambda i: -scores[i])
    return ranked, [scores[i] for i in ranked]


@given(
    st.lists(st.tuples(st.lists(st.integers(-3, 9), max_size=8), st.floats(-2, 2)), max_size=4),
    st.floats(0.5, 100),
    st.integers(0, 3),
)
def test_rrf_equals_the_formula(pairs, k, first_rank):
    lists, weights = [ids for ids, _ in pairs], [weight for _, weight in pairs]
    arrays = [np.array(ids, dtype=np.int64) for ids in lists]
    ids, scores = _core.rrf(arrays, doubles(weights), k=k, first_rank=first_rank)
    wanted_ids, wanted_scores = slow_rrf(lists, weights, k, first_rank)
    assert (ids.dtype, scores.dtype) == (np.int64, np.float64)
    assert (ids.tolist(), scores.tolist()) == (wanted_ids, wanted_scores)


def test_rrf_counts_ranks_from_one_with_k_sixty():
    ids, scores = _core.rrf([np.array([4, 2], dtype=np.int64)], doubles([1]))
    assert (ids.tolist(), scores.tolist()) == ([4, 2], [1 / 61, 1 / 62])


@given(hnp.arrays(np.float64, st.integers(0, 40), elements=st.sampled_from([-math.inf, -2.0, -0.0, 0.0, 1.0, 2.0])))
def test_order_is_stable(values):
    formula = _core.Formula([("col", "a")], missing="share")
    order = formula.score({"a": values}, ["entry"] * len(values), doubles([1.0]))[3]
    np.testing.assert_array_equal(order, np.argsort(-values, kind="stable"))


tags = st.lists(st.sampled_from(["jwt", "JWT", "auth", "é", ""]), max_size=5)


@given(tags, st.lists(tags, max_size=5))
def test_jaccard_is_that_of_sets(query, candidates):
    def slow(a, b):
        return len(a & b) / len(a | b) if a | b else 0.0

    assert _core.jaccard(query, candidates).tolist() == [slow(set(query), set(c)) for c in candidates]


def slow_decay(now, created, updated, valid_from, valid_until, half_life_s, ramp):
    def first(*times):
        return next((t for t in times if not math.isnan(t)), now)

    if math.isnan(valid_until):
        return math.exp(-math.log(2) * max(now - first(updated, created), 0) / half_life_s)
    window = valid_until - first(valid_from, created)
    remaining = valid_until - now
    if remaining <= 0:
        return 0.0
    if window <= 0 or remaining > ramp * window:
        return 1.0
    return remaining / (ramp * window)


@given(
    finite,
    st.lists(st.tuples(maybe, maybe, maybe, maybe), max_size=8),
    st.floats(1, 1e8),
    st.sampled_from([0.0, 0.25, 1.0]),
)
def test_decay_equals_the_documented_rule(now, times, half_life_s, ramp):
    columns = [doubles(column) for column in zip(*times, strict=True)] or [doubles([])] * 4
    found = _core.decay(now, *columns, half_life_s=half_life_s, ramp=ramp)
    wanted = [slow_decay(now, *row, half_life_s, ramp) for row in times]
    np.testing.assert_allclose(found, doubles(wanted), rtol=1e-14)
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize(("age_days", "worth"), [(0, 1), (365, 0.5), (730, 0.25)])
def test_a_year_halves_what_an_entry_is_worth(age_days, worth):
    now, absent = 1.76e9, doubles([math.nan])
    updated = doubles([now - age_days * 86_400])
    found = _core.decay(now, absent, updated, absent, absent, half_life_s=365 * 86_400, ramp=0.25)
    assert found.tolist() == [worth]
