"""Stored vectors: spaces (a model with a dimension) and float32 rows, not normalised."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from septet.errors import EntryError, StoreError, VectorError
from septet.inputs.arguments import utf8
from septet.model.vector import MOST_DIMENSIONS, Space, entry_vector
from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables.fragments import listed, vector_key
from septet.store.rows import GivenVectors, StoredVector
from septet.store.rules import no_space
from septet.store.typed import typed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.model.fields import VectorLike


_FOREIGN = "damaged, or of another program than Septet; `septet doctor` names all such rows"
#: The model name of vectors without one.
DEFAULT_MODEL = "given"
#: Maximum characters of a model's name.
MOST_MODEL_CHARS = 1_024


def checked(vector: VectorLike | None, model: object, entry_id: str) -> dict[str, NDArray[np.float32]]:
    """Return the vectors passed with one entry, one or a dict by model, as float32 rows ``(d,)`` by model.

    Raises:
        VectorError: not one-dimensional, NaN, infinite, or all zero.
    """
    if vector is None:
        return {}
    if isinstance(vector, Mapping):
        if model is not None:
            raise EntryError("vector is a dict by model: omit model=")
        return {_model(m): entry_vector(v, f"vector of {entry_id!r}") for m, v in vector.items()}
    return {DEFAULT_MODEL if model is None else _model(model): entry_vector(vector, f"vector of {entry_id!r}")}


def put(write: SqliteWriting, vectors: Sequence[GivenVectors], *, one_per_entry: bool, now: float) -> None:
    known = {s.model: s for s in _given_spaces(write)}
    rows: list[tuple[int, str, bytes]] = []
    for vector in vectors:
        key = f"{vector.text_hash}:{vector.entry_id}"
        if any(m not in known or known[m].dimensions != row.size for m, row in vector.by_model.items()):
            # Insert first: a space can change its dimension only if it is empty.
            _insert(write, rows)
        spaces = [_space_for(write, known, m, row, vector.entry_id, now) for m, row in vector.by_model.items()]
        if one_per_entry and len(known) > 1:
            _insert(write, rows)
            write.sql.execute("DELETE FROM vectors WHERE key = ?", (key,))
        blobs = (row.astype("<f4", copy=False).tobytes() for row in vector.by_model.values())
        rows += [(space, key, blob) for space, blob in zip(spaces, blobs)]
    _insert(write, rows)


def drop_stale(write: SqliteWriting, hashes: Mapping[str, str]) -> None:
    if write.sql.execute("SELECT 1 FROM spaces WHERE keyed_by = 'entry' LIMIT 1").fetchone() is None:
        return
    sql = "SELECT e.id, e.text_hash FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE e.live"
    old = write.sql.execute(sql, (json.dumps(list(hashes)),)).fetchall()
    stale = [(f"{text_hash}:{entry_id}",) for entry_id, text_hash in old if hashes[entry_id] != text_hash]
    write.sql.executemany("DELETE FROM vectors WHERE key = ?", stale)


def drop_given(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Remove the vectors stored with entries that are about to be emptied."""
    if write.sql.execute("SELECT 1 FROM spaces WHERE keyed_by = 'entry' LIMIT 1").fetchone() is None:
        return
    write.sql.execute(
        "DELETE FROM vectors WHERE key IN (SELECT e.text_hash || ':' || e.id FROM json_each(?) j "
        "JOIN entries e ON e.row = j.value) AND space IN (SELECT space FROM spaces WHERE keyed_by = 'entry')",
        (json.dumps(list(rows)),),
    )


def all_spaces(read: SqliteReading) -> list[Space]:
    sql = "SELECT space, model, dimensions, keyed_by, 0 FROM spaces ORDER BY space"
    return typed_spaces(read.sql.execute(sql))


def spaces(read: SqliteReading) -> list[Space]:
    choices = []
    for space in all_spaces(read):
        key = vector_key(space.keyed_by)
        sql = f"SELECT count(*) FROM vectors v JOIN entries e ON v.key = {key} WHERE v.space = ? AND e.live"
        choices.append(space._replace(entries=read.sql.execute(sql, (space.space,)).fetchone()[0]))
    return sorted((s for s in choices if s.entries), key=lambda s: (-s.entries, s.space))


def choose(read: SqliteReading, model: str | None, dimensions: int) -> Space | None:
    """Return the space to search with a query vector; None if there are no vectors.

    Without a model: the only space, or the fullest one of that dimension.

    Raises:
        VectorError: no space has the query vector's model and dimensions.
    """
    sql = (
        "SELECT s.space, s.model, s.dimensions, s.keyed_by, 0 FROM spaces s "
        "WHERE EXISTS (SELECT 1 FROM vectors v WHERE v.space = s.space)"
    )
    known = typed_spaces(read.sql.execute(sql))
    named = known if model is None else [s for s in known if s.model == model]
    fitting = [s for s in named if s.dimensions == dimensions]
    if len(fitting) > 1:
        return next(s for s in spaces(read) if s.dimensions == dimensions)
    if fitting:
        return fitting[0]
    if not known:
        return None
    raise no_space(known, model, dimensions)


def of_rows(read: SqliteReading, space: Space, rows: Sequence[int]) -> list[StoredVector]:
    sql = (
        "SELECT j.key, v.vector FROM json_each(?) j JOIN entries e ON e.row = j.value "
        f"JOIN vectors v ON v.key = {vector_key(space.keyed_by)} AND v.space = ? ORDER BY j.key"
    )
    return sized(space, read.sql.execute(sql, (json.dumps(list(rows)), space.space)))


def of_ids(read: SqliteReading, model: str, dimensions: int, ids: Sequence[str]) -> dict[str, bytes]:
    source, parameter = listed(list(ids))
    blobs: dict[str, bytes] = {}
    # Passed vectors last, so that they overwrite a provider's.
    for space in sorted(all_spaces(read), key=lambda s: s.keyed_by, reverse=True):
        if (space.model, space.dimensions) == (model, dimensions):
            sql = (
                f"SELECT e.id, v.vector FROM {source} j CROSS JOIN entries e ON e.id = j.value "
                f"JOIN vectors v ON v.key = {vector_key(space.keyed_by)} AND v.space = ? WHERE e.live"
            )
            rows = read.sql.execute(sql, (parameter, space.space)).fetchall()
            stored = sized(space, enumerate(vector for _, vector in rows))
            blobs.update((entry_id, item.vector) for (entry_id, _), item in zip(rows, stored))
    return blobs


def given(read: SqliteReading) -> Iterator[tuple[str, str, bytes]]:
    sql = (
        f"SELECT e.id, s.model, v.vector FROM entries e JOIN vectors v ON v.key = {vector_key('entry')} "
        "JOIN spaces s ON s.space = v.space AND s.keyed_by = 'entry' WHERE e.live"
    )
    return read.sql.execute(sql)


def typed_spaces(rows: Iterable[tuple[Any, ...]]) -> list[Space]:
    """Convert rows to spaces; raise StoreError for an invalid value."""
    spaces = typed(Space, rows)
    for space in spaces:
        if not 0 < space.dimensions <= MOST_DIMENSIONS:
            raise StoreError(f"the space {space.space} has {space.dimensions} dimensions: {_FOREIGN}")
    return spaces


def sized(space: Space, rows: Iterable[tuple[Any, ...]]) -> list[StoredVector]:
    """Convert rows to vectors of a space; raise StoreError for a wrong dimension."""
    stored = typed(StoredVector, rows)
    if not {len(item.vector) for item in stored} <= {4 * space.dimensions}:
        raise StoreError(f"a vector of {space.model} does not have {space.dimensions} numbers: {_FOREIGN}")
    return stored


def models_of(read: SqliteReading, dimensions: int) -> list[str]:
    """Return the models with vectors of this dimension."""
    sql = (
        "SELECT s.model FROM spaces s WHERE s.dimensions = ? "
        "AND EXISTS (SELECT 1 FROM vectors v WHERE v.space = s.space) ORDER BY s.model"
    )
    return [r[0] for r in read.sql.execute(sql, (dimensions,))]


def _insert(write: SqliteWriting, rows: list[tuple[int, str, bytes]]) -> None:
    """Store rows of `vectors`, and clear the list."""
    sql = (
        "INSERT INTO vectors (space, key, vector) VALUES (?, ?, ?) "
        "ON CONFLICT (key, space) DO UPDATE SET vector = excluded.vector"
    )
    write.sql.executemany(sql, rows)
    rows.clear()


def _space_for(
    write: SqliteWriting, known: dict[str, Space], model: str, row: NDArray[np.float32], entry_id: str, now: float
) -> int:
    space = known.get(model)
    if space is not None and space.dimensions != row.size:
        if write.sql.execute("SELECT 1 FROM vectors WHERE space = ? LIMIT 1", (space.space,)).fetchone():
            raise VectorError(
                f"vector of {entry_id!r} has {row.size} dimensions, model {model!r} has {space.dimensions} "
                "in this vault: name another model=, or re-add every vector"
            )
        space = None
    if space is None:
        write.sql.execute(
            "INSERT INTO spaces (model, dimensions, keyed_by, created_at) VALUES (?, ?, 'entry', ?) "
            "ON CONFLICT DO NOTHING",
            (model, row.size, now),
        )
        space = next(s for s in _given_spaces(write) if s.model == model and s.dimensions == row.size)
        known[model] = space
    return space.space


def _given_spaces(write: SqliteWriting) -> list[Space]:
    # Spaces with vectors last, so that they win in a dict by model.
    sql = (
        "SELECT s.space, s.model, s.dimensions, s.keyed_by, 0 FROM spaces s WHERE keyed_by = 'entry' "
        "ORDER BY EXISTS (SELECT 1 FROM vectors v WHERE v.space = s.space)"
    )
    return typed_spaces(write.sql.execute(sql))


def _model(name: object) -> str:
    text = utf8(name, "model", EntryError, MOST_MODEL_CHARS)
    if not text.strip():
        raise EntryError("model is empty: wanted a name, or None")
    return text


def vectors_stored(read: SqliteReading, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
    source, parameter = listed([f"{vector.text_hash}:{vector.entry_id}" for vector in vectors])
    sql = (
        f"SELECT j.key, s.model, v.vector FROM {source} j JOIN vectors v ON v.key = j.value "
        "JOIN spaces s ON s.space = v.space WHERE s.keyed_by = 'entry'"
    )
    stored: dict[str, dict[str, bytes]] = {}
    for at, model, blob in read.sql.execute(sql, (parameter,)):
        stored.setdefault(vectors[at].entry_id, {})[model] = bytes(blob)
    return dict(stored)
