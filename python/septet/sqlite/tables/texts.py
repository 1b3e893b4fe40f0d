"""Vectors addressed by the text they describe, which arrive after their entries: spaces, storing, what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.model.spaces import Space
from septet.sqlite.store.store import Reading, Writing
from septet.sqlite.tables.fragments import FINDABLE, SEARCHABLE, vector_key
from septet.sqlite.tables.vectors import StoredVector, sized, typed_spaces

__all__ = [
    "State",
    "TextSpace",
    "add_index",
    "begin",
    "count_missing",
    "coverage",
    "drop_orphans",
    "embedded",
    "emptied_at",
    "empty",
    "find_space",
    "forget",
    "is_left",
    "joined",
    "lacking",
    "late_vectors",
    "left_spaces",
    "make_space",
    "missing",
    "move",
    "of_keys",
    "pooling",
    "put",
    "set_pooling",
    "text_spaces",
]

PAGE_ROWS = 5_000

#: ``active`` spaces answer searches; a ``filling`` one will when it has a vector of every text; one on ``standby`` is a
#: fallback's, and answers while the models before it do not; one that was ``left`` is of a model no longer used.
State: TypeAlias = Literal["filling", "active", "standby", "left"]

_SPACE = "SELECT space, model, dimensions, keyed_by, 0 FROM spaces WHERE keyed_by = 'text'"
#: Of vectors that describe nothing: chunks made anew have theirs before they are entries.
_NO_TEXT = "key NOT IN (SELECT text_hash FROM entries WHERE live UNION ALL SELECT text_hash FROM staged)"


class TextSpace(NamedTuple):
    """A space of vectors by text, what it is used for, and whether it has any vectors yet."""

    space: Space
    state: State
    has_vectors: bool

    @property
    def stands_in(self) -> bool:
        """Whether it has vectors that may answer, or will."""
        return self.has_vectors and self.state in ("active", "filling")


def text_spaces(read: Reading | Writing) -> list[TextSpace]:
    """Return every space of vectors by text, the latest first."""
    states: Mapping[str, State] = dict(read.sql.execute("SELECT key, value FROM meta WHERE key GLOB 'state:*'"))
    spaces = []
    for space in typed_spaces(read.sql.execute(f"{_SPACE} ORDER BY space DESC")):
        first = read.sql.execute("SELECT 1 FROM vectors WHERE space = ? LIMIT 1", (space.space,)).fetchone()
        spaces.append(TextSpace(space, states.get(f"state:{space.space}", "left"), first is not None))
    return spaces


def find_space(read: Reading | Writing, model: str, dimensions: int | None = None) -> Space | None:
    """Return the space of a model's vectors, the latest one when no dimension is named; None without any."""
    sql = f"{_SPACE} AND model = ? AND (? IS NULL OR dimensions = ?) ORDER BY space DESC"
    row = read.sql.execute(sql, (model, dimensions, dimensions)).fetchone()
    return None if row is None else typed_spaces([row])[0]


def make_space(write: Writing, model: str, dimensions: int, now: float, pooling: str | None = None) -> Space:
    """Return the space of a model's vectors of a dimension; make it if there is none.

    Args:
        pooling: how the vectors of long texts in a new space are made.
    """
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


def begin(write: Writing, space: Space) -> None:
    """Let a space be filled (again): left or on standby, it becomes active when no other is, and filling otherwise."""
    everything = text_spaces(write)
    if any(t.space == space and t.state in ("left", "standby") for t in everything):
        others = any(t.state == "active" and t.has_vectors for t in everything)
        move(write, space, "filling" if others else "active")


def add_index(write: Writing) -> None:
    """Make the index over texts, which vaults without an embedder do not pay for, if it is not there."""
    write.sql.execute("CREATE INDEX IF NOT EXISTS entries_by_text ON entries (text_hash, kind, live) WHERE live")


def is_left(read: Reading | Writing, space: Space) -> bool:
    """Say whether a space belongs to a model that is no longer used."""
    return any(t.space == space and t.state == "left" for t in text_spaces(read))


def move(write: Writing, space: Space, state: State) -> None:
    """Give a space another state."""
    write.sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"state:{space.space}", state))


def put(write: Writing, space: Space, keys: Sequence[str], vectors: NDArray[np.float32]) -> int:
    """Store the vectors ``(n, d)`` of texts by their hashes unless they exist; return how many are new."""
    rows = vectors.astype("<f4", copy=False)
    return write.sql.executemany(
        "INSERT INTO vectors (space, key, vector, generation) VALUES (?, ?, ?, ?) ON CONFLICT (key, space) DO NOTHING",
        [(space.space, key, row.tobytes(), write.generation) for key, row in zip(keys, rows)],
    ).rowcount


#: Texts whose vectors came after a generation. Those that came with their entries have generation 0.
_LATE = "SELECT l.key FROM vectors l WHERE l.space = ? AND l.generation > 0 AND l.generation > ?"


def late_vectors(read: Reading, space: Space, since: int) -> Iterator[list[StoredVector]]:
    """Yield pages of vectors that came after a generation, by the row of a live entry with that text."""
    if read.sql.execute(f"{_LATE} LIMIT 1", (space.space, since)).fetchone() is None:
        return
    # Entries have no index by text: they are looked through once, rather than once for each of these vectors.
    rows = read.sql.execute(
        "SELECT e.row, v.vector FROM entries e CROSS JOIN vectors v ON v.key = e.text_hash AND v.space = ? "
        f"WHERE e.live AND e.text_hash IN ({_LATE})",
        (space.space, space.space, since),
    )
    while page := rows.fetchmany(PAGE_ROWS):
        yield sized(space, page)


def missing(
    read: Reading,
    space: Space | None,
    *,
    memories: bool = False,
    beside: Sequence[Space] = (),
    after: str,
    limit: int,
) -> list[tuple[str, str]]:
    """Return live texts that lack a vector in a space: hash and text, in the order of the hashes.

    Args:
        space: None for one that does not exist yet: every text lacks its vector.
        memories: those of memories too.
        beside: leave out texts that have a vector in one of these spaces.
        after: only hashes behind this one.
    """
    sql = (
        "SELECT e.text_hash, e.title, e.description, e.context FROM entries e "
        f"WHERE {_lacking(memories, 1 + len(beside))} "
        "AND e.text_hash > ? GROUP BY e.text_hash ORDER BY e.text_hash LIMIT ?"
    )
    rows = read.sql.execute(sql, (_number(space), *map(_number, beside), after, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def lacking(read: Reading | Writing, space: Space | None, keys: Sequence[str]) -> list[str]:
    """Return those of the texts that lack a vector in a space, in their order."""
    if space is None:
        return list(keys)
    sql = "SELECT v.key FROM json_each(?) j JOIN vectors v ON v.key = j.value AND v.space = ?"
    there = {key for (key,) in read.sql.execute(sql, (json.dumps(list(keys)), space.space))}
    return [key for key in keys if key not in there]


def of_keys(read: Reading, keys: Sequence[str], *, memories: bool = False) -> dict[str, str]:
    """Return the texts of live entries by their hashes; those that no entry has any more are left out."""
    sql = (
        "SELECT e.text_hash, e.title, e.description, e.context FROM json_each(?) j JOIN entries e "
        f"ON e.text_hash = j.value WHERE {_embedded(memories)} GROUP BY e.text_hash"
    )
    return {key: joined(parts) for key, *parts in read.sql.execute(sql, (json.dumps(list(keys)),))}


def count_missing(
    read: Reading | Writing, space: Space | None, *, memories: bool = False, beside: Sequence[Space] = ()
) -> int:
    """Return how many live texts, those of memories too if they are embedded, lack a vector in a space.

    Args:
        beside: do not count texts that have a vector in one of these spaces.
    """
    sql = f"SELECT count(DISTINCT e.text_hash) FROM entries e WHERE {_lacking(memories, 1 + len(beside))}"
    return int(read.sql.execute(sql, (_number(space), *map(_number, beside))).fetchone()[0])


def coverage(read: Reading, space: Space, *, memories: bool = False) -> tuple[int, int]:
    """Return how many live entries, memories too if they are embedded, have a vector in a space, and how many none."""
    sql = (
        "SELECT count(v.key), count(*) FROM entries e "
        f"LEFT JOIN vectors v ON v.key = {vector_key(space.keyed_by)} AND v.space = ? WHERE {_embedded(memories)}"
    )
    entries, total = read.sql.execute(sql, (space.space,)).fetchone()
    return int(entries), int(total) - int(entries)


def empty(write: Writing, space: Space, most: int) -> int:
    """Remove at most ``most`` vectors of a space and return how many."""
    count = write.sql.execute(
        "DELETE FROM vectors WHERE row IN (SELECT row FROM vectors WHERE space = ? AND generation > 0 LIMIT ?)",
        (space.space, most),
    ).rowcount
    _note_removal(write, space)
    return count


def pooling(read: Reading | Writing, space: Space) -> str | None:
    """Return how the vectors of long texts in a space are made; None if it was never said."""
    row = read.sql.execute("SELECT value FROM meta WHERE key = ?", (f"pooling:{space.space}",)).fetchone()
    return None if row is None else str(row[0])


def set_pooling(write: Writing, space: Space, name: str) -> None:
    """Note how the vectors of long texts in a space are made."""
    write.sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"pooling:{space.space}", name))


def embedded(read: Reading, space: Space, *, over_bytes: int, after: str, limit: int) -> list[tuple[str, str]]:
    """Return live texts of more bytes that have a vector in a space: hash and text, in the order of the hashes."""
    size = " + ".join(f"length(CAST(e.{part} AS BLOB))" for part in ("title", "description", "context"))
    sql = (
        "SELECT e.text_hash, e.title, e.description, e.context FROM entries e JOIN vectors v ON v.key = e.text_hash "
        f"AND v.space = ? WHERE {FINDABLE} AND e.text_hash > ? AND {size} > ? "
        "GROUP BY e.text_hash ORDER BY e.text_hash LIMIT ?"
    )
    # Two line ends may join the three.
    rows = read.sql.execute(sql, (space.space, after, over_bytes - 2, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def forget(write: Writing, space: Space, keys: Sequence[str]) -> None:
    """Remove the vectors of texts from a space, and those of texts that no entry has any more."""
    write.sql.execute(
        f"DELETE FROM vectors WHERE space = ? AND (key IN (SELECT value FROM json_each(?)) OR {_NO_TEXT})",
        (space.space, json.dumps(list(keys))),
    )
    _note_removal(write, space)


def emptied_at(read: Reading, space: Space) -> int:
    """Return the generation in which vectors of a space were last removed, 0 when none was."""
    row = read.sql.execute("SELECT value FROM meta WHERE key = ?", (f"emptied:{space.space}",)).fetchone()
    # As of what was purged.
    return 0 if row is None else row[0] if type(row[0]) is int else read.generation


def left_spaces(read: Reading) -> list[Space]:
    """Return the spaces with vectors of models that are no longer used."""
    return [t.space for t in text_spaces(read) if t.state == "left" and t.has_vectors]


def drop_orphans(write: Writing) -> int:
    """Remove the vectors of texts that no entry has any more and return how many there were."""
    return write.sql.execute(
        f"DELETE FROM vectors WHERE space IN (SELECT space FROM spaces WHERE keyed_by = 'text') AND {_NO_TEXT}"
    ).rowcount


def _note_removal(write: Writing, space: Space) -> None:
    # The space keeps its number; older snapshots must reload its vectors.
    write.sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (f"emptied:{space.space}", write.generation))


def _embedded(memories: bool) -> str:
    return FINDABLE if memories else f"e.live AND {SEARCHABLE}"


def _lacking(memories: bool, spaces: int = 1) -> str:
    # One condition for each space: the index over keys and spaces finds each at once.
    without = "NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key = e.text_hash AND v.space = ?)"
    return " AND ".join((_embedded(memories), *[without] * spaces))


def joined(parts: Sequence[str]) -> str:
    """Return what is embedded of an entry, given its title, description and context."""
    return "\n".join(part for part in parts if part)


def _number(space: Space | None) -> int:
    return -1 if space is None else space.space
