"""Vector kernels against slow float64 twins, at every SIMD level of the machine."""

import math
import platform
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from examples import heavy
from septet import _core

levels = pytest.mark.parametrize("level", _core.kernels())

# A coarse grid makes ties; neighbours of 1 make scores that float32 cannot tell apart; the rest goes to the limits.
components = st.one_of(
    st.integers(-2, 2).map(float),
    st.floats(-1, 1, width=32),
    st.integers(0, 3).map(lambda i: 1 + i * 2.0**-23),
    st.sampled_from([3e38, -3e38, 1e20, -1e20, 1e-38, 1e-45]).map(lambda x: float(np.float32(x))),
)


#: What Linux calls the instructions of a level.
FLAGS = {"avx512": {"avx512f", "avx2", "fma"}, "avx-vnni": {"avx_vnni", "avx2", "fma"}, "avx2": {"avx2", "fma"}}


def matrices(n: int, d: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(np.float32, (n, d), elements=components, fill=st.nothing())


def slow_dots(query: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Sum exact products in eight lanes, component i in lane i mod 8: the documented order."""
    n, d = rows.shape
    products = np.zeros((n, -(-d // 8) * 8))
    products[:, :d] = rows.astype(np.float64) * query.astype(np.float64)
    lanes = np.zeros((n, 8))
    for block in range(0, products.shape[1], 8):
        lanes += products[:, block : block + 8]
    even = (lanes[:, 0] + lanes[:, 4]) + (lanes[:, 2] + lanes[:, 6])
    odd = (lanes[:, 1] + lanes[:, 5]) + (lanes[:, 3] + lanes[:, 7])
    return even + odd


def slow_top_k(query, rows, k, mask):
    scores = slow_dots(query, rows)
    best = np.argsort(-scores, kind="stable")
    best = best[mask[best]][:k]
    return best, scores[best]


def processor_flags() -> set[str]:
    """Return what Linux tells of the processor; none where an emulated one sees the file of a real one of ARM."""
    path = Path("/proc/cpuinfo")
    told = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return set(next((line for line in told if line.startswith("flags")), "").split())


# Emulated machines see the file of the real one.
@pytest.mark.skipif(
    platform.machine() != "x86_64" or not processor_flags(), reason="the processor's flags are not told"
)
def test_every_level_of_the_processor_is_offered_and_tested():
    flags = processor_flags()
    assert [level for level, needs in FLAGS.items() if needs <= flags] == [
        level for level in _core.kernels() if level in FLAGS
    ]


@levels
@heavy()
@given(st.data())
def test_top_k_equals_the_float64_scan(level, data):
    n, d = data.draw(st.integers(0, 70)), data.draw(st.integers(0, 35))
    rows = data.draw(matrices(n, d))
    query = data.draw(matrices(1, d))[0]
    mask = data.draw(st.one_of(st.none(), hnp.arrays(np.bool_, n)))
    k = data.draw(st.integers(0, 80))
    ids, scores = _core.top_k(query, rows, k, mask, kernel=level)
    wanted_ids, wanted_scores = slow_top_k(query, rows, k, np.ones(n, bool) if mask is None else mask)
    assert (ids.dtype, scores.dtype) == (np.int64, np.float64)
    np.testing.assert_array_equal(ids, wanted_ids)
    np.testing.assert_array_equal(scores, wanted_scores)


@levels
@pytest.mark.parametrize("d", [1, 17, 384, 1000])
@pytest.mark.parametrize("k", [1, 10, 3000])
def test_top_k_of_many_unit_rows(level, d, k):
    rng = np.random.default_rng(d)
    rows = _core.unit_rows(rng.standard_normal((2500, d), dtype=np.float32))
    rows[1::3] = rows[0]  # a third of the corpus ties exactly
    query = rows[3] if d > 1 else rows[0]
    mask = rng.random(2500) < 0.5
    ids, scores = _core.top_k(query, rows, k, mask, kernel=level)
    wanted_ids, wanted_scores = slow_top_k(query, rows, k, mask)
    np.testing.assert_array_equal(ids, wanted_ids)
    np.testing.assert_array_equal(scores, wanted_scores)


@levels
def test_rows_that_float32_cannot_tell_apart_come_in_float64_order(level):
    rng = np.random.default_rng(1)
    query = _core.unit_rows(rng.standard_normal((1, 384), dtype=np.float32))[0]
    rows = np.tile(query, (500, 1))
    # One unit in the last place of one component: differences near 1e-9, under the float32 rounding of the sum.
    rows[np.arange(500), rng.integers(0, 384, 500)] *= 1 + 2.0**-23
    ids, scores = _core.top_k(query, rows, 20, kernel=level)
    wanted_ids, wanted_scores = slow_top_k(query, rows, 20, np.ones(500, bool))
    np.testing.assert_array_equal(ids, wanted_ids)
    np.testing.assert_array_equal(scores, wanted_scores)


@levels
@given(st.data())
def test_scores_are_within_float64_rounding_of_the_truth(level, data):
    d = data.draw(st.integers(1, 100))
    row, query = data.draw(matrices(2, d))
    products = [float(x) * float(y) for x, y in zip(row, query, strict=True)]
    _, [found] = _core.top_k(query, row[None], 1, kernel=level)
    bound = (d + 4) * 2.0**-53 * math.fsum(map(abs, products))
    assert abs(found - math.fsum(products)) <= 1.01 * bound


@heavy()
@given(st.data())
def test_cosine_at_equals_the_formula(data):
    n, d = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 35))
    rows = data.draw(matrices(n, d))
    query = data.draw(hnp.arrays(np.float64, d, elements=st.floats(-10, 10)).filter(lambda q: (q * q).sum() > 1e-100))
    at = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=30)), dtype=np.int64)

    def slow(row):
        norm = math.sqrt(math.fsum(x * x for x in row))
        dot = math.fsum(x * y for x, y in zip(row, query.tolist(), strict=True))
        return dot / (norm * math.sqrt(math.fsum(x * x for x in query.tolist()))) if norm else 0.0

    found = _core.cosine_at(query, rows, at)
    np.testing.assert_allclose(found, [slow(rows[i].tolist()) for i in at], rtol=0, atol=1e-14)


@given(st.data())
def test_unit_rows_have_length_one_and_the_direction_they_had(data):
    rows = data.draw(matrices(data.draw(st.integers(0, 8)), data.draw(st.integers(1, 35))))
    norms = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1))
    if (norms == 0).any():
        with pytest.raises(ValueError, match=f"row {int(np.argmin(norms))} "):
            _core.unit_rows(rows)
        return
    unit = _core.unit_rows(rows)
    assert (unit.dtype, unit.shape) == (np.float32, rows.shape)
    np.testing.assert_allclose(unit, rows / norms[:, None], rtol=6e-7, atol=1e-45)
    np.testing.assert_allclose((unit.astype(np.float64) ** 2).sum(axis=1), 1, atol=1.1e-6)
    np.testing.assert_array_equal(_core.unit_rows(unit), unit)
