"""Indexes over vectors (HNSW), which find most of the nearest without a look at every vector: made, removed, measured.

An index covers one space of one vault. Searches use it once the space is marked; its results are
approximate, so searches say that too, with the share that was found when it was measured (`measure`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import StoreBusy, StoreError, VectorError
from septet.inputs.arguments import shown, whole
from septet.model.vector import Space
from septet.notes import Note
from septet.postgres.store.packing import sent, unpacked
from septet.postgres.store.pipeline import together
from septet.postgres.store.transactions import lock_key
from septet.postgres.tables import fragments, nearest
from septet.postgres.tables.fragments import searched, vector_key
from septet.postgres.tables.marks import put_setting
from septet.store.rows import Condition

if TYPE_CHECKING:
    import psycopg

    from septet.postgres.store.store import PostgresStore
    from septet.postgres.store.transactions import PostgresReading

#: Prefix of the setting with the measured recall of an index, before the number of the space.
RECALL = "recall:"
#: Maximum dimensions that pgvector's HNSW indexes, by type of stored vector.
_MOST_DIMENSIONS = {"vector": 2_000, "halfvec": 4_000}
#: Ranges of its parameters: links of a node, and candidates examined for a new one.
_M, _EF = (2, 100), (4, 1_000)
#: Vectors that are fetched at once, and cosines that a float32 product may miss by.
_PAGE, _EQUAL = 5_000, 1 / 100_000

_INDEXED = "SELECT s.space FROM septet.spaces s WHERE s.vault = %s AND s.hnsw"
_MARK = "UPDATE septet.spaces SET hnsw = %s WHERE vault = %s AND space = %s"
_VALID = "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(%s::text)"
# `_alone` holds its lock while an index is created or removed.
_UNFINISHED = """
SELECT n.space FROM unnest(%s::integer[], %s::text[], %s::bigint[]) AS n (space, name, key)
JOIN pg_index i ON i.indexrelid = to_regclass(n.name)
WHERE NOT i.indisvalid AND NOT EXISTS (
    SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 1
    AND ((l.classid::bigint << 32) | l.objid::bigint) = n.key
)
"""
# Names and numbers are ours.
_CREATE = (
    "CREATE INDEX CONCURRENTLY {name} ON septet.vectors USING hnsw (({expression}) {operators}) "
    "WITH (m = {m}, ef_construction = {ef}) WHERE vault = {vault} AND space = {space}"
)
# By their sample keys, which are as good as random.
_VECTORS = """
SELECT e.row, {sent} FROM septet.vectors v
JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {key} = v.key
WHERE v.vault = %s AND v.space = %s AND {searched} ORDER BY v.sample, e.row LIMIT %s
"""
_DROP = "DROP INDEX CONCURRENTLY IF EXISTS septet.{name}"


class Recall(NamedTuple):
    """The recall of an index: the share (0 to 1) of the ``k`` nearest over queries with vectors of the space."""

    model: str
    dimensions: int
    found: float
    k: int
    queries: int


def index_vectors(
    store: PostgresStore, how: str, *, model: str | None = None, m: int = 16, ef_construction: int = 64
) -> list[Space]:
    """Make indexes over vectors, or remove them; return the spaces. See `septet.postgres.vault.PostgresVault`."""
    if how not in ("hnsw", "none"):
        raise StoreError(f"index_vectors takes 'hnsw' or 'none', not {shown(how)}")
    m = whole(m, "m", StoreError, *_M)
    ef = whole(ef_construction, "ef_construction", StoreError, *_EF)
    if ef < 2 * m:
        raise StoreError(f"ef_construction is {ef}: wanted at least twice m, {2 * m}")
    with store.reading() as read:
        spaces = [s for s in read.tables.vectors.spaces(read) if model in (None, s.model)]
    if not spaces:
        raise StoreError(f"{store.path} has no vectors" + ("" if model is None else f" of {shown(model)}"))
    most = _MOST_DIMENSIONS[store.vault.vectors]
    for space in spaces if how == "hnsw" else ():
        if space.dimensions > most:
            cure = "keep them in a vault made with vectors='halfvec', up to 4,000, or search exactly"
            raise VectorError(
                f"{space.model} has {space.dimensions:,} dimensions: an index takes {most:,} at most; {cure}"
            )
    for space in spaces:
        with store.maintaining() as sql, _alone(sql, store, space):
            # Let searches scan every vector again, and remove the index if there is one.
            sql.execute(_MARK, (False, store.vault.number, space.space))
            sql.execute(_DROP.format(name=nearest.index_name(store.vault, space)))
            if how == "hnsw":
                _make(sql, store, space, m, ef)
    return spaces


def indexed_spaces(read: PostgresReading) -> set[int]:
    """Return the numbers of the spaces that have an index."""
    return {space for (space,) in read.sql.execute(_INDEXED, (read.vault.number,))}


def unfinished(read: PostgresReading) -> list[Space]:
    """Return the spaces whose index a crash left unfinished: it costs each write, and searches do not use it."""
    spaces = {space.space: space for space in read.tables.vectors.spaces(read)}
    names = [f"septet.{nearest.index_name(read.vault, space)}" for space in spaces.values()]
    keys = [lock_key(read.vault.number, "index", space.space) for space in spaces.values()]
    return [spaces[space] for (space,) in read.sql.execute(_UNFINISHED, ([*spaces], names, keys))]


def measure(store: PostgresStore, *, queries: int = 1_000, k: int = 10) -> list[Recall]:
    """Measure the recall of each index with vectors of its own space; later searches note it."""
    with store.reading() as read:
        numbers = indexed_spaces(read)
        spaces = [space for space in read.tables.vectors.spaces(read) if space.space in numbers]
        recalls = [_recall_of(read, space, queries, k) for space in spaces]
    if recalls and not store.read_only:
        with store.bookkeeping() as write:
            for space, recall in zip(spaces, recalls):
                put_setting(write, f"{RECALL}{space.space}", json.dumps(recall[2:]))
    return recalls


def approximate(space: Space, measured: str | None, tier: str) -> Note:
    """Return the note on a search that used an index; ``measured`` is the setting by `RECALL` and its number."""
    cause = f"an index chose among the vectors of {space.model}"
    if measured is not None:
        share, k, queries = json.loads(measured)
        cause += f"; it found, of the true {k} nearest vectors, {share:.1%} in a test with {queries:,} of them"
    return Note("approximate", cause, "index_vectors('none') searches exactly", tier)


def _make(sql: psycopg.Connection[Any], store: PostgresStore, space: Space, m: int, ef: int) -> None:
    vault = store.vault
    name = nearest.index_name(vault, space)
    create = _CREATE.format(
        name=name,
        expression=nearest.indexed_expression(vault.vectors, space.dimensions),
        operators=f"{vault.vectors}_cosine_ops",
        m=int(m),
        ef=int(ef),
        vault=int(vault.number),
        space=int(space.space),
    )
    try:
        sql.execute(create)
        valid = sql.execute(_VALID, (f"septet.{name}",)).fetchone()
        if valid is None or not valid[0]:
            raise StoreError(f"the index over {space.model} was not completed: make it again")
    except BaseException:
        # An unfinished index costs every write and speeds up no search.
        if not sql.broken:
            sql.execute(_DROP.format(name=name))
        raise
    sql.execute(_MARK, (True, vault.number, space.space))


@contextmanager
def _alone(sql: psycopg.Connection[Any], store: PostgresStore, space: Space) -> Iterator[None]:
    """Hold the lock of the index of a space against other processes that create or remove it."""
    key = (lock_key(store.vault.number, "index", space.space),)
    row = sql.execute("SELECT pg_try_advisory_lock(%s::bigint)", key).fetchone()
    if row is None or not row[0]:
        raise StoreBusy(f"another process is making or removing the index over {space.model}: try again later")
    try:
        yield
    finally:
        if not sql.broken:
            sql.execute("SELECT pg_advisory_unlock(%s::bigint)", key)


def _recall_of(read: PostgresReading, space: Space, queries: int, k: int) -> Recall:
    drawn = _core.unit_rows(next(_pages(read, space, queries, queries), np.empty((0, space.dimensions), np.float32)))
    best = _exact(read, space, drawn, k)
    condition = Condition(searched(memories=True), ())
    hit = wanted = 0
    for query, cosines in zip(drawn, best):
        asking = nearest.nearest(read.vault, space, query, k, condition, indexed=True, narrowed=False)
        *_, rows = together(read, [*nearest.settings(read.vault, k), asking])
        if read.vault.distributed:
            (rows,) = nearest.entries(read, space, [nearest.Leg(query, k, condition)], [rows])
        (found_rows,) = together(read, [fragments.of_rows(read.vault, nearest.near(rows, k), space)])
        there = _core.unit_rows(unpacked(read.vault.vectors, [row[0] for row in found_rows], space.dimensions)) @ query
        hit += int((np.sort(there)[::-1][: len(cosines)] >= cosines[-1] - _EQUAL).sum())
        wanted += len(cosines)
    return Recall(space.model, space.dimensions, hit / wanted if wanted else 1.0, k, len(drawn))


def _exact(read: PostgresReading, space: Space, drawn: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """Return the ``k`` largest cosines of each of some unit vectors ``(q, d)`` with all of a space, descending."""
    best = np.empty((len(drawn), 0), dtype=np.float32)
    for page in _pages(read, space, _PAGE, None):
        together = np.concatenate([best, drawn @ _core.unit_rows(page).T], axis=1)
        best = -np.partition(-together, min(k, together.shape[1]) - 1, axis=1)[:, :k]
    return -np.sort(-best, axis=1)


def _pages(read: PostgresReading, space: Space, size: int, most: int | None) -> Iterator[NDArray[np.float32]]:
    """Yield the vectors of entries of a space, in pages ``(size, d)``."""
    sql = _VECTORS.format(
        sent=sent(read.vault.vectors), key=vector_key(space.keyed_by), searched=searched(memories=True)
    )
    with read.sql.cursor(f"septet_vectors_{int(space.space)}") as cursor:
        cursor.execute(sql, (read.vault.number, space.space, most), binary=True)
        while page := cursor.fetchmany(size):
            yield unpacked(read.vault.vectors, [vector for _, vector in page], space.dimensions)
