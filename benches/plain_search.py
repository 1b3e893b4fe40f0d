"""A hybrid search in plain Python: SQLite's FTS5, one array of numpy, reciprocal ranks.

Texts lie in one FTS5 table in memory, unit vectors in one float32 array; 200 entries of each leg are fused with k 60.
"""

from __future__ import annotations

import sqlite3

import numpy as np

import corpus
from race import Competitor
from vaults import Asked

LEG, LIMIT, K = 200, 10, 60
COLUMNS = ("id", "title", "description", "context")


def plain_search(n: int) -> Competitor:
    """Return this search over the entries of `vaults.prepared`."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE texts USING fts5(id UNINDEXED, title, description, context)")
    blocks = []
    for block in corpus.stream(n):
        values = ([entry[column] for column in COLUMNS] for entry in block.entries)
        connection.executemany("INSERT INTO texts VALUES (?, ?, ?, ?)", values)
        blocks.append(block.vectors)
    vectors = np.concatenate(blocks)

    def ask(asked: Asked) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in asked.text.split())
        text = connection.execute("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank LIMIT ?", (words, LEG))
        cosines = vectors @ asked.vector
        near = np.argpartition(cosines, -LEG)[-LEG:]
        scores: dict[int, float] = {}
        for leg in ([row for (row,) in text], (near[np.argsort(-cosines[near])] + 1).tolist()):
            for rank, row in enumerate(leg):
                scores[row] = scores.get(row, 0.0) + 1 / (K + rank)
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:LIMIT]
        return [connection.execute("SELECT * FROM texts WHERE rowid = ?", (row,)).fetchone()[0] for row in best]

    return Competitor("plain", ask)
