"""Searches from several threads, on all cores."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

from race import Competitor, Run, medians, race, timed
from septet import Vault
from table import Row, at_least, faster, plain
from vaults import Asked, prepared, questions, warm

TITLE = "Several threads"
ABOUT = (
    "Hybrid searches with full results from one vault, two cores; each thread gets what a single one got, and a batch "
    "what single searches got."
)
THREADS = 4
CORES = 2
#: Searches of each thread in a round, and rounds.
SEARCHES, ROUNDS = 200, 9
ENTRIES = 100_000


#: Threads that search by themselves, and what share of the cores they must use at least.
MANY, SHARE = 8, 0.8
#: Entries, and how many times the rate of single searches `search_many` must reach.
BATCHES = {10_000: 3.0, 100_000: None}


def sizes(run: Run) -> list[int]:
    return [run.entries(n) for n in BATCHES]


def rows(run: Run) -> Iterator[Row]:
    on = min(CORES, len(os.sched_getaffinity(0)))
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    asked = questions(path)
    with Vault(path) as vault:
        warm(vault, asked[0])
        wanted = [search(vault, question) for question in asked]
        alone = [timed(lambda q=q: search(vault, q))[0] for q in asked]

        def work(thread: int, threads: int) -> None:
            for i in range(SEARCHES):
                at = (i + thread * len(asked) // threads) % len(asked)
                assert search(vault, asked[at]) == wanted[at]

        rates: dict[int, list[float]] = {1: [], THREADS: [], MANY: []}
        for _ in range(ROUNDS):
            for threads, found in rates.items():
                # One thread on one core: its scans must not borrow the other.
                with every_thread_on(1 if threads == 1 else on), ThreadPoolExecutor(threads) as pool:
                    start = time.perf_counter()
                    list(pool.map(work, range(threads), [threads] * threads))
                    found.append(threads * SEARCHES / (time.perf_counter() - start))
    yield plain(f"hybrid, {n:,} entries, one asking thread, {on} cores, p50", median(alone))
    yield at_least(f"hybrid, {n:,} entries, {THREADS} threads on {on} cores", median(rates[THREADS]), 800, "q/s")
    name = f"hybrid, {n:,} entries, {MANY} threads on {on} cores, times one thread on one core"
    yield at_least(name, median(rates[MANY]) / median(rates[1]), SHARE * on, "x")
    for size, bar in BATCHES.items():
        yield from batches(run, run.entries(size), on, bar)


@contextmanager
def every_thread_on(n: int) -> Iterator[None]:
    """Pin all threads of the process to ``n`` cores, native helpers too."""
    everything = sorted(os.sched_getaffinity(0))

    def pin(to: list[int]) -> None:
        for thread in Path("/proc/self/task").iterdir():
            # A thread may end in between.
            with suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread.name), to)

    pin(everything[:n])
    try:
        yield
    finally:
        pin(everything)


def batches(run: Run, n: int, on: int, bar: float | None) -> Iterator[Row]:
    """Compare `search_many` with as many single searches, and two of its threads with one."""
    path = prepared(run.folder, n)
    asked = questions(path)
    texts, vectors = [q.text for q in asked], [q.vector for q in asked]
    with Vault(path, clock=lambda: 2e9) as vault:
        warm(vault, asked[0])

        def many(threads: int) -> list[list[str]]:
            return [r.ids for r in vault.search_many(texts, query_vectors=vectors, limit=10, threads=threads)]

        wanted = [search(vault, question) for question in asked]
        who = [
            Competitor("single", lambda _: [search(vault, question) for question in asked]),
            Competitor("one", lambda _: many(1)),
            Competitor("all", lambda _: many(on)),
        ]

        def check(_: object, name: str, found: list[list[str]]) -> None:
            assert found == wanted, name

        middle = medians(race(who, [None], run.rounds(15), check=check))
    name = f"search_many, {n:,} entries, {len(asked)} queries, {on} threads"
    yield faster(name, middle["all"], middle["single"], "single searches", bar)
    yield faster(name, middle["all"], middle["one"], "one thread", 1.9 if on > 1 else None)


def search(vault: Vault, asked: Asked) -> list[str]:
    return vault.search(asked.text, query_vector=asked.vector, limit=10).ids


if __name__ == "__main__":
    from run import main

    main(["--only", "threads"])
