"""The interface of each table of a store.

The first argument is the transaction of the store itself, `Reading` or `Writing` of `septet.store.protocol`. Those of
a local store are the modules of `septet.sqlite.tables`.

Implementations have no docstrings of their own, unless they say more. Writes raise `EntryError` for a text with a NUL
character if the store takes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from septet.model.links import Link
    from septet.query.filters import Filter
    from septet.ranking.pool import Candidate
    from septet.store.rows import EntryRow, FeedbackRow, Keeping, Stored


class Changing(Protocol):
    """Bulk changes and deletion of entries."""

    def rows_where(self, read: Any, filters: Mapping[str, Filter]) -> list[int]:
        """Return the rows of live entries that pass all filters, ascending."""

    def count_where(self, read: Any, filters: Mapping[str, Filter]) -> int:
        """Return the number of live entries that pass all filters."""

    def expired(self, read: Any, until: float, filters: Mapping[str, Filter]) -> list[int]:
        """Return the rows of live entries that pass all filters and whose validity ended at or before a time."""

    def erased(self, read: Any) -> int:
        """Return the number of empty rows of deleted entries."""

    def set_columns(
        self, write: Any, rows: Sequence[int], columns: Mapping[str, object], keeping: Keeping, *, touch: bool
    ) -> None:
        """Set columns of entries and their parts.

        Args:
            touch: also set ``updated_at`` to the time of the call, unless it is among the columns.

        Raises:
            EntryError: the times of an entry would contradict each other; roll the transaction back.
        """

    def attrs_at(self, read: Any, rows: Sequence[int]) -> list[tuple[int, str]]:
        """Return ``(row, attrs as JSON)`` of entries and their parts."""

    def set_attrs(self, write: Any, attrs: Sequence[tuple[int, str]], keeping: Keeping) -> None:
        """Set each entry's attrs (JSON), and ``updated_at`` to the time of the call.

        Raises:
            EntryError: an entry would be too large; roll the transaction back.
        """

    def set_tags(self, write: Any, rows: Sequence[int], tags: Sequence[str], keeping: Keeping) -> None:
        """Set each entry's tags (JSON). Keeps ``updated_at``: retagging does not change the content."""

    def erase(self, write: Any, rows: Sequence[int]) -> None:
        """Empty entries and their parts; remove their links, stored vectors and earlier versions."""


class Entries(Protocol):
    """Entries: rows by id, and ids, kinds and counts."""

    def upsert(self, write: Any, rows: Sequence[EntryRow], entries: Sequence[EntryRow], keeping: Keeping) -> None:
        """Insert entries, or overwrite those whose id exists, keeping ``created_at`` unless it is set.

        Args:
            entries: the rows with earlier versions; parts have none.
        """

    def find(self, read: Any, ids: Sequence[str]) -> dict[str, Candidate]:
        """Return live entries by id.

        Raises:
            EntryError: an id is not text.
        """

    def ids_beginning(self, read: Any, text: str, limit: int) -> list[str]:
        """Return at most ``limit`` ids of live entries that begin with a text, ascending; uses the index of ids."""

    def rows_of(self, read: Any, ids: Sequence[str], kind: str | None = None) -> list[int]:
        """Return the rows of live entries with these ids, optionally of one kind, ascending."""

    def live(self, read: Any) -> Iterator[Candidate]:
        """Yield every live entry in the order of rows, children after all others."""

    def ids_at(self, read: Any, rows: Sequence[int]) -> list[str]:
        """Return the ids of the entries at the given rows.

        Raises:
            StoreError: a row is missing.
        """

    def tags_at(self, read: Any, rows: Sequence[int]) -> list[list[str]]:
        """Return the tags of the entries at the given rows.

        Raises:
            StoreError: a row is missing.
        """

    def purge(self, write: Any) -> int:
        """Remove deleted rows, and vectors of deleted texts; return the number of rows."""

    def count(self, read: Any) -> int:
        """Return the number of live entries, memories included."""

    def count_searchable(self, read: Any, *, memories: bool = False) -> int:
        """Return the number of searchable entries, including memories if ``memories``."""

    def any_searchable(self, read: Any, *, memories: bool) -> bool:
        """Return True if there is a live entry; memories count if ``memories``."""

    def kinds(self, read: Any) -> dict[str, int]:
        """Return the number of live entries by kind."""

    def rows_stored(self, read: Any, rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
        """Return True for each row that a live entry already equals.

        Args:
            timed: True for rows with times from the caller; times of the clock are not compared.
        """


class FeedbackRows(Protocol):
    """Feedback on results."""

    def all_rows(self, read: Any) -> Iterator[FeedbackRow]:
        """Yield every row in insertion order."""

    def record(self, write: Any, row: FeedbackRow) -> None:
        """Store one row."""

    def restore(self, write: Any, row: FeedbackRow) -> None:
        """Store a row of an export unless it exists: importing twice must not count twice."""

    def counts(self, read: Any) -> dict[str, int]:
        """Return the number of rows by action."""

    def by_day(self, read: Any) -> list[tuple[int, str, int]]:
        """Return the number of rows by day (whole days since 1970, UTC) and action, in the order of days."""

    def clear(self, write: Any) -> int:
        """Delete all feedback; return the number of rows."""


class History(Protocol):
    """Earlier versions of entries."""

    def of_entry(self, read: Any, entry_id: str) -> list[Stored]:
        """Return the earlier versions of a live entry, the latest first."""

    def was(self, read: Any, row: int, call: str, column: str) -> Any:
        """Return the value of a column before the last such call that changed it; None if unknown."""

    def count_older(self, read: Any, until: float, rows: Sequence[int] | None) -> int:
        """Return the number of versions replaced at or before a time, of all entries or some."""

    def drop_older(self, write: Any, until: float, rows: Sequence[int] | None) -> int:
        """Remove the versions replaced at or before a time, of all entries or some; return their number."""


class Indexing(Protocol):
    """Writes to the full-text index."""

    def rows_of(self, write: Any, ids: Sequence[str]) -> list[int]:
        """Return the rows of existing ids, live or not, ascending."""

    def take(self, write: Any, prepared: object) -> None:
        """Use the result of the store's ``prepare`` in the next write of entries."""

    def merge(self, write: Any) -> None:
        """Merge the full-text index, dropping terms of deleted rows. No-op if none were deleted."""


class Links(Protocol):
    """Links between entries."""

    def put(self, write: Any, links: Iterable[Link]) -> None:
        """Store links; a link that exists gets the new type and note, and counts as new."""

    def remove(self, write: Any, source: str, target: str) -> bool:
        """Remove a link; return True if it existed."""

    def linked_by(self, read: Any, target: str, type: str) -> str | None:
        """Return an entry that links to another one by a type, or None."""

    def links_of(self, read: Any, entry_ids: Sequence[str]) -> list[Link]:
        """Return the links from and to a few entries, each once, by source and target."""

    def all_links(self, read: Any) -> Iterator[Link]:
        """Yield every link."""

    def count(self, read: Any) -> int:
        """Return the number of links."""


class Runs(Protocol):
    """Entries in order of rows."""

    def held(self, read: Any, entry_ids: Sequence[str]) -> frozenset[str]:
        """Return the ids of live entries."""

    def last_row(self, read: Any) -> int:
        """Return the highest row; 0 if empty."""

    def run(self, read: Any, after: int, last: int) -> list[Candidate]:
        """Return the next live entries in the order of rows: some hundred, or a few megabytes; empty at the end.

        Args:
            after: the row before the first.
            last: the last row to include.
        """


class Marks(Protocol):
    """Named values of a vault."""

    def get(self, read: Any, name: str) -> str | None:
        """Return the value of a name, or None."""

    def put(self, write: Any, name: str, value: str | None) -> None:
        """Set the value of a name; None deletes it."""


class Parts(Protocol):
    """Parts of split entries."""

    def of(self, read: Any, ids: Sequence[str]) -> list[str]:
        """Return the ids of the parts of split entries; other children are not parts."""

    def with_parts(self, read: Any, rows: Sequence[int]) -> list[int]:
        """Return rows together with those of their parts, ascending."""

    def taken(self, read: Any, parents: Mapping[str, str]) -> list[str]:
        """Return the ids that exist and are not parts of the given parent."""
