"""The backend-independent interface of a store: transactions and their tables.

A backend provides a `Store`, whose transactions have its `Tables`: an object per table, with the functions of
`septet.store.table_protocols`. A local store is `septet.sqlite.store.store.SqliteStore`.
`septet.store.backends` checks both.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from septet.store import table_protocols as of
from septet.store import vector_protocols as by_vector

if TYPE_CHECKING:
    from septet.notes import Note
    from septet.store.rows import EntryRow

_Answer = TypeVar("_Answer")


class Tables(Protocol):
    """The tables of a store, by name."""

    @property
    def changing(self) -> of.Changing:
        """Bulk changes and deletion of entries."""

    @property
    def claims(self) -> by_vector.Claims:
        """Claims of processes on texts to embed."""

    @property
    def entries(self) -> of.Entries:
        """Entries by id and by row."""

    @property
    def feedback(self) -> of.FeedbackRows:
        """Feedback on results."""

    @property
    def history(self) -> of.History:
        """Earlier versions of entries."""

    @property
    def indexing(self) -> of.Indexing:
        """Writes to the full-text index."""

    @property
    def jobs(self) -> by_vector.Jobs:
        """Batch jobs of providers."""

    @property
    def links(self) -> of.Links:
        """Links between entries."""

    @property
    def listings(self) -> of.Runs:
        """Entries in order of rows."""

    @property
    def marks(self) -> of.Marks:
        """Named values of the vault, such as the progress of a copy into it."""

    @property
    def parts(self) -> of.Parts:
        """Parts of split entries."""

    @property
    def texts(self) -> by_vector.Texts:
        """Embedded vectors of texts."""

    @property
    def vectors(self) -> by_vector.Vectors:
        """Vectors passed by callers, and the spaces of all vectors."""


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
