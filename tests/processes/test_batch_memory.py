"""The memory of a batch of queries has a bound, however many rows are equal."""

import subprocess
import sys

import pytest

GROWN = """
import resource, sys
import numpy as np
from septet import VectorIndex
rng = np.random.default_rng(0)
rows = rng.standard_normal((20_000, 32)).astype(np.float32)
rows[: int(len(rows) * float(sys.argv[1]))] = rows[0]
queries = rng.standard_normal((6_000, 32)).astype(np.float32)
index = VectorIndex(32)
index.add(rows)
index.search(queries[0], 10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ids, scores = index.search(queries, 10, threads=2)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10)
for at in range(0, 6_000, 1_500):
    alone = index.search(queries[at], 10)
    assert (ids[at] == alone[0]).all() and (scores[at] == alone[1]).all()
"""


@pytest.mark.parametrize("equal", [0, 0.001, 0.5, 1])
def test_a_batch_takes_no_more_memory_where_rows_are_equal(equal):
    done = subprocess.run(
        [sys.executable, "-c", GROWN, str(equal)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 220 << 20
