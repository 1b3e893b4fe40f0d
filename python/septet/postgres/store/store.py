"""PostgresStore: one vault of a database, its connections, its transactions, and its clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias

import psycopg
from pgvector.psycopg import register_vector
from psycopg.adapt import AdaptersMap

from septet.errors import Closed, ReadOnly, StoreError, Unreachable
from septet.notes import Note
from septet.postgres.store import migrations
from septet.postgres.store.analysis import Prepared
from septet.postgres.store.dsn import Address
from septet.postgres.store.faults import AGAIN
from septet.postgres.store.link import ServerLink
from septet.postgres.store.packing import ArrayDumper
from septet.postgres.store.pipeline import Statement
from septet.postgres.store.server import PostgresServer
from septet.postgres.store.transactions import PostgresReading, PostgresReadTransaction, PostgresWriting, WriteLocks
from septet.postgres.store.upkeep import Upkeep
from septet.postgres.store.vaults import Shape, opened
from septet.postgres.tables import blocks, indexing
from septet.store.rows import EntryRow

#: Maximum connections of a process to a vault: for reads as many as for writes, if their servers differ.
MOST_CONNECTIONS = 8
#: Maximum wait of a call for a connection and the beginning of its transaction, in seconds.
CONNECT_TIMEOUT_S = 5
#: Maximum time of one statement on the server, in seconds.
STATEMENT_TIMEOUT_S = 30
#: Seconds for the server's own timeout of a statement to arrive.
GRACE_S = 5
#: Maximum wait of a write for a lock, in seconds.
LOCK_TIMEOUT_S = 10

#: Which of several servers answers reads: the first that does, the one that takes writes, or a standby while there is
#: one. The answers of a standby may lag behind the last writes.
Reads: TypeAlias = Literal["any", "primary", "prefer-standby"]
_READS: tuple[Reads, ...] = ("any", "primary", "prefer-standby")
_VECTORS = ("vector", "halfvec")
PRIMARY = "read-write"

_READ = Statement("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_WRITE, _COMMIT = Statement("BEGIN"), Statement("COMMIT")
# Settings of the transaction; a pooler would hand those of the session to others.
_SETTINGS = (
    "SELECT set_config('statement_timeout', %s::text, true), set_config('lock_timeout', %s::text, true), "
    "set_config('plan_cache_mode', %s::text, true)"
)
# On a cluster a write keeps to one connection to each server, as what it wrote over one it could not read over another.
# It does not wait for others that write other entries of the same shards.
_ALONG = (
    ", set_config('citus.multi_shard_modify_mode', 'sequential', true), "
    "set_config('citus.enable_deadlock_prevention', 'off', true)"
)
#: Timeouts for locks on the workers.
_THERE = [
    Statement("SET LOCAL citus.propagate_set_commands TO 'local'"),
    Statement(f"SET LOCAL lock_timeout TO '{LOCK_TIMEOUT_S}s'"),
]
# A worker reads the clock of its coordinator.
_SAME_THERE = Statement(
    "SELECT CASE WHEN success THEN result::bigint END "
    "FROM run_command_on_coordinator('SELECT last_value FROM septet.clock')"
)
_NEXT, _SAME = Statement("SELECT nextval('septet.clock')"), Statement("SELECT last_value FROM septet.clock")

#: A role that does not own the tables gets a notice; the server's autovacuum then does the work.
_ANALYZE = (
    "ANALYZE septet.entries, septet.postings, septet.posting_blocks, septet.term_counts, septet.totals, "
    "septet.count_changes, septet.links, septet.vectors, septet.feedback"
)


class PostgresStore:
    """One vault of a database. Threads may share it: each transaction borrows a connection.

    Its arguments, and the errors that it raises, are those of `septet.postgres.vault.PostgresVault`.
    """

    in_memory = False
    place: Note | None = None
    at_rest = None

    def __init__(
        self,
        dsn: str,
        vault: str,
        *,
        read_only: bool = False,
        buckets: int | None = None,
        vectors: str | None = None,
        reads: Reads = "any",
        most_connections: int = MOST_CONNECTIONS,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        statement_timeout_s: float = STATEMENT_TIMEOUT_S,
        prepare: bool = True,
    ) -> None:
        if reads not in _READS:
            raise StoreError(f"reads={reads!r} is unknown: wanted one of {', '.join(_READS)}")
        if vectors not in (None, *_VECTORS):
            raise StoreError(f"vectors={vectors!r} is unknown: wanted one of {', '.join(_VECTORS)}")
        self._address = address = Address.of(dsn, vault)
        #: The address to show: server, database and vault, without user and password.
        self.path = self.file = address.shown
        self.read_only, self.name = read_only, vault
        self._connect_s, self._statement_s = connect_timeout_s, statement_timeout_s
        #: True after `close`.
        self.closed, self.last_generation = False, 0
        self._following = Upkeep()
        settings: dict[str, Any] = {"autocommit": True, **({} if prepare else {"prepare_threshold": None})}

        def server(target: str | None) -> PostgresServer:
            return PostgresServer(
                address.conninfo(target), self.path, most=most_connections, settings=settings, hosts=address.hosts
            )

        several = address.hosts > 1
        self._writes = server(PRIMARY if several and not (read_only and reads != "primary") else None)
        apart = reads == "prefer-standby" or (several and reads == "any" and not read_only)
        self._reads = server(None if reads == "any" else reads) if apart else self._writes
        try:
            with self._borrowed(self._reads if read_only else self._writes) as sql:
                self._same = self._clock_of(sql)
                migrations.check_encoding(sql, self.path)
                version = migrations.version_of(sql, self.path)
                if version == 0 and not read_only:
                    migrations.prepare(sql, self.path)
                else:
                    migrations.check_version(version, self.path)
                # So that no connection queries the types of pgvector again.
                register_vector(sql)
                sql.adapters.register_dumper(list, ArrayDumper)
                settings["context"] = SimpleNamespace(adapters=AdaptersMap(sql.adapters), connection=None)
                # Connections opened before the extension was there do not know its types.
                self._reads.pool.drop_idle()
                self._writes.pool.drop_idle()
                self.vault = self._reads.vault = self._writes.vault = opened(
                    sql, vault, Shape(buckets, vectors), time.time(), self.path, may_make=not read_only
                )
                sql.known = True
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close every connection; reads and writes of other threads finish first. Closing twice is fine."""
        self.closed = True
        self._reads.close()
        if self._writes is not self._reads:
            self._writes.close()

    def bucket_of(self, text: str) -> int:
        """Return the bucket of an id, or of a term."""
        return self.vault.bucket_of(text)

    def notes(self, tier: str) -> list[Note]:
        """Return the notes to attach to every search of this server."""
        return []

    def size_bytes(self) -> int:
        """Return 0: the size of one vault in a database is unknown."""
        return 0

    def reading(self) -> PostgresReadTransaction:
        """Begin a read transaction, until the end of a ``with`` block; see `begin_reading`."""
        return self.begin_reading()

    def begin_reading(
        self, timeout_s: float | None = None, first: Sequence[Statement] = (), *, plan_once: bool = False
    ) -> PostgresReadTransaction:
        """Begin a read transaction, until its ``end``.

        Args:
            timeout_s: how long the server may keep its caller waiting in all: for a connection, for the beginning, and
                for every answer until the end. None for the store's own bounds, which hold for each of them.
            first: statements of the same round trip; the transaction has their rows.
            plan_once: plans do not depend on parameters, so the server may keep them.

        Raises:
            Closed: the vault was closed.
            Unreachable: the server does not answer; after many failures it is not asked.
            StoreError: it answers with a fault.
        """
        if self.closed:
            raise self._is_closed()
        statement_s = self._statement_s if timeout_s is None else min(timeout_s, self._statement_s)
        # Citus plans with the values at hand, or not at all.
        settings = _settings(statement_s, plan_once=plan_once and not self.vault.distributed)
        link, (_, _, ((generation,),), *answers) = self._reads.begin(
            [_READ, settings, self._same, *first],
            self._connect_s if timeout_s is None else timeout_s,
            statement_s + GRACE_S,
            in_all=timeout_s is not None,
        )
        if generation is None:
            self._reads.give_back(link)
            raise Unreachable(f"{self.path}: the coordinator of its cluster cannot be reached: see whether it runs")
        return PostgresReadTransaction(self._reads, link, PostgresReading(link, self.vault, generation), answers)

    @contextmanager
    def writing(self) -> Iterator[PostgresWriting]:
        """Begin a write transaction: committed at the end of the ``with`` block, rolled back on any exception.

        Raises:
            Closed: the vault was closed.
            ReadOnly: opened for reading, or the server is a standby.
            StoreBusy: other writers were in the way; see `septet.postgres.store.faults`.
            Unreachable: the server does not answer.
        """
        with self._writing(_NEXT) as write:
            yield write
        self.last_generation = write.generation

    @contextmanager
    def bookkeeping(self) -> Iterator[PostgresWriting]:
        """Begin a write transaction that changes no entry."""
        with self._writing(_SAME) as write:
            yield write

    def loading(self) -> AbstractContextManager[None]:
        """Defer the upkeep of this thread's writes to the end of a ``with`` block."""
        return self._following.loading(self.vault, partial(self._borrowed, self._writes))

    def prepare(self, rows: Sequence[EntryRow]) -> Prepared:
        """Analyse entries that are written next, for `tables.indexing.take`; on any thread."""
        return indexing.prepared(self.vault, rows)

    @contextmanager
    def maintaining(self) -> Iterator[psycopg.Connection[Any]]:
        """Borrow a connection outside a transaction, for long statements such as the creation of an index."""
        self._check_writable()
        with self._borrowed(self._writes) as link:
            link.answer_s = float("inf")
            yield link

    def upkeep(self) -> None:
        """Fold the differences of counts of the vault into their sums, and run ANALYZE."""
        with self.maintaining() as sql:
            blocks.fold_all(sql, self.vault)
            sql.execute(_ANALYZE)

    # -- inside --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _writing(self, clock: Statement) -> Iterator[PostgresWriting]:
        self._check_writable()
        settings = _settings(self._statement_s, LOCK_TIMEOUT_S)
        there = []
        if self.vault.distributed:
            settings, there = settings._replace(sql=settings.sql + _ALONG), _THERE
        link, (*_, ((generation,),)) = self._writes.begin(
            [_WRITE, settings, *there, clock], self._connect_s, self._statement_s + GRACE_S
        )
        ending = False
        try:
            write = PostgresWriting(link, self.vault, generation, WriteLocks())
            yield write
            if self.vault.distributed:
                # A failure before COMMIT is safe to retry, so the last statements go ahead of it.
                write.settle()
            ending = True
            write.settle(_COMMIT)
            self._following.follow(link, self.vault, write.held)
        except psycopg.Error as fault:
            if isinstance(fault, psycopg.errors.ReadOnlySqlTransaction):
                # A primary that became a standby: the next write looks for the other one.
                link.close()
                self._writes.pool.drop_idle()
            error = self._writes.fault(fault)
            if ending and isinstance(error, Unreachable) and not isinstance(fault, AGAIN):
                # Without this error as its cause: outer calls must not retry.
                error.__cause__ = fault
                cure = "the write may or may not have been stored: check for it, or write again"
                raise Unreachable(f"{error}; {cure}") from error
            raise error from fault
        finally:
            self._writes.give_back(link)

    @contextmanager
    def _borrowed(self, server: PostgresServer) -> Iterator[ServerLink]:
        """Borrow a connection; errors of the server become Septet's."""
        if self.closed:
            raise self._is_closed()
        with server.lent(self._connect_s, self._statement_s + GRACE_S) as link:
            yield link

    def _clock_of(self, sql: ServerLink) -> Statement:
        """Return the statement that reads the clock; raise `StoreError` if a worker of a cluster is to be written."""
        known = sql.execute("SELECT to_regclass('pg_catalog.pg_dist_local_group')").fetchone() != (None,)
        if not known or sql.execute("SELECT groupid FROM pg_dist_local_group").fetchone() == (0,):
            return _SAME
        if not self.read_only:
            raise StoreError(
                f"{self.path} is on a cluster worker, which cannot write: open it with the address of the "
                "coordinator, or open it read-only"
            )
        return _SAME_THERE

    def _check_writable(self) -> None:
        if self.closed:
            raise self._is_closed()
        if self.read_only:
            raise ReadOnly(f"{self.path} was opened with read_only=True: open it for writing to change it")

    def _is_closed(self) -> Closed:
        return Closed(f"the vault {self.path} was closed: open it again")


def _settings(statement_s: float, lock_s: float = 0.0, *, plan_once: bool = False) -> Statement:
    """Return what bounds the statements of a transaction, and, but for 0, how long they wait for locks."""
    bounds = max(1, round(statement_s * 1e3)), round(lock_s * 1e3)
    return Statement(_SETTINGS, (*map(str, bounds), "force_generic_plan" if plan_once else "auto"))
