"""Embedded vectors, keyed by the hash of their text: spaces, storage, and missing texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet.model.vector import Space
from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables.fragments import FINDABLE, THESE, searchable, vector_key
from septet.sqlite.tables.marks import set_value, value_of
from septet.sqlite.tables.vectors import sized, typed_spaces
from septet.store.rows import State, StoredVector, TextSpace
from septet.store.rules import joined

if TYPE_CHECKING:
    from numpy.typing import NDArray

PAGE_ROWS = 5_000

_SPACE = "SELECT space, model, dimensions, keyed_by, 0 FROM spaces WHERE keyed_by = 'text'"
#: Condition of orphaned vectors; staged chunks have vectors before they are entries.
_NO_TEXT = "key NOT IN (SELECT text_hash FROM entries WHERE live UNION ALL SELECT text_hash FROM staged)"


def text_spaces(read: SqliteReading | SqliteWriting) -> list[TextSpace]:
    states: Mapping[str, State] = dict(read.sql.execute("SELECT key, value FROM meta WHERE key GLOB 'state:*'"))
    spaces = []
    for space in typed_spaces(read.sql.execute(f"{_SPACE} ORDER BY space DESC")):
        first = read.sql.execute("SELECT 1 FROM vectors WHERE space = ? LIMIT 1", (space.space,)).fetchone()
        spaces.append(TextSpace(space, states.get(f"state:{space.space}", "left"), first is not None))
    return spaces


def find_space(read: SqliteReading | SqliteWriting, model: str, dimensions: int | None = None) -> Space | None:
    sql = f"{_SPACE} AND model = ? AND (? IS NULL OR dimensions = ?) ORDER BY space DESC"
    row = read.sql.execute(sql, (model, dimensions, dimensions)).fetchone()
    return None if row is None else typed_spaces([row])[0]


def make_space(write: SqliteWriting, model: str, dimensions: int, now: float, pooling: str | None = None) -> Space:
    space = find_space(write, model, dimensions)
    if space is None:
        write.sql.execute(
            "INSERT INTO spaces (model, dimensions, keyed_by, created_at) VALUES (?, ?, 'text', ?)",
            (model, dimensions, now),
        )
        add_index(write)
        space = Space._make(write.sql.execute(f"{_SPACE} ORDER BY space DESC").fetchone())
        begin(write, space)
        if pooling is not None:
            set_pooling(write, space, pooling)
    return space


def begin(write: SqliteWriting, space: Space) -> None:
    everything = text_spaces(write)
    if any(t.space == space and t.state in ("left", "standby") for t in everything):
        others = any(t.state == "active" and t.has_vectors for t in everything)
        move(write, space, "filling" if others else "active")


def add_index(write: SqliteWriting) -> None:
    write.sql.execute("CREATE INDEX IF NOT EXISTS entries_by_text ON entries (text_hash, kind, live) WHERE live")


def is_left(read: SqliteReading | SqliteWriting, space: Space) -> bool:
    return any(t.space == space and t.state == "left" for t in text_spaces(read))


def move(write: SqliteWriting, space: Space, state: State) -> None:
    set_value(write, f"state:{space.space}", state)


def put(write: SqliteWriting, space: Space, keys: Sequence[str], vectors: NDArray[np.float32]) -> int:
    rows = vectors.astype("<f4", copy=False)
    return write.sql.executemany(
        "INSERT INTO vectors (space, key, vector, generation) VALUES (?, ?, ?, ?) ON CONFLICT (key, space) DO NOTHING",
        [(space.space, key, row.tobytes(), write.generation) for key, row in zip(keys, rows)],
    ).rowcount


#: Texts whose vectors arrived after a generation. Vectors stored with their entries have generation 0.
_LATE = "SELECT l.key FROM vectors l WHERE l.space = ? AND l.generation > 0 AND l.generation > ?"


def late_vectors(read: SqliteReading, space: Space, since: int) -> Iterator[list[StoredVector]]:
    """Yield pages of vectors that arrived after a generation, by the row of a live entry with that text."""
    if read.sql.execute(f"{_LATE} LIMIT 1", (space.space, since)).fetchone() is None:
        return
    # Entries have no index by text: scan them once, not once per vector.
    rows = read.sql.execute(
        "SELECT e.row, v.vector FROM entries e CROSS JOIN vectors v ON v.key = e.text_hash AND v.space = ? "
        f"WHERE e.live AND e.text_hash IN ({_LATE})",
        (space.space, space.space, since),
    )
    while page := rows.fetchmany(PAGE_ROWS):
        yield sized(space, page)


def missing(
    read: SqliteReading,
    space: Space | None,
    *,
    memories: bool = False,
    beside: Sequence[Space] = (),
    after: str,
    limit: int,
) -> list[tuple[str, str]]:
    sql = (
        "SELECT e.text_hash, e.title, e.description, e.context FROM entries e "
        f"WHERE {_lacking(memories, 1 + len(beside))} "
        "AND e.text_hash > ? GROUP BY e.text_hash ORDER BY e.text_hash LIMIT ?"
    )
    rows = read.sql.execute(sql, (_number(space), *map(_number, beside), after, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def lacking(read: SqliteReading | SqliteWriting, space: Space | None, keys: Sequence[str]) -> list[str]:
    if space is None:
        return list(keys)
    sql = "SELECT v.key FROM json_each(?) j JOIN vectors v ON v.key = j.value AND v.space = ?"
    there = {key for (key,) in read.sql.execute(sql, (json.dumps(list(keys)), space.space))}
    return [key for key in keys if key not in there]


def of_keys(read: SqliteReading, keys: Sequence[str], *, memories: bool = False) -> dict[str, str]:
    sql = (
        "SELECT e.text_hash, e.title, e.description, e.context FROM json_each(?) j JOIN entries e "
        f"ON e.text_hash = j.value WHERE {searchable(memories)} GROUP BY e.text_hash"
    )
    return {key: joined(parts) for key, *parts in read.sql.execute(sql, (json.dumps(list(keys)),))}


def count_missing(
    read: SqliteReading | SqliteWriting, space: Space | None, *, memories: bool = False, beside: Sequence[Space] = ()
) -> int:
    sql = f"SELECT count(DISTINCT e.text_hash) FROM entries e WHERE {_lacking(memories, 1 + len(beside))}"
    return int(read.sql.execute(sql, (_number(space), *map(_number, beside))).fetchone()[0])


def coverage(read: SqliteReading, space: Space, *, memories: bool = False) -> tuple[int, int]:
    sql = (
        "SELECT count(v.key), count(*) FROM entries e "
        f"LEFT JOIN vectors v ON v.key = {vector_key(space.keyed_by)} AND v.space = ? WHERE {searchable(memories)}"
    )
    entries, total = read.sql.execute(sql, (space.space,)).fetchone()
    return int(entries), int(total) - int(entries)


def empty(write: SqliteWriting, space: Space, most: int) -> int:
    count = write.sql.execute(
        "DELETE FROM vectors WHERE row IN (SELECT row FROM vectors WHERE space = ? AND generation > 0 LIMIT ?)",
        (space.space, most),
    ).rowcount
    _note_removal(write, space)
    return count


def pooling(read: SqliteReading | SqliteWriting, space: Space) -> str | None:
    name = value_of(read, f"pooling:{space.space}")
    return None if name is None else str(name)


def set_pooling(write: SqliteWriting, space: Space, name: str) -> None:
    set_value(write, f"pooling:{space.space}", name)


def embedded(read: SqliteReading, space: Space, *, over_bytes: int, after: str, limit: int) -> list[tuple[str, str]]:
    size = " + ".join(f"length(CAST(e.{part} AS BLOB))" for part in ("title", "description", "context"))
    sql = (
        "SELECT e.text_hash, e.title, e.description, e.context FROM entries e JOIN vectors v ON v.key = e.text_hash "
        f"AND v.space = ? WHERE {FINDABLE} AND e.text_hash > ? AND {size} > ? "
        "GROUP BY e.text_hash ORDER BY e.text_hash LIMIT ?"
    )
    # Up to two line ends join the three fields.
    rows = read.sql.execute(sql, (space.space, after, over_bytes - 2, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def forget(write: SqliteWriting, space: Space, keys: Sequence[str]) -> None:
    write.sql.execute(
        f"DELETE FROM vectors WHERE space = ? AND (key IN {THESE} OR {_NO_TEXT})", (space.space, json.dumps(list(keys)))
    )
    _note_removal(write, space)


def emptied_at(read: SqliteReading, space: Space) -> int:
    """Return the generation in which vectors of a space were last removed; 0 if none were."""
    row = read.sql.execute("SELECT value FROM meta WHERE key = ?", (f"emptied:{space.space}",)).fetchone()
    # As in `entries.purged_at`.
    return 0 if row is None else row[0] if type(row[0]) is int else read.generation


def left_spaces(read: SqliteReading) -> list[Space]:
    return [t.space for t in text_spaces(read) if t.state == "left" and t.has_vectors]


def drop_orphans(write: SqliteWriting) -> int:
    """Remove the vectors of deleted texts; return their number."""
    return write.sql.execute(
        f"DELETE FROM vectors WHERE space IN (SELECT space FROM spaces WHERE keyed_by = 'text') AND {_NO_TEXT}"
    ).rowcount


def _note_removal(write: SqliteWriting, space: Space) -> None:
    # The space keeps its number; older snapshots must reload its vectors.
    set_value(write, f"emptied:{space.space}", write.generation)


def _lacking(memories: bool, spaces: int = 1) -> str:
    # One condition per space, each answered by the index over keys and spaces.
    without = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key = e.text_hash AND v.space = ?)"
    return " AND ".join((searchable(memories), *[without] * spaces))


def _number(space: Space | None) -> int:
    return -1 if space is None else space.space
