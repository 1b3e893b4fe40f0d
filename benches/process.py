"""What a process pays: importing, the first answer, memory. Each is measured in processes of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from race import Run
from septet import Vault
from table import Row, at_most, plain
from vaults import Asked, prepared, questions, warm

TITLE = "A process"
ABOUT = (
    "One core. The first answer is a hybrid search with full results; from the start of the process, less the median "
    "of processes that only import numpy, in turns. Files are in the page cache, and bytecode is there, as pip leaves "
    "it. Memory is what is resident beyond the same process when it had imported numpy."
)
ENTRIES = 100_000
SEARCHES = 1_000
PROCESSES = 9

#: A question comes as arguments: nothing is read or imported for it that a program would not need.
BASE = "import numpy, sys, time, json; question = json.loads(sys.argv[2]); vector = numpy.array(question[1], 'f4')\n"
ANSWER = """from septet import Vault
vault = Vault(sys.argv[1])
ids = vault.search(question[0], query_vector=vector, limit=10).ids
"""
TELL = "print(json.dumps([time.monotonic(), ids]), flush=True)\n"
IMPORT = """import time, numpy, pydantic
start = time.perf_counter()
import septet
print(1e3 * (time.perf_counter() - start))
"""
#: Waits until full text is in memory, as it is in a process that goes on searching.
MEMORY = """import json, sys, time, numpy
from pathlib import Path
def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return {k: int(v.split()[0]) / 1e3 for k, _, v in (l.partition(":") for l in lines) if k in ("VmRSS", "RssFile")}
before = resident()
from septet import Vault
path = Path(sys.argv[1])
texts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
vectors = numpy.load(path.with_suffix(".npy"))
vault = Vault(path)
done = 0
while done < int(sys.argv[2]) or vault._tier.manager.current.postings is None:
    vault.search(texts[done % len(texts)], query_vector=vectors[done % len(texts)], limit=10)
    done += 1
after = resident()
print(json.dumps({key: after[key] - before[key] for key in after}))
"""


def sizes(run: Run) -> list[int]:
    return [run.entries(ENTRIES)]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    times = [float(output(IMPORT)) for _ in range(1 + PROCESSES)][1:]
    yield at_most("import septet, beyond numpy and pydantic", median(times), 20.0)
    yield cold(path, n, PROCESSES)
    used = json.loads(output(MEMORY, str(path), str(SEARCHES)))
    own = used["VmRSS"] - used["RssFile"]
    yield at_most(f"memory of its own after {SEARCHES:,} searches, {n:,} entries", own, 40.0, "MB")
    yield plain("resident of mapped files, which processes share", used["RssFile"], "MB")


def cold(path: Path, n: int, rounds: int) -> Row:
    asked = questions(path)[:rounds]
    with Vault(path) as vault:
        warm(vault, asked[0])
        wanted = [vault.search(q.text, query_vector=q.vector, limit=10).ids for q in asked]
    beside = Path(f"{path}.septet").exists()
    until_told(ANSWER, path, asked[0], wanted[0])
    first_ms, numpy_ms = [], []
    for question, ids in zip(asked, wanted):
        numpy_ms.append(until_told("ids = []\n", path, question, []))
        first_ms.append(until_told(ANSWER, path, question, ids))
    name = f"first answer, {n:,} entries, {'with' if beside else 'WITHOUT'} a sidecar"
    return at_most(name, median(first_ms) - median(numpy_ms), 60.0)


def until_told(program: str, path: Path, asked: Asked, wanted: list[str]) -> float:
    """Return the milliseconds from starting a process to its answer; the clock is one for all processes."""
    question = json.dumps([asked.text, asked.vector.tolist()])
    start = time.monotonic()
    told, ids = json.loads(output(BASE + program + TELL, str(path), question))
    assert ids == wanted
    return float(1e3 * (told - start))


def output(program: str, *arguments: str) -> Any:
    command = [sys.executable, "-c", program, *arguments]
    # A setting that forbids writing bytecode would have every process compile the sources, which no user pays for.
    setting = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=setting).stdout


if __name__ == "__main__":
    from run import main

    main(["--only", "process"])
