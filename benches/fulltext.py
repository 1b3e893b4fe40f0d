"""Full text: the best 30 of 100,000 entries by FTS5 and from memory, the same rows and scores, in turns.

``python benches/fulltext.py [ENTRIES]``
"""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from corpus import FUNCTION_WORDS, make
from septet import _core

WANTED = 30
QUERIES = 40
PAGE_ROWS = 5_000
WEIGHTS = (0.0, 10.0, 5.0, 2.0, 3.0)
COLUMNS = "id, title, description, context, tags"


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


class Tables:
    """The same entries in SQLite and in memory."""

    def __init__(self, n: int) -> None:
        self.corpus = make(n, dimensions=2, queries=QUERIES)
        fields = ("id", "title", "description", "context")
        rows = [(*(e[f] for f in fields), json.dumps(e["tags"])) for e in self.corpus.entries]
        self.sql = sqlite3.connect(":memory:")
        self.sql.execute(f"CREATE TABLE entries (row INTEGER PRIMARY KEY, {COLUMNS}, live DEFAULT 1)")
        self.sql.executemany(f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?)", rows)
        self.sql.execute(
            f"CREATE VIRTUAL TABLE f USING fts5({COLUMNS}, content = 'entries', content_rowid = 'row', "
            "tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        fill = f"INSERT INTO f (rowid, {COLUMNS}) SELECT row, {COLUMNS} FROM entries"
        self.fts5_s, _ = timed(lambda: self.sql.execute(fill))
        self.index = _core.TextIndex(5)
        pages = range(0, n, PAGE_ROWS)
        self.append_s, _ = timed(lambda: [self.index.append(rows[i : i + PAGE_ROWS]) for i in pages])
        self.statistics = self.index.statistics(np.arange(n))
        self.mask = np.ones(n, dtype=bool)
        self.rows = np.arange(1, n + 1)

    def by_fts5(self, terms: Sequence[str]) -> list[tuple[int, float]]:
        match = " OR ".join(f'"{t}"' for t in terms)
        ranked = f"SELECT rowid AS row, -bm25(f, {', '.join(map(repr, WEIGHTS))}) AS score FROM f WHERE f MATCH ?"
        sql = f"SELECT t.row, t.score FROM ({ranked}) t JOIN entries e ON e.row = t.row WHERE e.live"
        return self.sql.execute(f"{sql} ORDER BY t.score DESC, t.row LIMIT ?", (match, WANTED)).fetchall()

    def from_memory(self, terms: Sequence[str]) -> list[tuple[int, float]]:
        parts = [(self.index, self.statistics, np.array(WEIGHTS))]
        slots, scores, _ = _core.bm25_top_k(parts, terms, WANTED, self.mask, ties=self.rows)
        return list(zip(self.rows[slots].tolist(), scores.tolist()))

    def questions(self) -> dict[str, list[list[str]]]:
        rng = random.Random(7)
        rare = [t.decode() for t, rows in self.statistics.to_dict().items() if 3 <= rows <= 60]
        # A stem is asked for only where stemming it again changes nothing.
        rare = sorted(t for t in rare if _core.index_terms(t) == [t.encode()])
        return {
            "5 natural words": [query.split()[:5] for query in self.corpus.queries],
            "5 rare words": [rng.sample(rare, 5) for _ in range(QUERIES)],
            "5 function words": [rng.sample(FUNCTION_WORDS, 5) for _ in range(QUERIES)],
        }


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    tables = Tables(n)
    print(f"{n:,} entries: FTS5 takes {n / tables.fts5_s:,.0f} a second, memory {n / tables.append_s:,.0f}")
    for name, questions in tables.questions().items():
        times: list[tuple[float, float]] = []
        for terms in questions:
            slow, wanted = timed(lambda terms=terms: tables.by_fts5(terms))
            fast, found = timed(lambda terms=terms: tables.from_memory(terms))
            assert found == wanted, terms
            times.append((slow, fast))
        slow, fast = (statistics.median(column) * 1e3 for column in zip(*times))
        print(f"{name:>18}: FTS5 {slow:8.3f} ms   memory {fast:7.3f} ms   {slow / fast:6.0f} x")


if __name__ == "__main__":
    main()
