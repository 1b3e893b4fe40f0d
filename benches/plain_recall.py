"""The documented recall as its program does it: SQLite's FTS5, numpy and a dict, in plain Python.

A table of entries and one of FTS5 for each source; words as prefixes, all of them, then fewer, then any; ten of each
source by BM25, for the sources of sessions also the newest first, ten by the cosine of all vectors; what holds the
words as they are written; reciprocal ranks, k 60, ranks from 0. The vectors lie in memory as one array for each source,
which is faster than the program's, who reads them from the table for each query.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.retrieval.recall.recalling import kept_words

LIMIT, K, BOOST, KEPT = 10, 60, 1.5, 3
#: The least number of words of a query that drops some.
LEAST_WORDS = 3
WEIGHTS = {"knowledge": "6.0, 2.0, 3.0"}


class PlainRecall:
    """Entries by source, with vectors; answers questions."""

    def __init__(self, path: Path, entries: Mapping[str, Sequence[tuple[dict[str, Any], NDArray[np.float32]]]]) -> None:
        self._sql = sqlite3.connect(path)
        self._sources = list(entries)
        self._vectors: dict[str, NDArray[np.float32]] = {}
        for source, own in entries.items():
            self._sql.execute(f"CREATE TABLE {source} (row INTEGER PRIMARY KEY, id, title, content, category, at REAL)")
            self._sql.executemany(
                f"INSERT INTO {source} (id, title, content, category, at) VALUES (?, ?, ?, ?, ?)",
                [
                    (e["id"], e["title"], f"{e['description']} {e['context']}", " ".join(e["tags"]), e["created_at"])
                    for e, _ in own
                ],
            )
            columns = f"title, content, category, content = '{source}', content_rowid = 'row'"
            self._sql.execute(f"CREATE VIRTUAL TABLE {source}_f USING fts5({columns}, tokenize = 'porter unicode61')")
            self._sql.execute(f"INSERT INTO {source}_f ({source}_f) VALUES ('rebuild')")
            self._vectors[source] = np.stack([vector for _, vector in own])
        self._sql.commit()

    def ask(self, query: str, vector: NDArray[np.float32]) -> list[tuple[str, float]]:
        """Return the best entries, each with its score; texts are read as the program reads them."""
        terms = kept_words(query)
        lists: list[tuple[list[tuple[str, int]], float]] = []
        rows: dict[tuple[str, int], sqlite3.Row | tuple[Any, ...]] = {}
        for source in self._sources:
            found = self._words(source, terms)
            rows.update({(source, row[0]): row for row in found})
            lists.append(([(source, row[0]) for row in found], 1.0))
            if source != "knowledge":
                newest = sorted(found, key=lambda row: -row[5])
                lists.append(([(source, row[0]) for row in newest], 1.0))
        for source in self._sources:
            near = self._near(source, vector)
            lists.append(([(source, row) for row in near], BOOST if len(terms) > 1 else 1.0))
            missing = [row for row in near if (source, row) not in rows]
            marks = ", ".join("?" * len(missing))
            for row in self._sql.execute(f"SELECT * FROM {source} WHERE row IN ({marks})", missing):
                rows[source, row[0]] = row
        lists.append((_exact(rows, terms), 1.0))
        scores: dict[tuple[str, int], float] = {}
        for keys, weight in lists:
            for rank, key in enumerate(keys):
                scores[key] = scores.get(key, 0.0) + weight / (K + rank)
        best = sorted(scores.items(), key=lambda pair: -pair[1])[: KEPT * LIMIT]
        return [(rows[key][1], score) for key, score in best]

    def close(self) -> None:
        """Close the file."""
        self._sql.close()

    def _words(self, source: str, terms: Sequence[str]) -> list[Any]:
        every = [f'"{term}"*' for term in terms]
        tries = [" ".join(every)]
        dropped = sorted(every, key=len)
        while len(dropped) > LEAST_WORDS:
            dropped = dropped[1:]
            tries.append(" ".join(dropped))
        for match in (*tries, " OR ".join(every)):
            found = self._sql.execute(
                f"SELECT s.* FROM {source}_f f JOIN {source} s ON s.row = f.rowid WHERE {source}_f MATCH ? "
                f"ORDER BY bm25({source}_f, {WEIGHTS.get(source, '1.0, 1.0, 1.0')}) LIMIT {LIMIT}",
                (match,),
            ).fetchall()
            if found:
                return found
        return []

    def _near(self, source: str, vector: NDArray[np.float32]) -> list[int]:
        cosines = self._vectors[source] @ vector
        best = np.argpartition(-cosines, LIMIT)[:LIMIT]
        return (best[np.argsort(-cosines[best])] + 1).tolist()


def _exact(rows: Mapping[tuple[str, int], Any], terms: Sequence[str]) -> list[tuple[str, int]]:
    lower = [term.lower() for term in terms]
    counts = {}
    for key, (_, _, title, content, category, _) in rows.items():
        text = f"{title} {content} {category}".lower()
        counts[key] = sum(term in text for term in lower)
    return sorted((key for key, count in counts.items() if count), key=lambda key: -counts[key])
