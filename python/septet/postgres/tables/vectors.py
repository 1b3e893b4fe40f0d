"""Vectors as they are stored: spaces (a model with a dimension), and rows as they were given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import VectorError
from septet.model.spaces import Space
from septet.postgres.store.packing import PackedVector, check_dimensions, copied, packed, sent, unpacked
from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables import covered
from septet.postgres.tables.covered import Change
from septet.postgres.tables.fragments import has_vectors, vector_key
from septet.sqlite.tables.vectors import DEFAULT_MODEL, GivenVectors, StoredVector, checked, no_space

__all__ = [
    "DEFAULT_MODEL",
    "GivenVectors",
    "StoredVector",
    "all_spaces",
    "checked",
    "choose",
    "drop_given",
    "drop_stale",
    "given",
    "of_ids",
    "of_rows",
    "put",
    "spaces",
]

#: Rows that are fetched at once.
_PAGE = 1_000

_SPACE = "SELECT s.space, s.model, s.dimensions, s.keyed_by, 0 FROM septet.spaces s WHERE s.vault = %s"
_HOLDING = f"{_SPACE} AND {{has_vectors}} ORDER BY s.space"
# Those with vectors come last, so that a dict by model keeps the one in use.
_GIVEN_SPACES = f"{_SPACE} AND s.keyed_by = 'entry' ORDER BY {{has_vectors}}, s.space"
_MAKE = (
    "INSERT INTO septet.spaces (vault, model, dimensions, keyed_by, created_at) "
    "VALUES (%s, %s::text, %s, 'entry', %s) ON CONFLICT DO NOTHING"
)
_FILLED = "SELECT 1 FROM septet.vectors WHERE vault = %s AND space = %s LIMIT 1"
_REMOVE = (
    "DELETE FROM septet.vectors v USING unnest(%s::integer[], %s::integer[], %s::text[]) AS w (space, bucket, key) "
    "WHERE v.vault = %s AND v.space = w.space AND v.key = w.key AND v.bucket = w.bucket "
    "RETURNING v.space, v.bucket, v.key, v.sample"
)
_STALE = (
    "DELETE FROM septet.vectors v USING unnest(%s::integer[], %s::text[], %s::text[]) AS w (bucket, id, text_hash) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id AND e.live "
    "JOIN septet.spaces s ON s.vault = e.vault AND s.keyed_by = 'entry' "
    "WHERE e.text_hash <> w.text_hash AND v.vault = e.vault AND v.space = s.space AND v.bucket = e.bucket "
    "AND v.key = e.text_hash || ':' || e.id RETURNING v.space, v.bucket, v.key, v.sample"
)
_OF_ENTRIES = (
    "DELETE FROM septet.vectors v USING unnest(%s::bigint[]) AS w (row) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row "
    "JOIN septet.spaces s ON s.vault = e.vault AND s.keyed_by = 'entry' "
    "WHERE v.vault = e.vault AND v.space = s.space AND v.bucket = e.bucket AND v.key = e.text_hash || ':' || e.id"
)
_AT_ROWS = (
    "SELECT (w.at - 1)::integer, {sent} FROM unnest(%s::bigint[]) WITH ORDINALITY AS w (row, at) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row "
    "JOIN septet.vectors v ON v.vault = e.vault AND v.space = %s AND v.bucket = e.bucket AND v.key = {key} "
    "ORDER BY w.at"
)
_AT_IDS = (
    "SELECT e.id, {sent} FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id AND e.live "
    "JOIN septet.vectors v ON v.vault = e.vault AND v.space = %s AND v.bucket = e.bucket AND v.key = {key}"
)
_GIVEN = (
    "SELECT e.id, s.model, s.dimensions, {sent} FROM septet.entries e "
    "JOIN septet.spaces s ON s.vault = e.vault AND s.keyed_by = 'entry' "
    "JOIN septet.vectors v ON v.vault = e.vault AND v.space = s.space AND v.bucket = e.bucket "
    "AND v.key = e.text_hash || ':' || e.id WHERE e.vault = %s AND e.live ORDER BY e.row"
)


def put(write: PostgresWriting, vectors: Sequence[GivenVectors], *, one_per_entry: bool, now: float) -> None:
    """Store vectors given for entries that are already written.

    Args:
        one_per_entry: remove an entry's given vectors of other models.

    Raises:
        VectorError: the model's vectors have another dimension.
    """
    before = _given_spaces(write)
    known = {s.model: s for s in before}
    batch = _Batch(write)
    for one in vectors:
        key, bucket = f"{one.text_hash}:{one.entry_id}", write.vault.bucket_of(one.entry_id)
        if any(m not in known or known[m].dimensions != row.size for m, row in one.by_model.items()):
            # Whether a space can change its dimension depends on the vectors in it.
            batch.store()
        spaces = [_space_for(write, known, m, row, one.entry_id, now) for m, row in one.by_model.items()]
        if one_per_entry and len(known) > 1:
            batch.clear(key, bucket, {s.space for s in (*before, *known.values())})
        for space, row in zip(spaces, one.by_model.values()):
            batch.add(space, key, bucket, row)
    batch.store()


def drop_stale(write: PostgresWriting, hashes: Mapping[str, str]) -> None:
    """Remove the given vectors of entries whose text is about to change: they describe the old text.

    Args:
        hashes: the new text hash of each entry about to be written, by id.
    """
    foreseen = write.held.foreseen
    if foreseen is not None and (
        "entry" not in foreseen.spaces.values() or (not foreseen.stored and hashes.keys() <= {*foreseen.ids})
    ):
        return
    if hashes:
        named = [*map(write.vault.bucket_of, hashes)], [*hashes], [*hashes.values()]
        gone = write.sql.execute(_STALE, (*named, write.vault.number))
        covered.note_given(write, [*map(Change._make, gone)], -1)


def drop_given(write: PostgresWriting, rows: Sequence[int]) -> None:
    """Remove the vectors that were given with entries, which are about to be emptied and have left the counts."""
    write.sql.execute(_OF_ENTRIES, (list(rows), write.vault.number, write.vault.first_bucket))


def all_spaces(read: PostgresReading | PostgresWriting) -> list[Space]:
    """Return every space in order of its making, its entries not counted."""
    return [Space._make(row) for row in read.sql.execute(f"{_SPACE} ORDER BY s.space", (read.vault.number,))]


def spaces(read: PostgresReading) -> list[Space]:
    """Return all spaces that hold vectors of live entries, the fullest first."""
    everything = all_spaces(read)
    counted = covered.of(read, everything, memories=True) if everything else []
    found = [space._replace(entries=has.entries) for space, has in zip(everything, counted)]
    return sorted((s for s in found if s.entries), key=lambda s: (-s.entries, s.space))


def choose(read: PostgresReading, model: str | None, dimensions: int) -> Space | None:
    """Return the space that a query vector of so many dimensions is compared in; None without any.

    With no model named: the only space; of several, the fullest one of that dimension.

    Raises:
        VectorError: the vault has vectors, but none that this query vector can be compared with.
    """
    sql = _HOLDING.format(has_vectors=has_vectors(read.vault))
    found = [Space._make(row) for row in read.sql.execute(sql, (read.vault.number,))]
    fitting = [s for s in found if model in (None, s.model) and s.dimensions == dimensions]
    if len(fitting) > 1:
        # As all the space's vectors may be of entries that are gone.
        return next((s for s in spaces(read) if s.dimensions == dimensions), fitting[0])
    if fitting:
        return fitting[0]
    if not found:
        return None
    raise no_space(found, model, dimensions)


def of_rows(read: PostgresReading, space: Space, rows: Sequence[int]) -> list[StoredVector]:
    """Return the vectors of the entries at the given rows in a space, by the position of the row, in order."""
    sql = _AT_ROWS.format(sent=sent(read.vault.vectors), key=vector_key(space.keyed_by))
    where = (list(rows), read.vault.number, read.vault.first_bucket, space.space)
    found = read.sql.execute(sql, where, binary=True).fetchall()
    return [StoredVector(at, blob) for (at, _), blob in zip(found, _blobs(read, space, [row[1] for row in found]))]


def of_ids(read: PostgresReading, model: str, dimensions: int, ids: Sequence[str]) -> dict[str, bytes]:
    """Return the vectors (little-endian float32) of live entries by id: one that was given before a provider's."""
    stored = [one for one in ids if "\0" not in one]
    named = [*map(read.vault.bucket_of, stored)], stored
    found: dict[str, bytes] = {}
    # Those that were given come last, and stay.
    for space in sorted(all_spaces(read), key=lambda s: s.keyed_by, reverse=True):
        if (space.model, space.dimensions) == (model, dimensions):
            sql = _AT_IDS.format(sent=sent(read.vault.vectors), key=vector_key(space.keyed_by))
            rows = read.sql.execute(sql, (*named, read.vault.number, space.space), binary=True).fetchall()
            found.update(zip((row[0] for row in rows), _blobs(read, space, [row[1] for row in rows])))
    return found


def given(read: PostgresReading) -> Iterator[tuple[str, str, bytes]]:
    """Yield id, model and vector (little-endian float32) of all that callers gave for live entries."""
    sql = _GIVEN.format(sent=sent(read.vault.vectors))
    with read.sql.cursor("septet_given_vectors") as cursor:
        cursor.execute(sql, (read.vault.number,), binary=True)
        while page := cursor.fetchmany(_PAGE):
            for entry_id, model, dimensions, vector in page:
                yield entry_id, model, unpacked(read.vault.vectors, [vector], dimensions).tobytes()


class _Batch:
    """Vectors given with entries that are stored together."""

    def __init__(self, write: PostgresWriting) -> None:
        self._write = write
        #: By space, bucket and key: those to be removed, and those to be stored.
        self._gone: dict[tuple[int, int, str], None] = {}
        self._rows: dict[tuple[int, int, str], NDArray[np.float32]] = {}

    def clear(self, key: str, bucket: int, spaces: Iterable[int]) -> None:
        """Let an entry have no vector in some spaces."""
        for space in spaces:
            self._gone[space, bucket, key] = None
            self._rows.pop((space, bucket, key), None)

    def add(self, space: int, key: str, bucket: int, row: NDArray[np.float32]) -> None:
        """Store a vector of an entry, in place of the one that it has."""
        self._gone[space, bucket, key] = None
        self._rows[space, bucket, key] = row

    def store(self) -> None:
        """Store what was gathered, and forget it."""
        write, rows = self._write, self._rows
        gone: list[tuple[Any, ...]] = []
        if self._gone:
            spaces, buckets, keys = map(list, zip(*self._gone))
            write.later(_REMOVE, (spaces, buckets, keys, write.vault.number), gone.extend)
        by_length: dict[int, list[tuple[int, int, str]]] = {}
        for key, row in rows.items():
            by_length.setdefault(row.size, []).append(key)
        for these in by_length.values():
            matrix = np.stack([rows[key] for key in these])
            samples = _core.row_keys(_core.unit_rows(matrix)).tolist()
            made = zip(these, packed(write.vault.vectors, matrix), samples)
            copied(write, [PackedVector(*key, vector, sample) for key, vector, sample in made], 0)
            covered.note_given(write, [Change(*key, sample) for key, sample in zip(these, samples)], 1)
        if self._gone and not rows:
            write.settle()
        covered.note_given(write, [*map(Change._make, gone)], -1)
        self._gone, self._rows = {}, {}


def _space_for(
    write: PostgresWriting, known: dict[str, Space], model: str, row: NDArray[np.float32], entry_id: str, now: float
) -> int:
    space = known.get(model)
    if space is not None and space.dimensions != row.size:
        if write.sql.execute(_FILLED, (write.vault.number, space.space)).fetchone():
            raise VectorError(
                f"vector of {entry_id!r} has {row.size} dimensions, model {model!r} has {space.dimensions} "
                "in this vault: name another model=, or re-add every vector"
            )
        space = None
    if space is None:
        check_dimensions(row.size, f"vector of {entry_id!r}")
        write.sql.execute(_MAKE, (write.vault.number, model, row.size, now))
        space = next(s for s in _given_spaces(write) if s.model == model and s.dimensions == row.size)
        known[model] = space
    return space.space


def _given_spaces(write: PostgresWriting) -> list[Space]:
    asked = _GIVEN_SPACES.format(has_vectors=has_vectors(write.vault))
    (found,) = write.settle(Statement(asked, (write.vault.number,)))
    return [*map(Space._make, found)]


def _blobs(read: PostgresReading, space: Space, values: Sequence[bytes]) -> list[bytes]:
    """Return what pgvector sent as little-endian float32."""
    return [row.tobytes() for row in unpacked(read.vault.vectors, values, space.dimensions)]
