"""Searches from several threads, on all cores."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from statistics import median

from race import Run, timed
from septet import Vault
from table import Row, at_least, plain
from vaults import Asked, prepared, questions, warm

TITLE = "Several threads"
ABOUT = "Hybrid searches with full results from one vault, two cores; each thread gets what a single one got."
THREADS = 4
CORES = 2
SEARCHES = 500
ENTRIES = 100_000


def sizes(run: Run) -> list[int]:
    return [run.entries(ENTRIES)]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    asked = questions(path)
    with Vault(path) as vault:
        warm(vault, asked[0])
        wanted = [search(vault, question) for question in asked]
        alone = [timed(lambda q=q: search(vault, q))[0] for q in asked]

        def work(thread: int) -> None:
            for i in range(SEARCHES):
                at = (i + thread * len(asked) // THREADS) % len(asked)
                assert search(vault, asked[at]) == wanted[at]

        rates = []
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in range(3):
                start = time.perf_counter()
                list(pool.map(work, range(THREADS)))
                rates.append(THREADS * SEARCHES / (time.perf_counter() - start))
    on = min(CORES, len(os.sched_getaffinity(0)))
    yield plain(f"hybrid, {n:,} entries, one asking thread, {on} cores, p50", median(alone))
    yield at_least(f"hybrid, {n:,} entries, {THREADS} threads on {on} cores", median(rates), 800, "q/s")


def search(vault: Vault, asked: Asked) -> list[str]:
    return vault.search(asked.text, query_vector=asked.vector, limit=10).ids


if __name__ == "__main__":
    from run import main

    main(["--only", "threads"])
