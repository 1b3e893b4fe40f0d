"""Store: one SQLite file, its readers, its one writer, and its clock, the generation."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from operator import itemgetter
from typing import Any, ClassVar

from septet._core import Lock, Readers, ReadTransaction, WriteTransaction
from septet.errors import Closed, ReadOnly, StoreError
from septet.inputs.arguments import absolute
from septet.notes import Note
from septet.sqlite.store.connection import BUSY_TIMEOUT_S, MEMORY, SQLITE_FAULTS, connect, prepare, store_error
from septet.sqlite.store.identity import NOTHING, Identity, Look, State, look, place_note, sign, writer_of
from septet.sqlite.store.soundness import Unsound, traced
from septet.sqlite.tables import LOCAL
from septet.system.forks import Connection, close_before_forks, is_open, may_use_copies, renew_in_children, using_sqlite
from septet.system.records import NamedTuple

IDLE_READERS = 8
#: Maximum wait of `close` for reads of other threads, in seconds.
CLOSE_WAIT_S = 10.0


class _Read(NamedTuple):
    sql: sqlite3.Connection
    generation: int
    writer: str = ""


class SqliteReading(_Read):
    """A read transaction: a snapshot of one generation.

    Attributes:
        writer: writer of the generation, see `writer_at`. A file restored in place reaches the same generations again
            with other entries: only generation and writer together identify a state.
        tables: the tables, independent of the backend.
        state: generation and writer.
    """

    __slots__ = ()
    tables: ClassVar[Any] = LOCAL
    # Read in every search, so not a Python function.
    state = property(itemgetter(slice(1, None)))


class PartReading(SqliteReading):
    """A read transaction with some rows hidden."""

    __slots__ = ()


class _Write(NamedTuple):
    sql: sqlite3.Connection
    generation: int
    indexes: bool = True


class SqliteWriting(_Write):
    """A write transaction; rows written carry its generation.

    Attributes:
        indexes: True if each change updates the full-text tables; otherwise they are rebuilt at the end.
        tables: as of `SqliteReading`.
    """

    __slots__ = ()
    tables: ClassVar[Any] = LOCAL


class SqliteStore:
    """One SQLite file. Threads may share it: each read borrows a connection, writes take turns."""

    #: Writes have nothing to precompute.
    prepare = None

    def __init__(self, path: str, *, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self.in_memory = path == MEMORY
        # Absolute, so that later connections do not depend on the working directory.
        self.file = path if path == MEMORY else absolute(path)
        self.read_only = read_only
        self._busy_timeout_s = busy_timeout_s
        #: True once `close` was called.
        self.closed = False
        #: The last state written by this store, and the next one.
        self._last_written = self._next = NOTHING
        self.identity = Identity(self.file, in_memory=self.in_memory)
        #: Note on the folder; None if only this machine writes it.
        self.place = None if self.in_memory else place_note(self.file)
        self._untold = self.place
        #: Held by writers; in memory, with a single connection, also by readers.
        self._turn = Lock(gated=True, again=True)
        self._readers = Readers(IDLE_READERS)
        #: Connections of searches, with unsound rows hidden.
        kind: tuple[Callable[..., Connection] | None, type[SqliteReading]] = (None, SqliteReading)
        self._searched = self._readers, *kind
        #: Rows hidden from searches and exports, see `septet.sqlite.store.mending.set_aside`.
        self.left_out: Sequence[Unsound] = ()
        #: Translates SQLite's errors, and those caused by unsound rows.
        self._faults = traced(self.file).__exit__
        self._writer: Connection | None = None
        #: Signature of the file when opened as immutable; None otherwise.
        self.at_rest: Look | None = None
        with using_sqlite():
            first = self._connect("rwc", writer=True)
            try:
                prepare(first, self.file, read_only=read_only, busy_timeout_s=busy_timeout_s, alone=self.place is None)
            except BaseException:
                first.close()
                self.identity.closed()
                raise
            if not read_only:
                self.identity.switched()
            self._writer = first
        close_before_forks(self)
        renew_in_children(self)

    def close(self) -> None:
        """Close every connection; reads of other threads finish first. Closing twice is fine."""
        with self._turn.hold():
            self.closed = True
            orphans = self.identity.orphans()
            # The last connection to close removes the WAL, which the caller may expect.
            self._readers.close(CLOSE_WAIT_S)
            self._searched[0].close(CLOSE_WAIT_S)
            self._close_writer()
            self.identity.closed()
            if orphans:
                from septet.sqlite.store.restoring import put_log_aside

                put_log_aside(self.file, orphans)

    def close_connections(self) -> None:
        """Close every connection before a fork, unless this thread reads or writes; they are reopened on demand."""
        if not (self.in_memory or self._readers.out or self._searched[0].out or self._turn.mine):
            self._readers.close_idle()
            self._searched[0].close_idle()
            self._close_writer()

    def after_fork(self) -> None:
        """Reset the connections in a forked child; a database in memory is a copy."""
        self._read_anew()
        if not (self.in_memory and may_use_copies()):
            self._writer = None
            self.identity.released()
        self._last_written = NOTHING

    def _close_writer(self) -> None:
        self.identity.released()
        if self._writer is not None:
            self._writer.close()
        # Not earlier: an interrupt would leave it open in a reference cycle.
        self._writer = None

    @property
    def last_generation(self) -> int:
        """The last generation written by this object; 0 if none."""
        return max(self._last_written[0], 0)

    def reading(self) -> AbstractContextManager[SqliteReading]:
        """Begin a read transaction, until the end of a ``with`` block.

        Raises:
            Closed: the vault was closed.
            ForkedInUse: this process was forked during a read or a write of its parent.
            StoreError: the file cannot be read.
        """
        return self.begin_reading(whole=True)

    def begin_reading(self, *, whole: bool = False) -> ReadTransaction:
        """Begin a read transaction, until its ``end`` or its garbage collection; in memory, other threads wait for it.

        Args:
            whole: include hidden rows.
        """
        if self.at_rest is not None and self.disturbed:
            self._reopen()
        # A pending row keeps the transaction open. BEGIN and ROLLBACK would each release the GIL twice, which other
        # threads wait for.
        try:
            if self.path == MEMORY:
                return ReadTransaction.of_writer(self._turn, self._opened, _STATE_AND_MORE, SqliteReading, self._faults)
            readers, via, kind = self._searched if not whole else (self._readers, None, SqliteReading)
            connect = self._connect if via is None else lambda: via(self._connect)
            begun = readers.begin(connect, _STATE_AND_MORE, kind, self._faults)
        except SQLITE_FAULTS as fault:
            self.identity.check_log()
            raise store_error(fault, self.file) from fault
        if begun is None:
            raise self._is_closed()
        return begun

    @property
    def disturbed(self) -> bool:
        """True if a file opened as immutable was written since: reads may be wrong."""
        return self.at_rest is not None and look(self.file) != self.at_rest

    def _reopen(self) -> None:
        """Drop the connections opened as immutable."""
        with self._turn.hold():
            if self.disturbed and not self.closed:
                before, self.at_rest = (self._readers, self._searched[0]), None
                self._read_anew()
                for readers in before:
                    readers.close_idle()

    def _read_anew(self) -> None:
        _, via, kind = self._searched
        self._readers = Readers(IDLE_READERS)
        self._searched = Readers(IDLE_READERS) if self.left_out else self._readers, via, kind

    def search_by(self, via: Callable[..., Connection], kind: type[SqliteReading], left_out: Sequence[Unsound]) -> None:
        """Use separate connections for reads with hidden rows."""
        with self._turn.hold():
            before = self._searched[0]
            self._searched, self.left_out = (Readers(IDLE_READERS), via, kind), left_out
            if before is not self._readers:
                before.close_idle()

    def writing(self) -> AbstractContextManager[SqliteWriting]:
        """Begin a write transaction: committed at the end of the ``with`` block, rolled back on any exception.

        Raises:
            Closed: the vault was closed.
            ForkedInUse: this process was forked during a read or a write of its parent.
            ReadOnly: opened for reading.
            StoreBusy: another process held the lock for too long.
        """
        return self._transaction(self._next_generation, self._wrote)

    def bookkeeping(self) -> AbstractContextManager[SqliteWriting]:
        """Begin a write transaction that keeps the generation: snapshots do not depend on its rows."""
        return self._transaction(lambda sql: SqliteWriting(sql, self._checked(sql)[0]), lambda: None)

    @contextmanager
    def maintaining(self) -> Iterator[sqlite3.Connection]:
        """Borrow the writer outside a transaction, for statements that SQLite refuses in one; other writers wait."""
        with self._turn.hold():
            sql = self._writable()
            self.identity.check(sql, sql.execute(_STATE).fetchone())
            yield sql

    def _transaction(
        self, begun: Callable[[sqlite3.Connection], SqliteWriting], committed: Callable[[], None]
    ) -> AbstractContextManager[SqliteWriting]:
        transaction: AbstractContextManager[SqliteWriting] = WriteTransaction(
            self._turn, self._writable, begun, committed, self._faults, self.in_memory
        )
        return transaction

    def _next_generation(self, sql: sqlite3.Connection) -> SqliteWriting:
        before, writer = self._checked(sql)
        generation = before + 1
        sql.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (generation,))
        if self._last_written != (before, writer):
            writer = sign(sql, generation)
        self._next = (generation, writer)
        return SqliteWriting(sql, generation)

    def _wrote(self) -> None:
        self._last_written = self._next
        self.identity.wrote(self._next)

    def _checked(self, sql: sqlite3.Connection) -> State:
        """Check in a write transaction that the opened store is still in place, and return its state."""
        if self.identity.touched():
            # In WAL mode SQLite trusts its page cache even if another file was copied over this one.
            sql.execute("PRAGMA shrink_memory")
        state: State = sql.execute(_STATE).fetchone()
        self.identity.check(sql, state)
        return state

    def size_bytes(self) -> int:
        """Return the size of the file in bytes; 0 in memory, or if it was deleted."""
        try:
            return 0 if self.in_memory else os.stat(self.file).st_size  # noqa: PTH116
        except OSError:
            return 0

    def notes(self, tier: str) -> list[Note]:
        """Return the notes to attach to every search of this store."""
        # Called in every search.
        try:
            status = os.stat(self.file)  # noqa: PTH116
            if (status.st_dev, status.st_ino) == self.identity.file and self._untold is None:
                return []
        except OSError:
            pass
        notes, untold = self.identity.notes(tier), self._untold
        if untold is not None:
            # Report once.
            self._untold = None
            notes.append(replace(untold, tier=tier))
        return notes

    def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the store to another file while it is in use, by SQLite's online backup.

        The copy appears under its name only when it is complete.
        """
        from septet.sqlite.store.restoring import copy_to

        with self.reading() as read:
            # Inside a read transaction, so that the copy is of one generation despite concurrent writes.
            copy_to(path, read.sql, "" if self.in_memory else self.file, progress)

    def _connect(self, mode: str = "rw", *, writer: bool = False) -> Connection:
        # Only the first connection may create the file: a deleted vault must not come back empty.
        mode = "ro" if self.read_only else mode
        # Checked before opening: SQLite would replay a foreign WAL over the file.
        before = self.identity.check_file()
        now = look(self.file) if self.read_only else None
        try:
            connection = connect(
                self.file, mode=mode, busy_timeout_s=self._busy_timeout_s, writer=writer, alone=self.place is None
            )
        except StoreError:
            # A file, or a WAL, deleted at this moment causes other errors.
            self.identity.check_log()
            raise
        try:
            self.identity.opened(before, writer=writer and not self.read_only)
        except BaseException:
            connection.close()
            raise
        if connection.immutable:
            self.at_rest = now
        return connection

    def _opened(self) -> Connection:
        """Return the writer; the caller holds the turn."""
        if self.closed:
            raise self._is_closed()
        # An interrupt may have come right after its closing.
        if self._writer is None or not is_open(self._writer):
            self._writer = self._connect(writer=True)
        return self._writer

    def _writable(self) -> Connection:
        if self.read_only and not self.closed:
            raise ReadOnly(f"{self.path} was opened with read_only=True: open it for writing to change it")
        return self._opened()

    def _is_closed(self) -> Closed:
        return Closed(f"the vault {self.path} was closed: open it again")


_LATEST = "SELECT key || ':' || value FROM meta WHERE key BETWEEN 'writer:' AND 'writer;' ORDER BY key DESC LIMIT 1"
#: The generation and its writer.
_KNOWN = "FROM meta WHERE key = 'generation' AND value IS NOT NULL"
_STATE = f"SELECT CAST(value AS INTEGER), coalesce(({_LATEST}), '') {_KNOWN}"
#: One more row than is fetched, see `begin_reading`.
_STATE_AND_MORE = f"{_STATE} UNION ALL SELECT NULL, NULL {_KNOWN}"


def store_id(read: SqliteReading) -> str:
    """Return the id given to a store at its creation; copies have the same."""
    return str(read.sql.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()[0])


def writer_at(read: SqliteReading, generation: int) -> str:
    """Return the writer of a generation (its first generation and a name); empty if unknown.

    Copies of a store that were changed separately have the same generations with different writers.
    """
    return writer_of(read.sql, generation)
