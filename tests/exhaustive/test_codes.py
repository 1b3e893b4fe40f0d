"""Tests of `property/test_codes.py` that take seconds."""

import numpy as np
import pytest

from property.test_codes import coded, levels, same, slow_top_k
from septet import _core


@levels
@pytest.mark.parametrize("q", [0, 1, 3, 4, 65, 150])
def test_a_batch_equals_single_queries_on_any_number_of_threads(level, q):
    rng = np.random.default_rng(q)
    rows = _core.unit_rows(rng.standard_normal((3000, 50), dtype=np.float32))
    queries = rng.standard_normal((q, 50), dtype=np.float32)
    queries[q // 2 : q // 2 + 1] = 0
    codes = coded(rows)
    for mask in (None, rng.random(3000) < 0.1, np.zeros(3000, bool)):
        width = min(7, 3000 if mask is None else int(mask.sum()))
        for threads in (1, 4, None):
            ids, scores = codes.top_k_batch(queries, rows, 7, mask, kernel=level, threads=threads)
            assert ids.shape == scores.shape == ((q, width) if q else (0, 0))
            for query, found in zip(queries, zip(ids, scores, strict=True), strict=True):
                same(found, slow_top_k(query, rows, 7, mask))
