"""Vectors addressed by the text they describe, which arrive after their entries: spaces, storing, what is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.model.spaces import Space
from septet.postgres.store.locks import hold_all
from septet.postgres.store.packing import PackedVector, check_dimensions, copied, packed
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables import covered
from septet.postgres.tables.covered import Change
from septet.postgres.tables.fragments import FINDABLE, has_vectors, searched
from septet.sqlite.tables.texts import State, TextSpace, joined

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
_EMPTIED = "SELECT emptied_at FROM septet.spaces WHERE vault = %s AND space = %s"
_SET_EMPTIED = "UPDATE septet.spaces SET emptied_at = %s WHERE vault = %s AND space = %s"
#: An entry whose bucket has no vector of its text in a space.
_WITHOUT = (
    "NOT EXISTS (SELECT 1 FROM septet.vectors v WHERE v.vault = e.vault AND v.space = %s AND v.key = e.text_hash "
    "AND v.bucket = e.bucket)"
)
_WHERE = (
    "SELECT DISTINCT e.text_hash, e.bucket FROM septet.entries e "
    f"WHERE e.vault = %s AND e.text_hash = ANY(%s::text[]) AND e.live AND {_WITHOUT}"
)
_THERE = "SELECT DISTINCT v.key FROM septet.vectors v WHERE v.vault = %s AND v.space = %s AND v.key = ANY(%s::text[])"
_MISSING = (
    "SELECT DISTINCT ON (e.text_hash) e.text_hash, e.title, e.description, e.context FROM septet.entries e "
    "WHERE e.vault = %s AND {asked} AND e.text_hash > %s::text ORDER BY e.text_hash LIMIT %s"
)
_COUNT_MISSING = "SELECT count(DISTINCT e.text_hash) FROM septet.entries e WHERE e.vault = %s AND {asked}"
_OF_KEYS = (
    "SELECT DISTINCT ON (e.text_hash) e.text_hash, e.title, e.description, e.context FROM septet.entries e "
    "WHERE e.vault = %s AND e.text_hash = ANY(%s::text[]) AND {asked} ORDER BY e.text_hash"
)
_SOME = "SELECT v.key, v.bucket FROM septet.vectors v WHERE v.vault = %s AND v.space = %s LIMIT %s"
_REMOVE = (
    "DELETE FROM septet.vectors v USING unnest(%s::text[], %s::integer[]) AS w (key, bucket) "
    "WHERE v.vault = %s AND v.space = %s AND v.key = w.key AND v.bucket = w.bucket "
    "RETURNING v.space, v.bucket, v.key, v.sample"
)
#: A vector that describes no entry of its bucket.
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
    "SELECT DISTINCT ON (e.text_hash) e.text_hash, e.title, e.description, e.context FROM septet.entries e "
    "JOIN septet.vectors v ON v.vault = e.vault AND v.space = %s AND v.key = e.text_hash AND v.bucket = e.bucket "
    f"WHERE e.vault = %s AND {FINDABLE} AND e.text_hash > %s::text "
    "AND octet_length(e.title) + octet_length(e.description) + octet_length(e.context) > %s "
    "ORDER BY e.text_hash LIMIT %s"
)


def text_spaces(read: PostgresReading | PostgresWriting) -> list[TextSpace]:
    """Return every space of vectors by text, the latest first."""
    found = read.sql.execute(_SPACES.format(has_vectors=has_vectors(read.vault)), (read.vault.number,))
    return [TextSpace(Space._make(space), state, has_vectors) for *space, state, has_vectors in found]


def find_space(read: PostgresReading | PostgresWriting, model: str, dimensions: int | None = None) -> Space | None:
    """Return the space of a model's vectors, the latest one when no dimension is named; None without any."""
    found = read.sql.execute(_SPACE, (read.vault.number, model, dimensions, dimensions)).fetchone()
    return None if found is None else Space._make(found)


def make_space(write: PostgresWriting, model: str, dimensions: int, now: float, pooling: str | None = None) -> Space:
    """Return the space of a model's vectors of a dimension; make it if there is none.

    Args:
        pooling: how the vectors of long texts in a new space are made.

    Raises:
        VectorError: the server stores no vectors of so many dimensions.
    """
    space = find_space(write, model, dimensions)
    if space is None:
        check_dimensions(dimensions, f"a vector of {model}")
        # Of two that make spaces at once the second one sees the first one's.
        hold_all(write)
        space = find_space(write, model, dimensions)
    if space is None:
        write.sql.execute(_MAKE, (write.vault.number, model, dimensions, pooling, now))
        space = find_space(write, model, dimensions)
        assert space is not None
        begin(write, space)
    return space


def begin(write: PostgresWriting, space: Space) -> None:
    """Let a space be filled (again): left or on standby, it becomes active when no other is, and filling otherwise."""
    everything = text_spaces(write)
    if any(t.space == space and t.state in ("left", "standby") for t in everything):
        others = any(t.state == "active" and t.has_vectors for t in everything)
        move(write, space, "filling" if others else "active")


def add_index(write: PostgresWriting) -> None:
    """Make the index over texts, which is there from the beginning."""


def is_left(read: PostgresReading | PostgresWriting, space: Space) -> bool:
    """Say whether a space belongs to a model that is no longer used."""
    return any(t.space == space and t.state == "left" for t in text_spaces(read))


def move(write: PostgresWriting, space: Space, state: State) -> None:
    """Give a space another state."""
    write.sql.execute(_MOVE, (state, write.vault.number, space.space))


def put(write: PostgresWriting, space: Space, keys: Sequence[str], vectors: NDArray[np.float32]) -> int:
    """Store the vectors ``(n, d)`` of texts by their hashes unless they exist; return how many are new.

    They are stored in the buckets of all entries with the text, or in that of the hash, if no entry has it any more.
    """
    first = {key: at for at, key in reversed([*enumerate(keys)])}
    # Nobody adds an entry with one of the texts meanwhile.
    hold_all(write)
    new = set(first).difference(_there(write, space, [*first]))
    wanted = write.sql.execute(_WHERE, (write.vault.number, [*first], space.space)).fetchall()
    nowhere = new.difference(key for key, _ in wanted)
    places = sorted([*wanted, *((key, write.vault.bucket_of(key)) for key in nowhere)])
    if places:
        # Each text is packed once, however many buckets it is in.
        used = sorted({first[key] for key, _ in places})
        matrix = vectors[used].astype(np.float32, copy=False)
        samples = _core.row_keys(_core.unit_rows(matrix)).tolist()
        made = dict(zip(used, zip(packed(write.vault.vectors, matrix), samples)))
        rows = [PackedVector(space.space, bucket, key, *made[first[key]]) for key, bucket in places]
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
    """Return live texts that lack a vector in a space: hash and text, in the order of the hashes.

    Args:
        space: None for one that does not exist yet: every text lacks its vector.
        memories: those of memories too.
        beside: leave out texts that have a vector in one of these spaces.
        after: only hashes behind this one.
    """
    if space is not None and not coverage(read, space, memories=memories)[1]:
        return []
    asked, numbers = _lacking(space, memories, beside)
    rows = read.sql.execute(_MISSING.format(asked=asked), (read.vault.number, *numbers, after, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def lacking(read: PostgresReading | PostgresWriting, space: Space | None, keys: Sequence[str]) -> list[str]:
    """Return those of the texts that lack a vector in a space, or in the bucket of an entry, in their order."""
    if space is None:
        return list(keys)
    there = _there(read, space, keys)
    there.difference_update(key for key, _ in read.sql.execute(_WHERE, (read.vault.number, list(keys), space.space)))
    return [key for key in keys if key not in there]


def of_keys(read: PostgresReading, keys: Sequence[str], *, memories: bool = False) -> dict[str, str]:
    """Return the texts of live entries by their hashes; those that no entry has any more are left out."""
    rows = read.sql.execute(_OF_KEYS.format(asked=searched(memories)), (read.vault.number, list(keys)))
    return {key: joined(parts) for key, *parts in rows}


def count_missing(
    read: PostgresReading | PostgresWriting,
    space: Space | None,
    *,
    memories: bool = False,
    beside: Sequence[Space] = (),
) -> int:
    """Return how many live texts, those of memories too if they are embedded, lack a vector in a space.

    Args:
        beside: do not count texts that have a vector in one of these spaces.
    """
    if space is not None and not coverage(read, space, memories=memories)[1]:
        return 0
    asked, numbers = _lacking(space, memories, beside)
    found = read.sql.execute(_COUNT_MISSING.format(asked=asked), (read.vault.number, *numbers)).fetchone()
    return 0 if found is None else int(found[0])


def coverage(read: PostgresReading | PostgresWriting, space: Space, *, memories: bool = False) -> tuple[int, int]:
    """Return how many live entries, memories too if they are embedded, have a vector in a space, and how many none."""
    found = covered.of(read, [space], memories=memories)[0]
    return found.entries, found.missing


def empty(write: PostgresWriting, space: Space, most: int) -> int:
    """Remove at most ``most`` vectors of a space and return how many."""
    hold_all(write)
    some = write.sql.execute(_SOME, (write.vault.number, space.space, most)).fetchall()
    if some:
        keys, buckets = map(list, zip(*some))
        gone = write.sql.execute(_REMOVE, (keys, buckets, write.vault.number, space.space))
        covered.note(write, [*map(Change._make, gone)], -1)
    _note_removal(write, space)
    return len(some)


def pooling(read: PostgresReading | PostgresWriting, space: Space) -> str | None:
    """Return how the vectors of long texts in a space are made; None if it was never said."""
    found = read.sql.execute(_POOLING, (read.vault.number, space.space)).fetchone()
    return None if found is None or found[0] is None else str(found[0])


def set_pooling(write: PostgresWriting, space: Space, name: str) -> None:
    """Note how the vectors of long texts in a space are made."""
    write.sql.execute(_SET_POOLING, (name, write.vault.number, space.space))


def embedded(read: PostgresReading, space: Space, *, over_bytes: int, after: str, limit: int) -> list[tuple[str, str]]:
    """Return live texts of more bytes that have a vector in a space: hash and text, in the order of the hashes."""
    # Two line ends may join the three.
    rows = read.sql.execute(_EMBEDDED, (space.space, read.vault.number, after, over_bytes - 2, limit))
    return [(key, joined(parts)) for key, *parts in rows]


def forget(write: PostgresWriting, space: Space, keys: Sequence[str]) -> None:
    """Remove the vectors of texts from a space, and those of texts that no entry has any more."""
    hold_all(write)
    gone = write.sql.execute(_FORGET, (write.vault.number, space.space, list(keys)))
    covered.note(write, [*map(Change._make, gone)], -1)
    _note_removal(write, space)


def emptied_at(read: PostgresReading, space: Space) -> int:
    """Return the generation in which vectors of a space were last removed, 0 when none was."""
    found = read.sql.execute(_EMPTIED, (read.vault.number, space.space)).fetchone()
    return 0 if found is None else int(found[0])


def left_spaces(read: PostgresReading) -> list[Space]:
    """Return the spaces with vectors of models that are no longer used."""
    return [t.space for t in text_spaces(read) if t.state == "left" and t.has_vectors]


def drop_orphans(write: PostgresWriting) -> int:
    """Remove the vectors of texts that no entry has any more and return how many there were."""
    hold_all(write)
    gone = set(write.sql.execute(_ORPHANS, (write.vault.number,)).fetchall())
    # What was a copy beside no entry is still there elsewhere.
    kept = {key for (key,) in write.sql.execute(_TEXTS, (write.vault.number, [*{key for _, key in gone}]))}
    return sum(key not in kept for _, key in gone)


def _note_removal(write: PostgresWriting, space: Space) -> None:
    write.sql.execute(_SET_EMPTIED, (write.generation, write.vault.number, space.space))


def _there(read: PostgresReading | PostgresWriting, space: Space, keys: Sequence[str]) -> set[str]:
    """Return those of the texts that have a vector in a space, in any bucket."""
    return {key for (key,) in read.sql.execute(_THERE, (read.vault.number, space.space, list(keys)))}


def _lacking(space: Space | None, memories: bool, beside: Sequence[Space]) -> tuple[str, list[int]]:
    """Return the condition of entries that lack their vectors in all of some spaces, and its parameters."""
    numbers = [one.space for one in (space, *beside) if one is not None]
    return " AND ".join((searched(memories), *[_WITHOUT] * len(numbers))), numbers
