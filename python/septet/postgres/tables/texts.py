"""Vectors keyed by text, which are stored after their entries: spaces, vectors, and missing texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.model.vector import Space
from septet.postgres.store.packing import PackedVector, check_dimensions, copied, packed
from septet.postgres.store.transactions import PostgresReading, PostgresWriting, hold_all
from septet.postgres.tables import covered
from septet.postgres.tables.covered import Change
from septet.postgres.tables.fragments import FINDABLE, has_vectors, scalar, searched
from septet.store.rows import State, TextSpace
from septet.store.rules import joined

_Read = PostgresReading | PostgresWriting

_SPACE = (
    "SELECT s.space, s.model, s.dimensions, s.keyed_by, 0 FROM septet.spaces s WHERE s.vault = %s "
    "AND s.keyed_by = 'text' AND s.model = %s::text AND (%s::integer IS NULL OR s.dimensions = %s::integer) "
    "ORDER BY s.space DESC LIMIT 1"
)
_SPACES = (
    "SELECT s.space, s.model, s.dimensions, s.keyed_by, 0, s.state, "
    "{has_vectors} FROM septet.spaces s WHERE s.vault = %s AND s.keyed_by = 'text' ORDER BY s.space DESC"
)
_MAKE = (
    "INSERT INTO septet.spaces (vault, model, dimensions, keyed_by, state, pooling, created_at) "
    "VALUES (%s, %s::text, %s, 'text', 'left', %s::text, %s)"
)
_MOVE = "UPDATE septet.spaces SET state = %s::text WHERE vault = %s AND space = %s"
_POOLING = "SELECT pooling FROM septet.spaces WHERE vault = %s AND space = %s"
_SET_POOLING = "UPDATE septet.spaces SET pooling = %s::text WHERE vault = %s AND space = %s"
#: Entries without a vector of their text, in a space, in their bucket.
_WITHOUT = (
    "NOT EXISTS (SELECT 1 FROM septet.vectors v WHERE v.vault = e.vault AND v.space = %s AND v.key = e.text_hash "
    "AND v.bucket = e.bucket)"
)
_WHERE = (
    "SELECT DISTINCT e.text_hash, e.bucket FROM septet.entries e "
    f"WHERE e.vault = %s AND e.text_hash = ANY(%s::text[]) AND e.live AND {_WITHOUT}"
)
_THERE = "SELECT DISTINCT v.key FROM septet.vectors v WHERE v.vault = %s AND v.space = %s AND v.key = ANY(%s::text[])"
_BY_HASH = "SELECT DISTINCT ON (e.text_hash) e.text_hash, e.title, e.description, e.context FROM septet.entries e"
_MISSING = f"{_BY_HASH} WHERE e.vault = %s AND {{asked}} AND e.text_hash > %s::text ORDER BY e.text_hash LIMIT %s"
_COUNT_MISSING = "SELECT count(DISTINCT e.text_hash) FROM septet.entries e WHERE e.vault = %s AND {asked}"
_OF_KEYS = f"{_BY_HASH} WHERE e.vault = %s AND e.text_hash = ANY(%s::text[]) AND {{asked}} ORDER BY e.text_hash"
_SOME = "SELECT v.key, v.bucket FROM septet.vectors v WHERE v.vault = %s AND v.space = %s LIMIT %s"
_REMOVE = (
    "DELETE FROM septet.vectors v USING unnest(%s::text[], %s::integer[]) AS w (key, bucket) "
    "WHERE v.vault = %s AND v.space = %s AND v.key = w.key AND v.bucket = w.bucket "
    "RETURNING v.space, v.bucket, v.key, v.sample"
)
#: Vectors without an entry in their bucket.
_NO_TEXT = (
    "NOT EXISTS (SELECT 1 FROM septet.entries e WHERE e.vault = v.vault AND e.text_hash = v.key "
    "AND e.bucket = v.bucket AND e.live)"
)
_FORGET = (
    f"DELETE FROM septet.vectors v WHERE v.vault = %s AND v.space = %s AND (v.key = ANY(%s::text[]) OR {_NO_TEXT}) "
    "RETURNING v.space, v.bucket, v.key, v.sample"
)
_ORPHANS = (
    "DELETE FROM septet.vectors v USING septet.spaces s WHERE v.vault = %s AND s.vault = v.vault AND s.space = v.space "
    f"AND s.keyed_by = 'text' AND {_NO_TEXT} RETURNING v.space, v.key"
)
_TEXTS = (
    "SELECT DISTINCT e.text_hash FROM septet.entries e WHERE e.vault = %s AND e.text_hash = ANY(%s::text[]) AND e.live"
)
_EMBEDDED = (
    f"{_BY_HASH} JOIN septet.vectors v ON v.vault = e.vault AND v.space = %s AND v.key = e.text_hash "
    f"AND v.bucket = e.bucket WHERE e.vault = %s AND {FINDABLE} AND e.text_hash > %s::text "
    "AND octet_length(e.title) + octet_length(e.description) + octet_length(e.context) > %s "
    "ORDER BY e.text_hash LIMIT %s"
)


def text_spaces(read: _Read) -> list[TextSpace]:
    rows = read.sql.execute(_SPACES.format(has_vectors=has_vectors(read.vault)), (read.vault.number,))
    return [TextSpace(Space._make(space), state, filled) for *space, state, filled in rows]


def find_space(read: _Read, model: str, dimensions: int | None = None) -> Space | None:
    result = read.sql.execute(_SPACE, (read.vault.number, model, dimensions, dimensions)).fetchone()
    return None if result is None else Space._make(result)


def make_space(write: PostgresWriting, model: str, dimensions: int, now: float, pooling: str | None = None) -> Space:
    space = find_space(write, model, dimensions)
    if space is None:
        check_dimensions(dimensions, f"a vector of {model}")
        # Look again under the lock: another writer may have created the space.
        hold_all(write)
        space = find_space(write, model, dimensions)
    if space is None:
        write.sql.execute(_MAKE, (write.vault.number, model, dimensions, pooling, now))
        space = find_space(write, model, dimensions)
        assert space is not None
        begin(write, space)
    return space


def begin(write: PostgresWriting, space: Space) -> None:
    spaces = text_spaces(write)
    if any(t.space == space and t.state in ("left", "standby") for t in spaces):
        others = any(t.state == "active" and t.has_vectors for t in spaces)
        move(write, space, "filling" if others else "active")


def add_index(write: PostgresWriting) -> None:
    """Do nothing: the schema has the index over texts."""


def is_left(read: _Read, space: Space) -> bool:
    return any(t.space == space and t.state == "left" for t in text_spaces(read))


def move(write: PostgresWriting, space: Space, state: State) -> None:
    write.sql.execute(_MOVE, (state, write.vault.number, space.space))


def put(write: PostgresWriting, space: Space, keys: Sequence[str], vectors: NDArray[np.float32]) -> int:
    """A vector is stored in the buckets of all entries with its text, or in the bucket of the hash without one."""
    first = {key: at for at, key in reversed([*enumerate(keys)])}
    # Prevents the insertion of entries with these texts.
    hold_all(write)
    new = set(first).difference(_with_vectors(write, space, [*first]))
    entry_places = write.sql.execute(_WHERE, (write.vault.number, [*first], space.space)).fetchall()
    orphans = new.difference(key for key, _ in entry_places)
    places = sorted([*entry_places, *((key, write.vault.bucket_of(key)) for key in orphans)])
    if places:
        # Pack each text once for all its buckets.
        used = sorted({first[key] for key, _ in places})
        matrix = vectors[used].astype(np.float32, copy=False)
        samples = _core.row_keys(_core.unit_rows(matrix)).tolist()
        values = dict(zip(used, zip(packed(write.vault.vectors, matrix), samples)))
        rows = [PackedVector(space.space, bucket, key, *values[first[key]]) for key, bucket in places]
        copied(write, rows, write.generation)
        covered.note(write, [Change(row.space, row.bucket, row.key, row.sample) for row in rows], 1)
    return len(new)


def missing(
    read: PostgresReading,
    space: Space | None,
    *,
    memories: bool = False,
    beside: Sequence[Space] = (),
    after: str,
    limit: int,
) -> list[tuple[str, str]]:
    if space is not None and not coverage(read, space, memories=memories)[1]:
        return []
    condition, numbers = _without_vectors(space, memories, beside)
    rows = read.sql.execute(_MISSING.format(asked=condition), (read.vault.number, *numbers, after, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def lacking(read: _Read, space: Space | None, keys: Sequence[str]) -> list[str]:
    if space is None:
        return list(keys)
    present = _with_vectors(read, space, keys)
    present.difference_update(key for key, _ in read.sql.execute(_WHERE, (read.vault.number, list(keys), space.space)))
    return [key for key in keys if key not in present]


def of_keys(read: PostgresReading, keys: Sequence[str], *, memories: bool = False) -> dict[str, str]:
    rows = read.sql.execute(_OF_KEYS.format(asked=searched(memories)), (read.vault.number, list(keys)))
    return {key: joined(parts) for key, *parts in rows}


def count_missing(read: _Read, space: Space | None, *, memories: bool = False, beside: Sequence[Space] = ()) -> int:
    if space is not None and not coverage(read, space, memories=memories)[1]:
        return 0
    condition, numbers = _without_vectors(space, memories, beside)
    return scalar(read, _COUNT_MISSING.format(asked=condition), (read.vault.number, *numbers))


def coverage(read: _Read, space: Space, *, memories: bool = False) -> tuple[int, int]:
    (counts,) = covered.of(read, [space], memories=memories)
    return counts.entries, counts.missing


def empty(write: PostgresWriting, space: Space, most: int) -> int:
    hold_all(write)
    page = write.sql.execute(_SOME, (write.vault.number, space.space, most)).fetchall()
    if page:
        keys, buckets = map(list, zip(*page))
        removed = write.sql.execute(_REMOVE, (keys, buckets, write.vault.number, space.space))
        covered.note(write, [*map(Change._make, removed)], -1)
    return len(page)


def pooling(read: _Read, space: Space) -> str | None:
    result = read.sql.execute(_POOLING, (read.vault.number, space.space)).fetchone()
    return None if result is None or result[0] is None else str(result[0])


def set_pooling(write: PostgresWriting, space: Space, name: str) -> None:
    write.sql.execute(_SET_POOLING, (name, write.vault.number, space.space))


def embedded(read: PostgresReading, space: Space, *, over_bytes: int, after: str, limit: int) -> list[tuple[str, str]]:
    # Up to two line ends join the three columns.
    rows = read.sql.execute(_EMBEDDED, (space.space, read.vault.number, after, over_bytes - 2, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def forget(write: PostgresWriting, space: Space, keys: Sequence[str]) -> None:
    hold_all(write)
    removed = write.sql.execute(_FORGET, (write.vault.number, space.space, list(keys)))
    covered.note(write, [*map(Change._make, removed)], -1)


def left_spaces(read: PostgresReading) -> list[Space]:
    return [t.space for t in text_spaces(read) if t.state == "left" and t.has_vectors]


def drop_orphans(write: PostgresWriting) -> int:
    """Remove the vectors of texts without entries and return the number of texts."""
    hold_all(write)
    removed = set(write.sql.execute(_ORPHANS, (write.vault.number,)).fetchall())
    # Copies in buckets without an entry are removed too; do not count texts that other buckets still have.
    live = {key for (key,) in write.sql.execute(_TEXTS, (write.vault.number, [*{key for _, key in removed}]))}
    return sum(key not in live for _, key in removed)


def _with_vectors(read: _Read, space: Space, keys: Sequence[str]) -> set[str]:
    """Return the texts with a vector in a space, in any bucket."""
    return {key for (key,) in read.sql.execute(_THERE, (read.vault.number, space.space, list(keys)))}


def _without_vectors(space: Space | None, memories: bool, beside: Sequence[Space]) -> tuple[str, list[int]]:
    """Return the condition that entries lack vectors in all of the spaces, and its parameters."""
    numbers = [s.space for s in (space, *beside) if s is not None]
    return " AND ".join((searched(memories), *[_WITHOUT] * len(numbers))), numbers
