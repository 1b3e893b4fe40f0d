"""A query vector is the same in whatever form it is given, and refused for the same reasons."""

import numpy as np
import pytest

from septet.errors import VectorError
from septet.model.vector import MOST, query_vector

ROW = np.random.default_rng(7).normal(size=33)


def by_numpy(value):
    """Return both forms as numpy makes them, step by step."""
    exact = np.array(value, dtype=np.float64)
    row = exact.astype(np.float32).astype(np.float64)
    square = np.dot(row, row)
    scan = row if abs(square - 1.0) <= 1e-6 else row / np.sqrt(square)
    return exact, scan.astype(np.float32)


FORMS = {
    "float64": ROW,
    "float32": ROW.astype(np.float32),
    "float16": ROW.astype(np.float16),
    "whole numbers": np.arange(1, 9),
    "the other byte order": ROW.astype(">f8"),
    "every second component": np.repeat(ROW, 2)[::2],
    "backwards": ROW[::-1],
    "a list": ROW.tolist(),
    "a tuple": tuple(ROW.tolist()),
    "of length 1 already": (ROW / np.linalg.norm(ROW)).astype(np.float32),
    "tiny": ROW * 1e-30,
    "huge": ROW / np.abs(ROW).max() * MOST,
}


@pytest.mark.parametrize("value", FORMS.values(), ids=FORMS)
def test_every_form_gives_the_same_two_rows_as_numpy_step_by_step(value):
    found, (exact, scan) = query_vector(value), by_numpy(value)
    assert (found.exact.dtype, found.scan.dtype) == (np.float64, np.float32)
    np.testing.assert_array_equal(found.exact, exact)
    np.testing.assert_allclose(found.scan, scan, rtol=2e-7, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_and_a_list_of_the_same_numbers_give_the_same_bits(dtype):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        row = (rng.normal(size=rng.integers(1, 400)) * 10.0 ** rng.integers(-18, 18)).astype(dtype)
        quick, slow = query_vector(row), query_vector(row.tolist())
        assert quick.exact.tobytes() == slow.exact.tobytes()
        assert quick.scan.tobytes() == slow.scan.tobytes()


def test_a_read_only_array_is_taken_and_none_is_kept():
    row = ROW.copy()
    row.flags.writeable = False
    assert query_vector(row).exact is not row
    mine = ROW.copy()
    found = query_vector(mine)
    mine[:] = 0
    assert found.exact[0] == ROW[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("components", "why"),
    [
        ([], "one dimension"),
        ([[1.0, 2.0]], "one dimension"),
        ([0.0, 0.0], "no direction"),
        ([1.0, float("nan")], "NaN, infinity"),
        ([1.0, float("-inf")], "NaN, infinity"),
    ],
)
def test_a_bad_array_is_refused_with_the_reason(components, why, dtype):
    with pytest.raises(VectorError, match=why):
        query_vector(np.array(components, dtype=dtype))


def test_a_number_that_float32_cannot_hold_is_refused():
    with pytest.raises(VectorError, match="beyond the range of float32"):
        query_vector(np.array([1.0, 2 * MOST]))
