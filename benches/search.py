"""Whole searches and single writes, at growing sizes, on one core.

python benches/search.py [--large]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median

import numpy as np

from plain_search import plain_search
from race import Competitor, Run, cores, medians, race, timed
from septet import Vault
from table import Row, at_most, faster, plain
from vaults import Asked, prepared, questions, warm

TITLE = "Whole searches"
ABOUT = (
    "`Vault.search` with full results, limit 10: full text, 384 dimensions, seven signals; everything in memory; one "
    "core. The same question gave the same results before full text was in memory, by FTS5."
)
SEARCHES = 1_000
WRITES = 100
#: Entries, and the longest wanted times in milliseconds: the median and the 99th percentile.
LIMITS: dict[int, tuple[float, float | None]] = {10_000: (0.45, None), 100_000: (2.0, 5.0), 1_000_000: (20.0, None)}


def sizes(run: Run) -> list[int]:
    return [run.entries(n) for n in LIMITS if run.large or n < 1_000_000]


def rows(run: Run) -> Iterator[Row]:
    hybrid: dict[int, float] = {}
    for n, limits in zip(sizes(run), LIMITS.values()):
        path = prepared(run.folder, n)
        asked = questions(path)
        with Vault(path) as vault:
            by_fts5 = vault.search(asked[0].text, query_vector=asked[0].vector, limit=10).ids
            warm(vault, asked[0])
            assert vault.search(asked[0].text, query_vector=asked[0].vector, limit=10).ids == by_fts5
            for row in (*searches(vault, n, asked, limits), *writes(vault, n, asked)):
                yield row
                if row.name == median_of(n):
                    hybrid[n] = row.ours
    small = sizes(run)[0]
    for n in sizes(run)[1:]:
        name = f"hybrid, from {small:,} to {n:,} entries: time beside linear growth"
        yield faster(name, hybrid[n], hybrid[small] * n / small, "linear growth", 1.0)
    yield from beside_plain_python(run)
    yield from beside_lancedb(run)


def median_of(n: int) -> str:
    return f"hybrid, {n:,} entries, p50"


def searches(vault: Vault, n: int, asked: list[Asked], limits: tuple[float, float | None]) -> Iterator[Row]:
    at_50, at_99 = limits
    times = every(asked, lambda q: vault.search(q.text, query_vector=q.vector, limit=10), SEARCHES)
    yield at_most(median_of(n), median(times), at_50)
    tail, name = float(np.percentile(times, 99)), f"hybrid, {n:,} entries, p99"
    yield plain(name, tail) if at_99 is None else at_most(name, tail, at_99)
    kinds: dict[str, Callable[[Asked], object]] = {
        "text alone": lambda q: vault.search(q.text, limit=10),
        "hybrid, light results": lambda q: vault.search(q.text, query_vector=q.vector, limit=10, mode="scan"),
        "hybrid, one domain of 20": lambda q: vault.search(q.text, query_vector=q.vector, limit=10, domain="domain3"),
    }
    for name, ask in kinds.items():
        yield plain(f"{name}, {n:,} entries, p50", median(every(asked, ask, SEARCHES // 5)))


def every(asked: list[Asked], ask: Callable[[Asked], object], calls: int) -> list[float]:
    return [timed(lambda i=i: ask(asked[i % len(asked)]))[0] for i in range(calls)]


def writes(vault: Vault, n: int, asked: list[Asked]) -> Iterator[Row]:
    """Search, add an entry, search for it: what the second search takes more is what the entry costs it."""
    adds, more = [], []
    for i in range(WRITES):
        question, new = asked[i % len(asked)], f"new{i}"
        text = f"brandnew{i} {question.text}"

        def search(text: str = text, question: Asked = question) -> list[str]:
            return vault.search(text, query_vector=question.vector, limit=10).ids

        search()
        before, ids = timed(search)
        assert new not in ids
        entry = {"id": new, "title": text, "description": "some text here", "vector": question.vector}
        adds.append(timed(lambda entry=entry: vault.add(**entry))[0])
        after, ids = timed(search)
        assert ids[0] == new, f"{new} was not found"
        more.append(after - before)
    for i in range(WRITES):
        vault.delete(f"new{i}")
    vault.purge()
    yield at_most(f"one add, {n:,} entries, p50", median(adds), 1.0)
    yield at_most(f"extra time of the search that finds it, {n:,} entries, p50", median(more), 1.0)


def beside_plain_python(run: Run) -> Iterator[Row]:
    """FTS5, numpy and reciprocal ranks, on one core as we."""
    n = run.entries(100_000)
    path = prepared(run.folder, n)
    asked = questions(path)
    with cores(1), Vault(path) as vault:
        warm(vault, asked[0])
        ours = Competitor("septet", lambda q: vault.search(q.text, query_vector=q.vector, limit=10).ids)
        middle = medians(race([ours, plain_search(n)], asked, run.rounds(50), check=ten))
    name = f"hybrid, {n:,} entries, one core"
    yield faster(name, middle["septet"], middle["plain"], "FTS5, numpy, reciprocal ranks", 45)


def beside_lancedb(run: Run) -> Iterator[Row]:
    """Another embedded hybrid search. Its ranking is another one, so its answers cannot be compared with ours."""
    try:
        from lancedb_peer import hybrid
    except ImportError:
        return
    n = run.entries(100_000)
    path = prepared(run.folder, n)
    asked = questions(path)
    with Vault(path) as vault:
        warm(vault, asked[0])
        ours = Competitor("septet", lambda q: vault.search(q.text, query_vector=q.vector, limit=10).ids)
        middle = medians(race([ours, hybrid(Path(run.folder), n)], asked, run.rounds(50), check=ten))
    yield faster(f"hybrid, {n:,} entries", middle["septet"], middle["lancedb"], "lancedb")


def ten(_: Asked, name: str, ids: list[str]) -> None:
    assert len(ids) == 10, name


if __name__ == "__main__":
    from run import main

    main(["--only", "search", *sys.argv[1:]])
