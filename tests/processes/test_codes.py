"""Tests of `property/test_codes.py` that start processes."""

import os

import numpy as np
import pytest

from property.test_codes import coded


# Python warns of what is tested here: a fork while other threads sleep.
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((5_000, 32), dtype=np.float32)
    codes = coded(rows)
    wanted = codes.top_k(rows[0], rows, 5, threads=3)
    child = os.fork()
    if child == 0:
        found = codes.top_k(rows[0], rows, 5, threads=3)
        os._exit(0 if all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
