"""The backend-independent interface of a store: transactions and their tables.

A backend provides a `Store`, whose transactions have its `Tables`: an object per table, with the functions of
`septet.store.table_protocols`. A local store is `septet.sqlite.store.store.SqliteStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, TypeVar

from septet.store import table_protocols as of
from septet.store import vector_protocols as by_vector

if TYPE_CHECKING:
    from septet.notes import Note
    from septet.postgres.store.store import PostgresStore
    from septet.postgres.store.transactions import PostgresReading, PostgresWriting
    from septet.sqlite.store.store import SqliteReading, SqliteStore, SqliteWriting
    from septet.store.rows import EntryRow

_Answer = TypeVar("_Answer")


class Tables(NamedTuple):
    """The tables of a store, by name."""

    changing: of.Changing
    claims: by_vector.Claims
    entries: of.Entries
    feedback: of.FeedbackRows
    history: of.History
    indexing: of.Indexing
    jobs: by_vector.Jobs
    links: of.Links
    listings: of.Runs
    marks: of.Marks
    parts: of.Parts
    texts: by_vector.Texts
    vectors: by_vector.Vectors


class Reading(Protocol):
    """A read transaction: a snapshot of the store."""

    @property
    def generation(self) -> int:
        """The store's generation at its start."""

    @property
    def state(self) -> Hashable:
        """The snapshot's identity: equal only for transactions on the same state."""

    @property
    def tables(self) -> Tables:
        """The tables to read."""


class Writing(Protocol):
    """A write transaction; rows written carry its generation.

    Entries it has read cannot be changed by other writers until its end.
    """

    @property
    def generation(self) -> int:
        """The generation of the rows it writes."""

    @property
    def tables(self) -> Tables:
        """The tables to read and write."""


class Remembered(Protocol):
    """A cache of query results per state of a store."""

    def __call__(self, read: Any, key: object, ask: Callable[[], _Answer], /) -> _Answer:
        """Return the result of ``ask``, called once per key and state of the store."""


class Store(Protocol):
    """The store of one vault; threads may share it."""

    @property
    def path(self) -> str:
        """Path or address for messages, without the password."""

    @property
    def file(self) -> str:
        """Absolute path of its file; an address if it has none."""

    @property
    def in_memory(self) -> bool:
        """True if it is only in memory."""

    @property
    def read_only(self) -> bool:
        """True if opened for reading."""

    @property
    def place(self) -> Note | None:
        """A note on its location, or None."""

    def size_bytes(self) -> int:
        """Return its size in bytes; 0 if unknown."""

    def reading(self) -> AbstractContextManager[Reading]:
        """Begin a read transaction, until the end of a ``with`` block.

        Raises:
            Closed: the vault was closed.
            StoreError: the store cannot be read.
        """

    def writing(self) -> AbstractContextManager[Writing]:
        """Begin a write transaction: committed at the end of the ``with`` block, rolled back on any exception.

        Raises:
            Closed: the vault was closed.
            ReadOnly: opened for reading.
            StoreBusy: other writers held a lock for too long.
            StoreError: the store cannot be written.
        """

    def bookkeeping(self) -> AbstractContextManager[Writing]:
        """Begin a write transaction that keeps the generation: searches do not depend on its rows."""

    @property
    def prepare(self) -> Callable[[Sequence[EntryRow]], object] | None:
        """Precompute index rows on any thread, outside the transaction, for `Indexing.take`; None if not needed."""

    def close(self) -> None:
        """Close the store; using it afterwards raises `Closed`. Closing twice is fine."""


if TYPE_CHECKING:
    # Never run: mypy compares each backend with the protocols. A new backend adds two functions: one for its store and
    # transactions, one for the modules of its tables.
    _Backend: TypeAlias = tuple[Store, Reading, Writing]

    def _file(db: SqliteStore, read: SqliteReading, write: SqliteWriting) -> _Backend:
        return db, read, write

    def _server(db: PostgresStore, read: PostgresReading, write: PostgresWriting) -> _Backend:
        return db, read, write

    def _tables_of_a_file() -> Tables:
        from septet.sqlite.tables import changing, claims, entries, feedback, history, indexing, jobs

        # isort: split
        from septet.sqlite.tables import links, listings, marks, parts, texts, vectors

        first = (changing, claims, entries, feedback, history, indexing, jobs)
        return Tables(*first, links, listings, marks, parts, texts, vectors)

    def _tables_of_a_server() -> Tables:
        from septet.postgres.tables import changing, claims, entries, feedback, history, indexing, jobs

        # isort: split
        from septet.postgres.tables import links, listings, marks, parts, texts, vectors

        first = (changing, claims, entries, feedback, history, indexing, jobs)
        return Tables(*first, links, listings, marks, parts, texts, vectors)
