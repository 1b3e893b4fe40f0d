"""PostgresStore: one vault of a database, its connections, its transactions, and its clock."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from septet.errors import Closed, ReadOnly
from septet.results import Note
from septet.storage.forks import renew_in_children
from septet.storage.postgres.dsn import Address
from septet.storage.postgres.faults import store_error
from septet.storage.postgres.locks import Held
from septet.storage.postgres.migrations import check_version, prepare, version_of
from septet.storage.postgres.tables import PostgresTables
from septet.storage.postgres.vaults import VaultRow, opened

if TYPE_CHECKING:
    from psycopg.rows import TupleRow

__all__ = ["PostgresReading", "PostgresStore", "PostgresWriting"]

#: Connections that one process keeps to one vault, at most.
MOST_CONNECTIONS = 8
#: How long a call waits for a connection.
CONNECT_TIMEOUT_S = 2.0
#: How long the server works on one statement of a read.
STATEMENT_TIMEOUT_S = 30.0
_TABLES = PostgresTables()


class PostgresReading(NamedTuple):
    """A read transaction: everything read through it belongs to one snapshot of the database.

    Attributes:
        sql: executes statements with ``%s`` or ``%(name)s``; the transaction is open.
        vault: number, buckets and kind of vectors.
        generation: the last number of the clock that had been given out when it began.
    """

    sql: psycopg.Connection[TupleRow]
    vault: VaultRow
    generation: int
    writer: str = ""

    @property
    def tables(self) -> PostgresTables:
        """The modules that read and write what the transaction holds."""
        return _TABLES


class PostgresWriting(NamedTuple):
    """A write transaction; rows written carry its generation. What it reads of entries is locked until its end.

    Attributes:
        held: what it has locked.
    """

    sql: psycopg.Connection[TupleRow]
    vault: VaultRow
    generation: int
    held: Held

    @property
    def tables(self) -> PostgresTables:
        """The modules that read and write what the transaction holds."""
        return _TABLES


class PostgresStore:
    """One vault of a database. Threads may share it: each transaction borrows a connection of the pool."""

    in_memory = False
    place: Note | None = None
    at_rest = None

    def __init__(
        self,
        dsn: str,
        vault: str,
        *,
        read_only: bool = False,
        buckets: int = 32,
        vectors: str = "vector",
        most_connections: int = MOST_CONNECTIONS,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        statement_timeout_s: float = STATEMENT_TIMEOUT_S,
    ) -> None:
        self._address = Address.of(dsn, vault)
        #: What may be shown: the server, the database and the vault, without user and password.
        self.path = self.file = self._address.shown
        self.read_only, self.name = read_only, vault
        self._most, self._connect_s, self._statement_s = most_connections, connect_timeout_s, statement_timeout_s
        self._closed, self.last_generation = False, 0
        self._prepare()
        self._pool = self._new_pool()
        try:
            with self._connection() as sql:
                self.vault = opened(sql, vault, None if read_only else (buckets, vectors), time.time(), self.path)
        except BaseException:
            self.close()
            raise
        renew_in_children(self)

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def close(self) -> None:
        """Close every connection. Closing twice is fine."""
        self._closed = True
        self._pool.close()

    def after_fork(self) -> None:
        """Begin without connections in a forked child: those of the parent are the parent's."""
        # The inherited pool is left alone, so that nothing is sent over the parent's connections.
        self._inherited = self._pool
        self._pool = self._new_pool()
        if self._closed:
            self._pool.close()

    def bucket_of(self, text: str) -> int:
        """Return the bucket of an id, or of a term."""
        return self.vault.bucket_of(text)

    def notes(self, tier: str) -> list[Note]:
        """Return what searches should say of the server."""
        return []

    @contextmanager
    def reading(self) -> Iterator[PostgresReading]:
        """Begin a read transaction, until the end of a ``with`` block.

        Raises:
            Closed: the vault was closed.
            Unreachable: the server does not answer.
            StoreError: it answers with a fault.
        """
        with self._connection() as sql:
            sql.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            found = sql.execute("SELECT last_value FROM septet.clock").fetchone()
            try:
                yield PostgresReading(sql, self.vault, 0 if found is None else int(found[0]))
            finally:
                _end(sql, "ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[PostgresWriting]:
        """Begin a write transaction: committed at the end of the ``with`` block, rolled back on any exception.

        Raises:
            ReadOnly: opened for reading, or the server is a standby.
            StoreBusy: other writers were in the way again and again.
        """
        with self._writing("SELECT nextval('septet.clock')") as write:
            yield write
        self.last_generation = write.generation

    @contextmanager
    def bookkeeping(self) -> Iterator[PostgresWriting]:
        """Begin a write transaction that changes no entry."""
        with self._writing("SELECT last_value FROM septet.clock") as write:
            yield write

    # -- inside --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self, clock: str) -> Iterator[PostgresWriting]:
        if self.read_only and not self._closed:
            raise ReadOnly(f"{self.path} was opened with read_only=True: open it for writing to change it")
        with self._connection() as sql:
            sql.execute("BEGIN")
            try:
                found = sql.execute(clock).fetchone()
                yield PostgresWriting(sql, self.vault, 0 if found is None else int(found[0]), Held())
                sql.execute("COMMIT")
            except BaseException:
                _end(sql, "ROLLBACK")
                raise

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[TupleRow]]:
        """Borrow a connection; errors of the server become Septet's."""
        if self._closed:
            raise Closed(f"the vault {self.path} was closed: open it again")
        try:
            with self._pool.connection(timeout=self._connect_s) as sql:
                yield sql
        except (psycopg.Error, PoolTimeout, PoolClosed) as fault:
            raise store_error(fault, self.path) from fault

    def _prepare(self) -> None:
        """Make the tables where the database has none yet; a schema of another version is refused."""
        try:
            with psycopg.connect(
                self._address.conninfo, autocommit=True, connect_timeout=max(2, round(self._connect_s))
            ) as sql:
                version = version_of(sql)
                if version == 0 and not self.read_only:
                    prepare(sql, self.path)
                else:
                    check_version(version, self.path)
        except psycopg.Error as fault:
            raise store_error(fault, self.path) from fault

    def _new_pool(self) -> ConnectionPool[Any]:
        return ConnectionPool(
            self._address.conninfo,
            kwargs={
                "autocommit": True,
                "connect_timeout": max(2, round(self._connect_s)),
                "application_name": "septet",
                "options": f"-c statement_timeout={round(self._statement_s * 1e3)}",
            },
            min_size=0,
            max_size=self._most,
            configure=_configure,
            open=True,
            name=f"septet-{os.getpid()}",
        )


def _configure(sql: psycopg.Connection[Any]) -> None:
    from pgvector.psycopg import register_vector

    register_vector(sql)


def _end(sql: psycopg.Connection[Any], statement: str) -> None:
    """End a transaction, unless the connection is gone and has ended it."""
    if not sql.broken and not sql.closed and sql.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
        sql.execute(statement)
