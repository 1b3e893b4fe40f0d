"""EmbeddingCache: vectors by content, in a file that all of a user's vaults may share."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet._core import Lock, WriteTransaction
from septet.embedding.embedder import MOST_SECONDS, Embedder, Kind, Pooling, checked_texts, pooling_of
from septet.errors import EmbeddingConfigError, StoreError
from septet.inputs.arguments import file_path, listed, real, shown, utf8, whole
from septet.model.vector import MOST_DIMENSIONS, entry_vector
from septet.notes import Note
from septet.sqlite.store.connection import SQLITE_FAULTS
from septet.system.filesystem import create_private
from septet.system.forks import Connection, close_before_forks, refuse_inherited, renew_in_children

#: Maximum vectors of a cache by default.
CACHE_LIMIT = 50_000
#: "SPTC": distinguishes a cache from other SQLite files.
APPLICATION_ID = 0x53505443
#: A busy cache is skipped: a request to the provider is faster than a long wait.
BUSY_TIMEOUT_S = 2.0

_SCHEMA = """
CREATE TABLE vectors (
    row        INTEGER PRIMARY KEY,
    provider   TEXT    NOT NULL,
    model      TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    dimensions INTEGER NOT NULL,
    text       TEXT    NOT NULL,            -- a digest: texts are not stored
    vector     BLOB    NOT NULL,            -- little-endian float32
    used       INTEGER NOT NULL,            -- time of the last read, in nanoseconds
    UNIQUE (provider, model, kind, dimensions, text)
);
CREATE INDEX vectors_by_use ON vectors (used);
"""
# The cache is a separate file with a separate schema, so its SQL is not in septet.storage.
_COUNT = "SELECT count(*) FROM vectors"
_GET = (
    "SELECT row, text, vector FROM vectors WHERE provider = ? AND model = ? AND kind = ? AND dimensions = ? "
    "AND text IN (SELECT value FROM json_each(?))"
)
_PUT = (
    "INSERT INTO vectors (provider, model, kind, dimensions, text, vector, used) VALUES (?, ?, ?, ?, ?, ?, ?) "
    "ON CONFLICT DO UPDATE SET vector = excluded.vector, used = excluded.used"
)
_USE = "UPDATE vectors SET used = ? WHERE row = ?"
_DROP_OLDEST = "DELETE FROM vectors WHERE row IN (SELECT row FROM vectors ORDER BY used, row LIMIT ?)"
_FORGET = "DELETE FROM vectors WHERE text = ?"
_SECURE = "PRAGMA secure_delete = ON"
_MODE = "PRAGMA journal_mode"
_SWITCH = "PRAGMA journal_mode = WAL"
_SYNC = "PRAGMA synchronous = NORMAL"
_TABLES = "SELECT count(*) FROM sqlite_master"
_APPLICATION = "PRAGMA application_id"
_VERSION = "PRAGMA user_version"
_BEGIN = "BEGIN IMMEDIATE"
_MARK = (f"PRAGMA application_id = {APPLICATION_ID}", "PRAGMA user_version = 1")


class CacheNamespace(NamedTuple):
    """Identity of cached vectors: provider, model, kind of text, and pooling of long texts.

    ``provider`` includes the address of a server other than the provider's: it may use the same name for another model.
    """

    provider: str
    model: str
    kind: Kind
    pooling: Pooling | None = None

    def digest(self, text: str) -> str:
        """Return the key of a text; for a text that may be long it depends on the pooling."""
        raw = text.encode("utf-8", "surrogatepass")
        if self.pooling is not None and len(raw) > self.pooling.whole_bytes:
            raw += b"\0" + self.pooling.name.encode()
        return blake2b(raw, digest_size=16).hexdigest()


def namespace_of(embedder: Embedder, kind: Kind) -> CacheNamespace:
    """Return the cache namespace of an embedder's vectors for a kind of text."""
    address = getattr(embedder, "address", None)
    provider = f"{embedder.provider} at {address}" if isinstance(address, str) else embedder.provider
    return CacheNamespace(provider, embedder.model, kind, pooling_of(embedder))


class EmbeddingCache:
    """Vectors by provider, model, dimension, kind and a digest of the text. Evicts the least recently used ones.

    Threads, vaults and processes may share one. An unusable file is not touched, and reported in `notes`.

    Args:
        path: the file, created on first use.
        limit: maximum vectors, at least 1.
        busy_timeout_s: maximum wait for another process that writes; then this access skips the cache.

    Raises:
        EmbeddingConfigError: `path` is not a path, or a number is out of range.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, limit: int = CACHE_LIMIT, busy_timeout_s: float = BUSY_TIMEOUT_S
    ) -> None:
        self.path = file_path(path, "path of the cache", EmbeddingConfigError)
        self.limit = whole(limit, "limit", EmbeddingConfigError, 1, 2**63 - 1)
        self._busy_timeout_s = real(busy_timeout_s, "busy_timeout_s", EmbeddingConfigError, 0, MOST_SECONDS)
        self._file = str(Path(self.path).absolute())
        self._sql: sqlite3.Connection | None = None
        self._notes: list[Note] = []
        #: True if the file is no longer used.
        self._disabled = False
        self._lock = Lock(gated=True, again=True)
        close_before_forks(self)
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"EmbeddingCache({self.path!r}, limit={self.limit})"

    @property
    def notes(self) -> tuple[Note, ...]:
        """The reason why the file was unusable at the last attempt; empty if it was usable."""
        return tuple(self._notes)

    def __len__(self) -> int:
        rows = self._query(_COUNT, ())
        return int(rows[0][0]) if rows else 0

    def get(self, namespace: CacheNamespace, dimensions: int, texts: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the cached vectors ``(d,)`` by text, and mark them as used.

        Raises:
            EmbeddingConfigError: an argument has the wrong type, or the dimension is out of range.
        """
        _check(namespace)
        whole(dimensions, "dimensions", EmbeddingConfigError, 1, MOST_DIMENSIONS)
        texts = checked_texts(texts)
        digests = {namespace.digest(text): text for text in texts}
        rows = self._query(_GET, (*namespace[:3], dimensions, json.dumps(list(digests))))
        vectors = {}
        for _, digest, blob in rows:
            row = np.frombuffer(blob, dtype="<f4").astype(np.float32, copy=False)
            if row.size == dimensions and np.isfinite(row).all() and row.any():
                vectors[digests[digest]] = row
        if vectors:
            uses = [(time.time_ns(), row) for row, digest, _ in rows if digests[digest] in vectors]
            self._write(_USE, uses)
        return vectors

    def put(self, namespace: CacheNamespace, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Store the vectors ``(d,)`` of texts, and evict the least recently used ones beyond the limit.

        Raises:
            EmbeddingConfigError: an argument has the wrong type.
            VectorError: a vector is not a row of numbers.
        """
        _check(namespace)
        if not isinstance(vectors, Mapping):
            raise EmbeddingConfigError(f"vectors is {shown(vectors)}: wanted a dict of vectors by text")
        vectors = {
            utf8(text, "a text", EmbeddingConfigError): entry_vector(row, "a cached vector")
            for text, row in vectors.items()
        }
        rows = [
            (*namespace[:3], row.size, namespace.digest(text), row.astype("<f4", copy=False).tobytes(), time.time_ns())
            for text, row in vectors.items()
        ]
        self._write(_PUT, rows)

    def forget(self, texts: Sequence[str], poolings: Iterable[Pooling] = ()) -> int:
        """Remove the vectors of texts, of all models, and return their number.

        Args:
            poolings: the possible poolings of long texts.

        Raises:
            EmbeddingConfigError: `texts` is not a list of texts, or `poolings` not of poolings.
        """
        values = listed(poolings, "poolings", EmbeddingConfigError, "Pooling values")
        if not all(isinstance(pooling, Pooling) for pooling in values):
            raise EmbeddingConfigError(f"poolings is {shown(poolings)}: wanted Pooling values")
        namespaces = [CacheNamespace("", "", "document", pooling) for pooling in (None, *values)]
        digests = {namespace.digest(text) for text in checked_texts(texts) for namespace in namespaces}
        before = len(self)
        self._write(_FORGET, [(digest,) for digest in sorted(digests)])
        return max(0, before - len(self))

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock.hold():
            self._close()

    def end(self) -> None:
        """Close the file permanently: later reads and writes skip the cache."""
        with self._lock.hold():
            self._disabled = True
            self._close()

    def close_connections(self) -> None:
        """Close the file before a fork, unless this thread is using it."""
        # Another thread may hold the lock until the fork has ended.
        if not self._lock.mine:
            self._close()

    def after_fork(self) -> None:
        """Drop the parent's connection in a forked child, without closing it."""
        self._sql = None

    def _close(self) -> None:
        if self._sql is not None:
            self._sql.close()
            self._sql = None

    def _query(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        with self._lock.hold():
            try:
                return [] if self._disabled else self._open().execute(sql, parameters).fetchall()
            except (*SQLITE_FAULTS, StoreError) as fault:
                self._fail(fault)
                return []

    def _write(self, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        if self._disabled or not rows:
            return
        # SQLite's errors are raised unchanged.
        write = WriteTransaction(self._lock, self._open, lambda sql: sql, self._notes.clear, lambda *_: None, False)
        try:
            with write as connection:
                connection.executemany(sql, rows)
                excess = connection.execute(_COUNT).fetchone()[0] - self.limit
                if excess > 0:
                    connection.execute(_DROP_OLDEST, (excess,))
        except (*SQLITE_FAULTS, StoreError) as fault:
            with self._lock.hold():
                self._fail(fault)

    def _open(self) -> sqlite3.Connection:
        if self._sql is not None:
            return self._sql
        if self._disabled:
            raise StoreError(f"{self.path} is closed")
        refuse_inherited(self._file)
        create_private(self._file)
        connection = sqlite3.connect(
            self._file, timeout=self._busy_timeout_s, isolation_level=None, check_same_thread=False, factory=Connection
        )
        try:
            # In this order: another process may create the cache between the two statements.
            tables = connection.execute(_TABLES).fetchone()[0]
            own = connection.execute(_APPLICATION).fetchone()[0] == APPLICATION_ID
            if tables if not own else connection.execute(_VERSION).fetchone()[0] != 1:
                raise sqlite3.DatabaseError("the file belongs to another program or another version")
            # The switch to WAL does not wait for other connections, so avoid it if possible.
            if connection.execute(_MODE).fetchone() != ("wal",):
                connection.execute(_SWITCH)
            connection.execute(_SYNC)
            connection.execute(_SECURE)
            _create(connection)
            connection.register(self._file)
        except BaseException:
            connection.close()
            raise
        self._sql = connection
        return connection

    def _fail(self, fault: Exception) -> None:
        """Skip the cache: once if it is busy or the disk is full, permanently if it is unusable."""
        message = str(fault)
        if self._disabled or "locked" in message or "busy" in message:
            return
        if self._sql is not None:
            with suppress(sqlite3.Error):
                self._sql.close()
            self._sql = None
        self._disabled = re.search("full|disk I/O", message) is None
        remedy = "delete the file or choose another" if self._disabled else "make room on the disk"
        cause = f"the embedding cache {self.path} cannot be used: {fault}"
        self._notes = [Note("cache_unusable", cause, f"{remedy}; embedding works without it")]


def _check(namespace: CacheNamespace) -> None:
    if not isinstance(namespace, CacheNamespace) or not all(isinstance(part, str) for part in namespace[:3]):
        raise EmbeddingConfigError(f"namespace is {shown(namespace)}: wanted a CacheNamespace of texts")


def _create(connection: sqlite3.Connection) -> None:
    if connection.execute(_APPLICATION).fetchone()[0] == APPLICATION_ID:
        return
    with connection:
        connection.execute(_BEGIN)
        # Another process may have created it while this one waited.
        if connection.execute(_APPLICATION).fetchone()[0] == APPLICATION_ID:
            return
        for statement in _SCHEMA.split(";"):
            connection.execute(statement)
        for pragma in _MARK:
            connection.execute(pragma)
