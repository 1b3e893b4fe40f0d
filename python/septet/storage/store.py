"""Store: one SQLite file, its readers, its one writer, and its clock, the generation."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from septet.errors import Closed, ReadOnly
from septet.notes import Note
from septet.storage.connection import BUSY_TIMEOUT_S, MEMORY, absolute, connect, prepare, store_error, translated
from septet.storage.forks import renew_in_children
from septet.storage.identity import NOTHING, WRITERS, Identity, State, writer_of

__all__ = ["ReadTransaction", "Reading", "Store", "Writing", "store_id", "writer_at"]

IDLE_READERS = 8
#: How long closing waits for reads that other threads have not finished.
CLOSE_WAIT_S = 10.0


class Reading(NamedTuple):
    """A read transaction: everything read through it belongs to one generation.

    Attributes:
        writer: who wrote the generation, see `writer_at`. A file that is restored in place goes back, and comes to the
            same generations again with other entries: generation and writer together name a state.
    """

    sql: sqlite3.Connection
    generation: int
    writer: str = ""


class Writing(NamedTuple):
    """A write transaction; rows written carry its generation."""

    sql: sqlite3.Connection
    generation: int


class ReadTransaction:
    """A read transaction until it is ended, at the latest when nothing refers to it any more.

    Attributes:
        reading: what is read.
    """

    # A generator, because Python closes one that an interrupt leaves behind.
    __slots__ = ("_held", "reading")

    def __init__(self, held: Iterator[Reading]) -> None:
        self._held = held
        self.reading = next(held)

    def end(self) -> None:
        """Give the connection back."""
        self._held.close()  # type: ignore[attr-defined]


class Store:
    """One SQLite file. Threads may share it: each read borrows a connection, writes take turns."""

    def __init__(self, path: str, *, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        # A relative path keeps its meaning for connections opened after a change of the working directory.
        self._file = path if path == MEMORY else absolute(path)
        self.read_only = read_only
        self._busy_timeout_s = busy_timeout_s
        self._closed = False
        #: The state that this store wrote last.
        self._last_written = NOTHING
        self.identity = Identity(self._file, in_memory=self.in_memory)
        self._renew_locks()
        self._idle: list[sqlite3.Connection] = []
        self._process = os.getpid()
        self._inherited: list[sqlite3.Connection] = []
        first = self._connect("rwc", writer=True)
        try:
            prepare(first, self._file, read_only=read_only, busy_timeout_s=busy_timeout_s)
        except BaseException:
            first.close()
            raise
        self._writer = first
        renew_in_children(self)

    def close(self) -> None:
        """Close every connection; reads of other threads finish first. Closing twice is fine."""
        with self._write_lock, self._returned:
            self._closed = True
            # The last connection that closes removes SQLite's log, and the caller may expect this one to.
            self._returned.wait_for(lambda: not set(self._readers) - {threading.get_ident()}, CLOSE_WAIT_S)
            for connection in (self._writer, *self._idle):
                connection.close()
            self._idle.clear()

    def after_fork(self) -> None:
        """Replace the locks in a forked child; connections are replaced when one is needed."""
        self._renew_locks()
        self._last_written = NOTHING

    def _renew_locks(self) -> None:
        self._write_lock = threading.RLock()
        self._pool_lock = threading.Lock()
        self._returned = threading.Condition(self._pool_lock)
        #: Read transactions by thread.
        self._readers: dict[int, int] = {}

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    @property
    def file(self) -> str:
        """The path of the file from the root; ``":memory:"`` without one."""
        return self._file

    @property
    def in_memory(self) -> bool:
        """Whether the store has no file."""
        return self.path == MEMORY

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Open a read transaction.

        Raises:
            Closed: the vault was closed.
            StoreError: the file cannot be read.
        """
        transaction = self.begin_reading()
        try:
            with translated(self._file):
                yield transaction.reading
        finally:
            transaction.end()

    def begin_reading(self) -> ReadTransaction:
        """Begin a read transaction, see `reading`; of a store in memory, the same thread must end it."""
        try:
            return ReadTransaction(self._reading())
        except sqlite3.Error as fault:
            raise store_error(fault, self._file) from fault

    def _reading(self) -> Iterator[Reading]:
        if self.path == MEMORY:
            # A database in memory belongs to its connection, so readers and the writer take turns on it.
            with self._write_lock:
                self._open_or_raise()
                yield Reading(self._writer, *self._writer.execute(_STATE).fetchone())
            return
        # Whoever ends the transaction may be another thread.
        reader = threading.get_ident()
        connection = self._borrow(reader)
        try:
            # The transaction lasts as long as this statement has a row left. BEGIN and ROLLBACK would each give the
            # interpreter's lock away twice, and other threads wait for it.
            lasting = connection.execute(_STATE_AND_MORE)
            try:
                yield Reading(connection, *lasting.fetchone())
            finally:
                lasting.close()
        finally:
            self._give_back(connection, reader)

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        """Open a write transaction: committed at the end, rolled back on any exception.

        Raises:
            Closed: the vault was closed.
            ReadOnly: opened for reading.
            StoreBusy: another process held the lock for too long.
        """
        with self._transaction() as sql:
            before, writer = self._checked(sql)
            generation = before + 1
            sql.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (generation,))
            if self._last_written != (before, writer):
                writer = _sign(sql, generation)
            yield Writing(sql, generation)
        self._last_written = (generation, writer)
        self.identity.wrote(self._last_written)

    @contextmanager
    def bookkeeping(self) -> Iterator[Writing]:
        """Open a write transaction that leaves the generation alone: no snapshot depends on what it writes."""
        with self._transaction() as sql:
            yield Writing(sql, self._checked(sql)[0])

    def _checked(self, sql: sqlite3.Connection) -> State:
        """Return the state of the store in a write transaction, if it is still the store that was opened."""
        state: State = sql.execute(_STATE).fetchone()
        self.identity.check(sql, state)
        return state

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._write_lock:
            self._open_or_raise()
            if self.read_only:
                raise ReadOnly(f"{self.path} was opened with read_only=True: open it for writing to change it")
            sql = self._writer
            with translated(self._file):
                try:
                    # Inside, so that an interrupt just behind it ends the transaction.
                    sql.execute("BEGIN IMMEDIATE")
                    yield sql
                    sql.execute("COMMIT")
                except BaseException:
                    if sql.in_transaction:
                        sql.execute("ROLLBACK")
                    raise

    def notes(self, tier: str) -> list[Note]:
        """Return what searches should say of the file."""
        # Asked in every search.
        try:
            found = os.stat(self._file)  # noqa: PTH116
            if (found.st_dev, found.st_ino) == self.identity.file:
                return []
        except OSError:
            pass
        return self.identity.notes(tier)

    def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the store to another file while it is in use, by SQLite's online backup.

        The copy appears under its name only when it is complete.
        """
        from septet.storage.copying import copy_to

        with self.reading() as read:
            # Inside a read transaction the copy is of one generation, whatever is written meanwhile.
            copy_to(path, read.sql, "" if self.in_memory else self._file, progress)

    def _connect(self, mode: str = "rw", *, writer: bool = False) -> sqlite3.Connection:
        # Only the first connection may make the file: a vault that was deleted must not come back empty.
        mode = "ro" if self.read_only else mode
        # Before too: SQLite would play the log that lies there over a file that it does not belong to.
        self.identity.check_file()
        connection = connect(self._file, mode=mode, busy_timeout_s=self._busy_timeout_s, writer=writer)
        try:
            self.identity.opened(writer=writer and not self.read_only)
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_or_raise(self) -> None:
        if self._closed:
            raise Closed(f"the vault {self.path} was closed: open it again")
        if self._process != os.getpid() and not self.in_memory:
            # A forked child must neither use nor close its parent's connections (SQLite's rule): keep them unused.
            self._inherited = [self._writer, *self._idle]
            self._idle = []
            self._process = os.getpid()
            self._writer = self._connect(writer=True)

    def _borrow(self, reader: int) -> sqlite3.Connection:
        with self._pool_lock:
            if self._closed or self._process != os.getpid():
                self._open_or_raise()
            connection = self._idle.pop() if self._idle else None
            self._readers[reader] = self._readers.get(reader, 0) + 1
        try:
            return self._connect() if connection is None else connection
        except BaseException:
            with self._pool_lock:
                self._leave(reader)
            raise

    def _give_back(self, connection: sqlite3.Connection, reader: int) -> None:
        with self._pool_lock:
            self._leave(reader)
            kept = not self._closed and len(self._idle) < IDLE_READERS
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()

    def _leave(self, reader: int) -> None:
        """Take note that a thread reads less; the pool's lock is held."""
        # A fork in the middle of a read leaves the child without a record of it.
        left = self._readers.pop(reader, 1) - 1
        if left:
            self._readers[reader] = left
        elif self._closed:
            self._returned.notify_all()


_GENERATION = "SELECT value FROM meta WHERE key = 'generation'"
_LATEST = "SELECT key || ':' || value FROM meta WHERE key BETWEEN 'writer:' AND 'writer;' ORDER BY key DESC LIMIT 1"
#: The generation, and who wrote it.
_STATE = f"SELECT CAST(value AS INTEGER), coalesce(({_LATEST}), '') FROM meta WHERE key = 'generation'"
#: One row more than is fetched.
_STATE_AND_MORE = f"{_STATE} UNION ALL SELECT NULL, NULL"


def _generation(sql: sqlite3.Connection) -> int:
    return int(sql.execute(_GENERATION).fetchone()[0])


def store_id(read: Reading) -> str:
    """Return the id that a store was given when it was made; copies have the same."""
    return str(read.sql.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()[0])


def writer_at(read: Reading, generation: int) -> str:
    """Return who wrote a generation: from which one on, and a name; empty where it is unknown.

    Two copies of a store that were changed separately have the same generations, from different writers.
    """
    return writer_of(read.sql, generation)


def _signature(generation: int) -> str:
    return f"writer:{generation:016d}"


def _sign(sql: sqlite3.Connection, generation: int) -> str:
    """Record that somebody else writes from this generation on, under a new name, and return both.

    The changes of writer before the last few thousand are dropped.
    """
    key, name = _signature(generation), os.urandom(16).hex()
    sql.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, name))
    oldest = "SELECT key FROM meta WHERE key BETWEEN 'writer:' AND 'writer;' ORDER BY key DESC LIMIT 1 OFFSET ?"
    sql.execute(f"DELETE FROM meta WHERE key BETWEEN 'writer:' AND ({oldest})", (WRITERS,))
    return f"{key}:{name}"
