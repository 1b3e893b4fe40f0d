"""A process that opens a vault, asks once, and asks a thousand times: what it waits for, and the memory it takes.

``python benches/cold.py [ENTRIES]``
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import corpus
from septet import Vault

RUNS = 7
SEARCHES = 1_000
QUERIES = 200

#: Prints milliseconds and megabytes as JSON; what is imported before the clock starts is not counted.
PROCESS = """
import json, sys, time
import numpy as np
def memory_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))
empty = memory_mb()
folder, searches, vectors = sys.argv[1], int(sys.argv[2]), np.load(sys.argv[1] + "/queries.npy")
with open(folder + "/queries.json") as file:
    queries = json.load(file)
started = time.perf_counter()
if sys.argv[3] == "pydantic":
    from pydantic import BaseModel, ConfigDict, Field, model_validator
    started = time.perf_counter()
import septet
imported = time.perf_counter()
from septet import Vault
if sys.argv[3] == "imported":
    started = time.perf_counter()
vault = Vault(folder + "/bench.db")
found = vault.search(queries[0], query_vector=vectors[0], limit=10)
first = time.perf_counter()
assert len(found) == 10 and not found.notes, found.notes
for i in range(searches):
    vault.search(queries[i % len(queries)], query_vector=vectors[i % len(queries)], limit=10)
print(json.dumps([1e3 * (imported - started), 1e3 * (first - started), memory_mb() - empty]))
"""


def rows(n: int) -> list[tuple[str, float, float | None]]:
    """Return (what, figure, bar) with a sidecar, and the first search without one; medians of processes."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), n)
        cold = [process(folder, 0, "") for _ in range(RUNS)]
        light = [process(folder, 0, "pydantic") for _ in range(RUNS)]
        ready = [process(folder, 0, "imported") for _ in range(RUNS)]
        full = [process(folder, SEARCHES, "") for _ in range(3)]
        for file in Path(folder, "bench.db.septet").iterdir():
            file.unlink()
        without = [process(folder, 0, "") for _ in range(3)]
    return [
        ("import septet, beyond numpy and pydantic, ms", median(r[0] for r in light), 20),
        ("first answer, beyond import numpy, ms", median(r[1] for r in cold), 60),
        ("... of that, opening and searching, ms", median(r[1] for r in ready), None),
        ("first answer without a sidecar, ms", median(r[1] for r in without), None),
        (f"memory after {SEARCHES:,} searches, beyond numpy, MB", median(r[2] for r in full), 150),
        ("memory after one search, beyond numpy, MB", median(r[2] for r in cold), None),
    ]


def prepare(folder: Path, n: int) -> None:
    data = corpus.make(n, queries=QUERIES)
    with Vault(folder / "bench.db") as vault:
        vault.add_many({**e, "vector": v} for e, v in zip(data.entries, data.vectors))
        vault.optimize()
    np.save(folder / "queries.npy", data.query_vectors)
    (folder / "queries.json").write_text(json.dumps(data.queries))


def process(folder: str, searches: int, before: str) -> Any:
    command = [sys.executable, "-c", PROCESS, folder, str(searches), before]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    print(f"{n:,} entries, 384 dimensions, hybrid searches")
    for what, figure, bar in rows(n):
        print(f"{what:>55} {figure:8.1f}" + ("" if bar is None else f"   bar {bar:g}"))


if __name__ == "__main__":
    main()
