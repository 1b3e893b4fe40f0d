"""The memory of a batch of queries has a bound, however many rows are equal."""

import subprocess
import sys

import pytest

GROWN = """
import sys
import numpy as np
from septet import VectorIndex

def most():
    # Not `ru_maxrss`, which begins with that of the process that forked this one.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))

rng = np.random.default_rng(0)
rows = rng.standard_normal((20_000, 32)).astype(np.float32)
rows[: int(len(rows) * float(sys.argv[1]))] = rows[0]
queries = rng.standard_normal((6_000, 32)).astype(np.float32)
index = VectorIndex(32)
index.add(rows)
index.search(queries[0], 10)
before = most()
ids, scores = index.search(queries, 10, threads=2)
print(most() - before)
for at in range(0, 6_000, 1_500):
    alone = index.search(queries[at], 10)
    assert (ids[at] == alone[0]).all() and (scores[at] == alone[1]).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize("equal", [0, 0.001, 0.5, 1])
def test_a_batch_takes_no_more_memory_where_rows_are_equal(equal):
    done = subprocess.run(
        [sys.executable, "-c", GROWN, str(equal)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 128 << 20
