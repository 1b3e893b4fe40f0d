"""What a store is to those that do not know which one it is: transactions, and tables to ask through them.

A backend gives a `Store`, whose transactions carry its `Tables`: one object a table, with the functions listed in
`septet.store.table_protocols`. A local store is `septet.sqlite.store.store.Store`. `septet.store.backends` compares.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from septet.store import table_protocols as of

if TYPE_CHECKING:
    from septet.notes import Note
    from septet.sqlite.tables.entries import EntryRow

__all__ = ["Reading", "Remembered", "Store", "Tables", "Writing"]

_Answer = TypeVar("_Answer")


class Tables(Protocol):
    """The tables of a store, by name."""

    @property
    def changing(self) -> of.Changing:
        """Changes of many entries at once, and their end."""

    @property
    def claims(self) -> of.Claims:
        """Which process embeds which texts."""

    @property
    def entries(self) -> of.Entries:
        """Entries by id and by row."""

    @property
    def feedback(self) -> of.FeedbackRows:
        """What became of results."""

    @property
    def history(self) -> of.History:
        """Earlier versions of entries."""

    @property
    def indexing(self) -> of.Indexing:
        """The full-text index, as writes see it."""

    @property
    def jobs(self) -> of.Jobs:
        """Batch jobs of providers."""

    @property
    def links(self) -> of.Links:
        """Links between entries."""

    @property
    def listings(self) -> of.Runs:
        """Entries one after the other."""

    @property
    def marks(self) -> of.Marks:
        """What the vault keeps about itself, such as how far a copy into it has come."""

    @property
    def parts(self) -> of.Parts:
        """What entries were split into."""

    @property
    def texts(self) -> of.Texts:
        """Vectors that a provider makes of texts."""

    @property
    def unchanged(self) -> of.Unchanged:
        """What an import would not change."""

    @property
    def vectors(self) -> of.Vectors:
        """Vectors as callers gave them, and the spaces of all vectors."""


class Reading(Protocol):
    """A read transaction: everything read through it belongs to one state of the store."""

    @property
    def generation(self) -> int:
        """How far the clock of the store was when it began."""

    @property
    def state(self) -> Hashable:
        """What it sees: equal only for transactions that see the same."""

    @property
    def tables(self) -> Tables:
        """What it reads from."""


class Writing(Protocol):
    """A write transaction; rows written carry its generation.

    What it reads of an entry stays so until its end, whoever else writes.
    """

    @property
    def generation(self) -> int:
        """The next number of the store's clock."""

    @property
    def tables(self) -> Tables:
        """What it reads from and writes to."""


class Remembered(Protocol):
    """Remembers what a store was asked, as long as it stays the same."""

    def __call__(self, read: Any, key: object, ask: Callable[[], _Answer], /) -> _Answer:
        """Return the answer to a question about the store; ask only once for each state of it."""


class Store(Protocol):
    """One vault, wherever it is kept; threads may share it."""

    @property
    def path(self) -> str:
        """Where it is, as told to users; without a password."""

    @property
    def file(self) -> str:
        """The path of its file from the root; what has no file says where it is."""

    @property
    def in_memory(self) -> bool:
        """Whether it lives as long as the process."""

    @property
    def read_only(self) -> bool:
        """Whether it was opened for reading."""

    @property
    def place(self) -> Note | None:
        """What there is to say of where it is; None without."""

    def size_bytes(self) -> int:
        """Return how many bytes it takes; 0 where that is unknown."""

    def reading(self) -> AbstractContextManager[Reading]:
        """Begin a read transaction, until the end of a ``with`` block.

        Raises:
            Closed: the vault was closed.
            StoreError: it cannot be read.
        """

    def writing(self) -> AbstractContextManager[Writing]:
        """Begin a write transaction: committed at the end of the ``with`` block, rolled back on any exception.

        Raises:
            Closed: the vault was closed.
            ReadOnly: opened for reading.
            StoreBusy: others were in the way for too long.
            StoreError: it cannot be written.
        """

    def bookkeeping(self) -> AbstractContextManager[Writing]:
        """Begin a write transaction that leaves the generation alone: no search depends on what it writes."""

    @property
    def prepare(self) -> Callable[[Sequence[EntryRow]], object] | None:
        """Do of a write of entries what needs no transaction, on any thread, for `Indexing.take`; None without such."""

    def close(self) -> None:
        """Let go of the store; using it afterwards raises `Closed`. Closing twice is fine."""
