"""Transactions on a server, and the locks of those that write: entries that they read do not change until their end.

Few entries are locked by the hashes of their ids, in ascending order, beside a shared lock on the vault. More would
not fit into the server's table of locks, so then the whole vault is locked: writers of a few wait for it, and readers
never.

On a cluster the same locks are taken once more on the servers that have the buckets. When one of these dies after the
decision to commit, the write is durable but invisible until the server is back and commits it; its locks stay until
then, whereas the coordinator's have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import psycopg

from septet.postgres.store.pipeline import Statement, sent
from septet.postgres.store.vaults import VaultRow
from septet.postgres.tables import ON_A_SERVER

if TYPE_CHECKING:
    from septet.postgres.store.analysis import Prepared
    from septet.postgres.store.link import ServerLink
    from septet.postgres.store.server import PostgresServer

    _Taker: TypeAlias = Callable[[list[tuple[Any, ...]]], object]


class Foreseen(NamedTuple):
    """Values of entries that were read under their locks.

    Attributes:
        ids: of these entries, each once.
        split: some entry of the vault has a parent.
        stored: arguments of `indexing.indexed`, and ``created_at``, of existing entries, including deleted ones.
        spaces: by number what each is keyed by.
        numbers: of new rows, as many as there are ids.
        replaced: what `history.keep_replaced` must know of those that are there; None if they are many.
    """

    ids: list[str]
    split: bool
    stored: list[tuple[Any, ...]]
    spaces: dict[int, str]
    numbers: list[int]
    replaced: list[tuple[Any, ...]] | None


class WriteLocks:
    """The locks of a write transaction, and the work left for after it.

    Attributes:
        keys: of the ids.
        rows: those known to be of locked ids.
        all: the whole vault is locked.
        fold_due: enough differences of counts wait to be folded.
        foreseen: values read ahead of the entries that are written next; see `tables.parts.prefetch`.
        later: statements for the next round trip, each with a callback for its rows.
        grown: the tables have grown enough for an ANALYZE.
        prepared: index rows computed for the entries that are written next; see `tables.indexing.prepared`.
        waiting: differences of terms that wait to be folded, as far as is known.
    """

    __slots__ = ("all", "fold_due", "foreseen", "grown", "keys", "later", "prepared", "rows", "waiting")

    def __init__(self) -> None:
        self.keys: set[int] = set()
        self.rows: set[int] = set()
        self.all = self.fold_due = self.grown = False
        self.foreseen: Foreseen | None = None
        self.prepared: Prepared | None = None
        self.waiting = 0
        self.later: list[tuple[Statement, _Taker | None]] = []


class PostgresReading(NamedTuple):
    """A read transaction: everything read through it belongs to one snapshot of the database.

    Its generation is the last number of the clock that had been given out when it began.
    """

    sql: ServerLink
    vault: VaultRow
    generation: int

    @property
    def state(self) -> object:
        """The identity of the snapshot: unique, as writes that began earlier may have ended since."""
        return object()

    @property
    def tables(self) -> Any:
        """The tables, independent of the backend."""
        return ON_A_SERVER


class PostgresWriting(NamedTuple):
    """A write transaction; rows written carry its generation. Entries that it reads are locked until its end.

    Statements that wait for the next round trip were not yet sent to its ``link``.
    """

    link: ServerLink
    vault: VaultRow
    generation: int
    held: WriteLocks

    @property
    def sql(self) -> ServerLink:
        """The connection, after the statements queued by `later` were sent."""
        if self.held.later:
            self.settle()
        return self.link

    def later(self, sql: str, parameters: Sequence[Any], taken: _Taker | None = None) -> None:
        """Queue a statement for the next round trip, at the latest the end; ``taken`` is called with its rows."""
        self.held.later.append((Statement(sql, parameters), taken))

    def settle(self, *last: Statement) -> list[list[tuple[Any, ...]]]:
        """Send the queued statements, then more, in one round trip; return the rows of the latter."""
        waiting, self.held.later = self.held.later, []
        answers = sent(self.link, [*(statement for statement, _ in waiting), *last])
        for (_, taken), rows in zip(waiting, answers):
            if taken is not None:
                taken(rows)
        return answers[len(waiting) :]

    @property
    def tables(self) -> Any:
        """The tables, independent of the backend."""
        return ON_A_SERVER


class PostgresReadTransaction:
    """A read transaction until its `end`, at the latest when nothing refers to it any more.

    As a ``with`` block it gives its `reading`, and raises the server's errors as Septet's. ``first`` has the rows of
    each statement that was sent with its beginning.
    """

    __slots__ = ("_link", "_server", "first", "reading")

    def __init__(
        self,
        server: PostgresServer,
        link: ServerLink,
        reading: PostgresReading,
        first: Sequence[list[tuple[Any, ...]]] = (),
    ) -> None:
        self.reading, self.first = reading, first
        self._server = server
        self._link: ServerLink | None = link

    def end(self) -> None:
        """Give the connection back; ending twice is fine."""
        link, self._link = self._link, None
        if link is not None:
            self._server.give_back(link)

    @contextmanager
    def asking(self) -> Iterator[PostgresReading]:
        """Raise the server's errors as Septet's, until the end of a ``with`` block; the transaction goes on."""
        try:
            yield self.reading
        except psycopg.Error as fault:
            raise self._server.fault(fault) from fault

    def __enter__(self) -> PostgresReading:
        return self.reading

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: Any) -> None:
        self.end()
        if isinstance(fault, psycopg.Error):
            raise self._server.fault(fault) from fault

    def __del__(self) -> None:
        self.end()


#: Maximum entries that a transaction locks one by one: a server has room for 64 locks a connection by default.
MOST_IDS = 48

#: Maximum wait of a write for the whole vault, in seconds: others may be loading batches of thousands.
ALL_TIMEOUT_S = 60

_PATIENT = (
    "SELECT set_config('septet.statement_timeout', current_setting('statement_timeout'), true), "
    "set_config('septet.lock_timeout', current_setting('lock_timeout'), true), "
    "set_config('statement_timeout', '0', true), set_config('lock_timeout', %s, true)"
)
_AS_BEFORE = (
    "SELECT set_config('statement_timeout', current_setting('septet.statement_timeout'), true), "
    "set_config('lock_timeout', current_setting('septet.lock_timeout'), true)"
)
_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s::bigint)"
# In the order of the array, the vault's first.
_EACH = "SELECT pg_advisory_xact_lock_shared(%s::bigint), pg_advisory_xact_lock(k) FROM unnest(%s::bigint[]) AS k"
# Citus runs a function of a row on the row's server.
_EACH_THERE = (
    "SELECT pg_advisory_xact_lock_shared(%s::bigint), pg_advisory_xact_lock(w.k) "
    "FROM unnest(%s::integer[], %s::bigint[]) AS w (bucket, k) "
    "JOIN septet.buckets b ON b.vault = %s AND b.bucket = w.bucket"
)
_EXCLUSIVE_THERE = f"{_EXCLUSIVE} FROM septet.buckets b WHERE b.vault = %s"
_IDS = (
    "SELECT e.row, e.id FROM unnest(%s::bigint[]) AS w (row) JOIN septet.entries e ON e.vault = %s "
    "AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row"
)


def lock_key(*parts: object) -> int:
    """Return the number of an advisory lock, a 64-bit integer."""
    digest = blake2b("\0".join(map(str, ("septet", *parts))).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def hold(read: PostgresReading | PostgresWriting, ids: Iterable[str]) -> None:
    """Lock entries until the end of a write transaction, whether they exist or not; a read transaction locks nothing.

    Later reads of them return the last committed values.
    """
    if not isinstance(read, PostgresWriting) or read.held.all:
        return
    wanted = {*ids}
    locks = locking(read, wanted)
    if locks:
        read.settle(*locks)
    # Hashing many ids to learn that they are many would take long.
    elif (
        len(wanted) > MOST_IDS
        or not {lock_key(read.vault.number, "id", entry_id) for entry_id in wanted} <= read.held.keys
    ):
        hold_all(read)


def locking(write: PostgresWriting, ids: Collection[str]) -> list[Statement]:
    """Return the statements that lock entries, and record the locks; empty if none is needed or all are held."""
    held, vault = write.held, write.vault
    if held.all or len(ids) > MOST_IDS:
        return []
    buckets = {lock_key(vault.number, "id", entry_id): vault.bucket_of(entry_id) for entry_id in ids}
    new = sorted(buckets.keys() - held.keys)
    if not new or len(new) + len(held.keys) > MOST_IDS:
        return []
    held.keys.update(new)
    whole = lock_key(vault.number)
    locks = [Statement(_EACH, (whole, new))]
    if vault.distributed:
        locks.append(Statement(_EACH_THERE, (whole, [buckets[key] for key in new], new, vault.number)))
    return locks


def hold_all(read: PostgresReading | PostgresWriting) -> None:
    """Lock the whole vault against other writers of entries until the end of a write transaction."""
    if not isinstance(read, PostgresWriting) or read.held.all:
        return
    link, answer_s = read.link, read.link.answer_s
    # Waits for other loads exceed the limit of a statement.
    link.answer_s += ALL_TIMEOUT_S
    try:
        number = read.vault.number
        locks = [Statement(_EXCLUSIVE, (lock_key(number),))]
        if read.vault.distributed:
            locks.append(Statement(_EXCLUSIVE_THERE, (lock_key(number), number)))
        read.settle(Statement(_PATIENT, (f"{ALL_TIMEOUT_S}s",)), *locks, Statement(_AS_BEFORE))
    finally:
        link.answer_s = answer_s
    read.held.all = True


def hold_rows(read: PostgresReading | PostgresWriting, rows: Sequence[int]) -> None:
    """Lock the entries at the given rows, as `hold` does."""
    held: WriteLocks | None = getattr(read, "held", None)
    if held is None or held.all:
        return
    if new := [row for row in rows if row not in held.rows]:
        entries = read.sql.execute(_IDS, (new, read.vault.number, read.vault.first_bucket)).fetchall()
        hold(read, [entry_id for _, entry_id in entries])
        held.rows.update(new)
