"""Vectors given with entries, and spaces (a model with a dimension)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import VectorError
from septet.model.vector import Space
from septet.postgres.store.packing import PackedVector, check_dimensions, copied, packed, sent, unpacked
from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables import covered
from septet.postgres.tables.covered import Change
from septet.postgres.tables.fragments import BY_ID, has_vectors, named, numbered, vector_key
from septet.store.rows import GivenVectors, StoredVector
from septet.store.rules import no_space

#: Rows per fetch of `given`.
_PAGE = 1_000

_SPACE = "SELECT s.space, s.model, s.dimensions, s.keyed_by, 0 FROM septet.spaces s WHERE s.vault = %s"
_HOLDING = f"{_SPACE} AND {{has_vectors}} ORDER BY s.space"
# Nonempty spaces last, so that a dict by model retains the one in use.
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
    f"SELECT e.id, {{sent}} FROM {BY_ID} AND e.live "
    "JOIN septet.vectors v ON v.vault = e.vault AND v.space = %s AND v.bucket = e.bucket AND v.key = {key}"
)
_GIVEN = (
    "SELECT e.id, s.model, s.dimensions, {sent} FROM septet.entries e "
    "JOIN septet.spaces s ON s.vault = e.vault AND s.keyed_by = 'entry' "
    "JOIN septet.vectors v ON v.vault = e.vault AND v.space = s.space AND v.bucket = e.bucket "
    "AND v.key = e.text_hash || ':' || e.id WHERE e.vault = %s AND e.live ORDER BY e.row"
)


def put(write: PostgresWriting, vectors: Sequence[GivenVectors], *, one_per_entry: bool, now: float) -> None:
    before = _given_spaces(write)
    known = {s.model: s for s in before}
    batch = _Batch(write)
    for entry in vectors:
        key, bucket = f"{entry.text_hash}:{entry.entry_id}", write.vault.bucket_of(entry.entry_id)
        if any(m not in known or known[m].dimensions != row.size for m, row in entry.by_model.items()):
            # Only an empty space can change its dimension, so store pending vectors first.
            batch.store()
        spaces = [_space_for(write, known, m, row, entry.entry_id, now) for m, row in entry.by_model.items()]
        if one_per_entry and len(known) > 1:
            batch.clear(key, bucket, {s.space for s in (*before, *known.values())})
        for space, row in zip(spaces, entry.by_model.values()):
            batch.add(space, key, bucket, row)
    batch.store()


def drop_stale(write: PostgresWriting, hashes: Mapping[str, str]) -> None:
    prefetched = write.held.foreseen
    if prefetched is not None and (
        "entry" not in prefetched.spaces.values() or (not prefetched.stored and hashes.keys() <= {*prefetched.ids})
    ):
        return
    if hashes:
        texts = [*map(write.vault.bucket_of, hashes)], [*hashes], [*hashes.values()]
        removed = write.sql.execute(_STALE, (*texts, write.vault.number))
        covered.note(write, [*map(Change._make, removed)], -1, by_entry=True)


def drop_given(write: PostgresWriting, rows: Sequence[int]) -> None:
    """Remove the given vectors of entries to be erased, whose counts are already updated."""
    write.sql.execute(_OF_ENTRIES, numbered(write.vault, rows))


def all_spaces(read: PostgresReading | PostgresWriting) -> list[Space]:
    return [Space._make(row) for row in read.sql.execute(f"{_SPACE} ORDER BY s.space", (read.vault.number,))]


def spaces(read: PostgresReading) -> list[Space]:
    every_space = all_spaces(read)
    counted = covered.of(read, every_space, memories=True) if every_space else []
    filled = [space._replace(entries=has.entries) for space, has in zip(every_space, counted) if has.entries]
    return sorted(filled, key=lambda s: (-s.entries, s.space))


def choose(read: PostgresReading, model: str | None, dimensions: int) -> Space | None:
    """Return the space of a query vector, without a model the fullest of this dimension; None without any vectors.

    Raises:
        VectorError: the vault has vectors, but none of this model and dimension.
    """
    sql = _HOLDING.format(has_vectors=has_vectors(read.vault))
    filled = [Space._make(row) for row in read.sql.execute(sql, (read.vault.number,))]
    fitting = [s for s in filled if model in (None, s.model) and s.dimensions == dimensions]
    if len(fitting) > 1:
        # All vectors of a space may belong to deleted entries.
        return next((s for s in spaces(read) if s.dimensions == dimensions), fitting[0])
    if fitting:
        return fitting[0]
    if not filled:
        return None
    raise no_space(filled, model, dimensions)


def of_rows(read: PostgresReading, space: Space, rows: Sequence[int]) -> list[StoredVector]:
    sql = _AT_ROWS.format(sent=sent(read.vault.vectors), key=vector_key(space.keyed_by))
    vectors = read.sql.execute(sql, (*numbered(read.vault, rows), space.space), binary=True).fetchall()
    blobs = _blobs(read, space, [vector for _, vector in vectors])
    return [StoredVector(at, blob) for (at, _), blob in zip(vectors, blobs)]


def of_ids(read: PostgresReading, model: str, dimensions: int, ids: Sequence[str]) -> dict[str, bytes]:
    vectors: dict[str, bytes] = {}
    # Given vectors last, so that they overwrite those of providers.
    for space in sorted(all_spaces(read), key=lambda s: s.keyed_by, reverse=True):
        if (space.model, space.dimensions) == (model, dimensions):
            sql = _AT_IDS.format(sent=sent(read.vault.vectors), key=vector_key(space.keyed_by))
            rows = read.sql.execute(sql, (*named(read.vault, ids), space.space), binary=True).fetchall()
            blobs = _blobs(read, space, [vector for _, vector in rows])
            vectors.update((entry_id, blob) for (entry_id, _), blob in zip(rows, blobs))
    return vectors


def given(read: PostgresReading) -> Iterator[tuple[str, str, bytes]]:
    sql = _GIVEN.format(sent=sent(read.vault.vectors))
    with read.sql.cursor("septet_given_vectors") as cursor:
        cursor.execute(sql, (read.vault.number,), binary=True)
        while page := cursor.fetchmany(_PAGE):
            for entry_id, model, dimensions, vector in page:
                yield entry_id, model, unpacked(read.vault.vectors, [vector], dimensions).tobytes()


class _Batch:
    """Given vectors to be stored together."""

    def __init__(self, write: PostgresWriting) -> None:
        self._write = write
        #: Vectors to remove, and to store, by space, bucket and key.
        self._removed: dict[tuple[int, int, str], None] = {}
        self._rows: dict[tuple[int, int, str], NDArray[np.float32]] = {}

    def clear(self, key: str, bucket: int, spaces: Iterable[int]) -> None:
        """Remove an entry's vectors from spaces."""
        for space in spaces:
            self._removed[space, bucket, key] = None
            self._rows.pop((space, bucket, key), None)

    def add(self, space: int, key: str, bucket: int, row: NDArray[np.float32]) -> None:
        """Insert or replace a vector of an entry."""
        self._removed[space, bucket, key] = None
        self._rows[space, bucket, key] = row

    def store(self) -> None:
        """Store all pending changes."""
        write, rows = self._write, self._rows
        removed: list[tuple[Any, ...]] = []
        if self._removed:
            spaces, buckets, keys = map(list, zip(*self._removed))
            write.later(_REMOVE, (spaces, buckets, keys, write.vault.number), removed.extend)
        by_length: dict[int, list[tuple[int, int, str]]] = {}
        for key, row in rows.items():
            by_length.setdefault(row.size, []).append(key)
        for places in by_length.values():
            matrix = np.stack([rows[place] for place in places])
            samples = _core.row_keys(_core.unit_rows(matrix)).tolist()
            vectors = zip(places, packed(write.vault.vectors, matrix), samples)
            copied(write, [PackedVector(*place, vector, sample) for place, vector, sample in vectors], 0)
            covered.note(write, [Change(*place, sample) for place, sample in zip(places, samples)], 1, by_entry=True)
        if self._removed and not rows:
            write.settle()
        covered.note(write, [*map(Change._make, removed)], -1, by_entry=True)
        self._removed, self._rows = {}, {}


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
    sql = _GIVEN_SPACES.format(has_vectors=has_vectors(write.vault))
    (rows,) = write.settle(Statement(sql, (write.vault.number,)))
    return [*map(Space._make, rows)]


def _blobs(read: PostgresReading, space: Space, values: Sequence[bytes]) -> list[bytes]:
    """Return vectors in pgvector's format as little-endian float32."""
    return [row.tobytes() for row in unpacked(read.vault.vectors, values, space.dimensions)]


_Read = PostgresReading | PostgresWriting
_STORED_VECTORS = (
    "SELECT w.place, s.model, s.dimensions, {sent} "
    "FROM septet.spaces s CROSS JOIN unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS w (bucket, key, place) "
    "JOIN septet.vectors v ON v.vault = s.vault AND v.bucket = w.bucket AND v.space = s.space "
    'AND v.key = w.key COLLATE "C" '
    "WHERE s.vault = %s AND s.keyed_by = 'entry'"
)


def vectors_stored(read: _Read, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
    keys = [f"{item.text_hash}:{item.entry_id}" for item in vectors]
    buckets = [read.vault.bucket_of(item.entry_id) for item in vectors]
    kind, stored = read.vault.vectors, dict[str, dict[str, bytes]]()
    sql = _STORED_VECTORS.format(sent=sent(kind))
    for place, model, dimensions, blob in read.sql.execute(sql, (buckets, keys, read.vault.number), binary=True):
        stored.setdefault(vectors[place - 1].entry_id, {})[model] = unpacked(kind, [blob], dimensions).tobytes()
    return dict(stored)
