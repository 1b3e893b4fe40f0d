"""Transactions on a server: what is read and written through them, and reads that end when their search does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

    Attributes:
        sql: executes statements with ``%s`` or ``%(name)s``; the transaction is open.
        vault: number, buckets and kind of vectors.
        generation: the last number of the clock that had been given out when it began.
    """

    sql: ServerLink
    vault: VaultRow
    generation: int
    writer: str = ""

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

    Attributes:
        link: its connection, to which what waits for the next round trip was not sent yet.
        held: what it has locked.
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
        """Queue a statement for the next round trip, at the latest the end of the transaction.

        Args:
            taken: called with its rows.
        """
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

    As a ``with`` block it gives its `reading`, and raises the server's errors as Septet's.

    Attributes:
        first: the rows of each statement that was asked with its beginning.
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
        """Raise the server's errors as Septet's, until the end of a ``with`` block; the transaction goes on.

        Raises:
            Unreachable: the server does not answer in time.
            StoreError: it answers with a fault.
        """
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
