"""Whole searches and writes at growing sizes. Prints a table; `make bench` runs it after the kernels.

python benches/search.py [--sizes 1000 10000 100000]
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import numpy as np

import corpus
from septet import Vault, _core

SEARCHES = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    sizes = parser.parse_args().sizes
    print(f"kernel {_core.kernel()}, {os.cpu_count()} cores, SQLite {sqlite3.sqlite_version}; milliseconds, medians")
    header = f"{'entries':>8} {'text':>8} {'hybrid':>8} {'p95':>8} {'scan':>8} {'filter':>8} {'add':>8} {'found':>8}"
    print(header + f" {'rows/s':>8} {'+vec/s':>8} {'fts5/s':>8} {'open':>8}")
    for size in sizes:
        print(measure(size), flush=True)


def measure(size: int) -> str:
    data = corpus.make(size)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.db"
        with Vault(path) as vault:
            plain = rate(lambda: vault.add_many(data.entries), size)
        path.unlink()
        bare = rate(lambda: load_bare(data, Path(folder) / "bare.db"), size)
        with Vault(path) as vault:
            withs = [{**e, "vector": v} for e, v in zip(data.entries, data.vectors)]
            loaded = rate(lambda: vault.add_many(withs), size)
        with Vault(path) as vault:
            first = timed(lambda: vault.search(data.queries[0], query_vector=data.query_vectors[0], limit=10))
            warm(vault, data)
            return row(vault, data, size, first, plain, loaded, bare)


def warm(vault: Vault, data: corpus.Corpus) -> None:
    """Search until full text is ranked from memory: the background builds it after the first searches."""
    while True:
        vault.search(data.queries[0], limit=10)
        newest = vault._tier.keeper._newest
        if newest is not None and newest.postings is not None:
            return
        time.sleep(0.05)


def row(vault: Vault, data: corpus.Corpus, size: int, first: float, plain: float, loaded: float, bare: float) -> str:
    asked = list(zip(data.queries, data.query_vectors))[:SEARCHES]
    text = [timed(lambda q=q: vault.search(q, limit=10)) for q, _ in asked]
    hybrid = [timed(lambda q=q, v=v: vault.search(q, query_vector=v, limit=10)) for q, v in asked]
    scan = [timed(lambda q=q, v=v: vault.search(q, query_vector=v, limit=10, mode="scan")) for q, v in asked]
    narrow = [timed(lambda q=q, v=v: vault.search(q, query_vector=v, limit=10, domain="domain3")) for q, v in asked]
    adds, found = [], []
    for i in range(20):
        adds.append(timed(lambda i=i: vault.add(id=f"new{i}", title=f"brandnew{i} word", description="some text here")))
        found.append(timed(lambda i=i: check(vault, f"brandnew{i}", f"new{i}")))
    cells = [*map(median, (text, hybrid)), float(np.percentile(hybrid, 95)), *map(median, (scan, narrow, adds, found))]
    return (
        f"{size:>8} " + " ".join(f"{c:8.2f}" for c in cells) + f" {plain:8.0f} {loaded:8.0f} {bare:8.0f} {first:8.1f}"
    )


def check(vault: Vault, query: str, wanted: str) -> None:
    if vault.search(query, limit=10).ids[:1] != [wanted]:
        raise AssertionError(f"{wanted} was not found")


def load_bare(data: corpus.Corpus, path: Path) -> None:
    """The floor: the same rows into one FTS5 table, nothing else."""
    sql = sqlite3.connect(path)
    sql.execute("PRAGMA journal_mode = WAL")
    sql.execute(
        "CREATE VIRTUAL TABLE t USING fts5(id, title, description, context, tags, "
        "tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    rows: Sequence[tuple[str, ...]] = [
        (e["id"], e["title"], e["description"], e["context"], " ".join(e["tags"])) for e in data.entries
    ]
    for start in range(0, len(rows), 1_000):
        with sql:
            sql.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows[start : start + 1_000])
    sql.close()


def rate(work: Callable[[], object], rows: int) -> float:
    return rows / (timed(work) / 1e3)


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds a call takes."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


if __name__ == "__main__":
    main()
