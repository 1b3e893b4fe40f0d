"""Vectors addressed by the text they describe, which arrive after their entries: spaces, storing, what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from septet.storage.store import Reading, Writing
from septet.storage.vectors import Space

__all__ = ["drop_orphans", "emptied_at", "empty", "find_space", "make_space", "put"]

_SPACE = "SELECT space, model, dimensions, keyed_by, 0 FROM spaces WHERE keyed_by = 'text' AND model = ?"


def find_space(read: Reading | Writing, model: str, dimensions: int | None = None) -> Space | None:
    """Return the space of a model's vectors, the newest when the dimension is not named; None without any."""
    sql = f"{_SPACE} AND (? IS NULL OR dimensions = ?) ORDER BY space DESC"
    found = read.sql.execute(sql, (model, dimensions, dimensions)).fetchone()
    return None if found is None else Space._make(found)


def make_space(write: Writing, model: str, dimensions: int, now: float) -> Space:
    """Return the space of a model's vectors of so many dimensions, made if need be."""
    write.sql.execute(
        "INSERT INTO spaces (model, dimensions, keyed_by, created_at) VALUES (?, ?, 'text', ?) ON CONFLICT DO NOTHING",
        (model, dimensions, now),
    )
    # Who has no embedder does not pay for it: only texts are looked up by their hash.
    write.sql.execute("CREATE INDEX IF NOT EXISTS entries_by_text ON entries (text_hash) WHERE live")
    return Space._make(write.sql.execute(f"{_SPACE} AND dimensions = ?", (model, dimensions)).fetchone())


def put(write: Writing, space: Space, keys: Sequence[str], vectors: NDArray[np.float32]) -> int:
    """Store the vectors ``(n, d)`` of texts by their hashes, keep those that are there, and return how many are new."""
    rows = vectors.astype("<f4", copy=False)
    return write.sql.executemany(
        "INSERT INTO vectors (space, key, vector, generation) VALUES (?, ?, ?, ?) ON CONFLICT (key, space) DO NOTHING",
        [(space.space, key, row.tobytes(), write.generation) for key, row in zip(keys, rows)],
    ).rowcount


def empty(write: Writing, space: Space) -> int:
    """Remove every vector of a space and return how many there were."""
    gone = write.sql.execute("DELETE FROM vectors WHERE space = ?", (space.space,)).rowcount
    # Its number stays taken, and snapshots older than this must load the vectors of texts anew.
    write.sql.execute("INSERT OR REPLACE INTO meta VALUES ('emptied', ?)", (write.generation,))
    return gone


def emptied_at(read: Reading) -> int:
    """Return the generation in which a space was last emptied, 0 when none was."""
    found = read.sql.execute("SELECT value FROM meta WHERE key = 'emptied'").fetchone()
    return 0 if found is None else int(found[0])


def drop_orphans(write: Writing) -> int:
    """Remove the vectors of texts that no entry has any more and return how many there were."""
    return write.sql.execute(
        "DELETE FROM vectors WHERE space IN (SELECT space FROM spaces WHERE keyed_by = 'text') "
        "AND key NOT IN (SELECT text_hash FROM entries WHERE live)"
    ).rowcount
