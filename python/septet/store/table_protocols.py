"""The interface of each table of a store.

The first argument is the transaction of the store itself, `Reading` or `Writing` of `septet.store.protocol`. Those of
a local store are the modules of `septet.sqlite.tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.links import Link
    from septet.model.vector import Space
    from septet.query.filters import Filter
    from septet.ranking.pool import Candidate
    from septet.store.rows import (
        EntryRow,
        FeedbackRow,
        GivenVectors,
        Job,
        Keeping,
        State,
        Stored,
        StoredVector,
        TextSpace,
    )


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
        """Set columns of entries and their parts."""

    def attrs_at(self, read: Any, rows: Sequence[int]) -> list[tuple[int, str]]:
        """Return ``(row, attrs as JSON)`` of entries and their parts."""

    def set_attrs(self, write: Any, attrs: Sequence[tuple[int, str]], keeping: Keeping) -> None:
        """Set each entry's attrs (JSON), and ``updated_at`` to the time of the call."""

    def set_tags(self, write: Any, rows: Sequence[int], tags: Sequence[str], keeping: Keeping) -> None:
        """Set each entry's tags (JSON). Keeps ``updated_at``: retagging does not change the content."""

    def erase(self, write: Any, rows: Sequence[int]) -> None:
        """Empty entries and their parts; remove their links, stored vectors and earlier versions."""


class Claims(Protocol):
    """Claims of processes on texts to embed."""

    def claimed(self, read: Any, model: str, owner: str, keys: Sequence[str], now: float) -> set[str]:
        """Return the texts claimed by others."""

    def claim(self, write: Any, model: str, owner: str, keys: Sequence[str], now: float, until: float) -> list[str]:
        """Claim texts until a time (epoch seconds); return those that no other owner has claimed."""

    def settle(self, write: Any, model: str, keys: Sequence[str]) -> None:
        """Remove the claims on texts whose vectors are stored in the same transaction."""

    def release(self, write: Any, owner: str) -> None:
        """Release every claim of an owner."""

    def drop_dead(self, write: Any) -> int:
        """Remove the claims of dead processes of this machine; return the number of freed texts."""


class Entries(Protocol):
    """Entries: rows by id, and ids, kinds and counts."""

    def upsert(self, write: Any, rows: Sequence[EntryRow], entries: Sequence[EntryRow], keeping: Keeping) -> None:
        """Insert entries, or overwrite those whose id exists, keeping ``created_at`` unless it is set."""

    def find(self, read: Any, ids: Sequence[str]) -> dict[str, Candidate]:
        """Return live entries by id."""

    def ids_beginning(self, read: Any, text: str, limit: int) -> list[str]:
        """Return at most ``limit`` ids of live entries that begin with a text, ascending; uses the index of ids."""

    def rows_of(self, read: Any, ids: Sequence[str], kind: str | None = None) -> list[int]:
        """Return the rows of live entries with these ids, optionally of one kind, ascending."""

    def live(self, read: Any) -> Iterator[Candidate]:
        """Yield every live entry in the order of rows, children after all others."""

    def ids_at(self, read: Any, rows: Sequence[int]) -> list[str]:
        """Return the ids of the entries at the given rows."""

    def tags_at(self, read: Any, rows: Sequence[int]) -> list[list[str]]:
        """Return the tags of the entries at the given rows."""

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


class Jobs(Protocol):
    """Batch jobs of providers."""

    def make(self, write: Any, model: str, address: str, name: str, owner: str, now: float, until: float) -> int:
        """Record a job before its submission; return its number."""

    def submitted(self, write: Any, job: int, batch: str) -> None:
        """Store the provider's id of a job."""

    def take(self, write: Any, model: str, address: str, owner: str, now: float, until: float) -> list[Job]:
        """Take over the jobs of a model whose owners are dead, the oldest first."""

    def renew(self, write: Any, owner: str, until: float) -> None:
        """Extend the ownership of jobs."""

    def let_go(self, write: Any, owner: str) -> None:
        """Release jobs to the next process; their texts stay claimed."""

    def drop(self, write: Any, job: int) -> None:
        """Delete a finished job, and release its texts without vectors."""

    def keys(self, read: Any, job: int) -> set[str]:
        """Return the hashes of a job's pending texts."""

    def count_texts(self, read: Any, model: str) -> int:
        """Return the number of texts of a model in jobs."""


class Links(Protocol):
    """Links between entries."""

    def put(self, write: Any, links: Iterable[Link]) -> None:
        """Store links; a link that exists gets the new type and note, and counts as new."""

    def remove(self, write: Any, source: str, target: str) -> bool:
        """Remove a link; return True if it existed."""

    def linked_by(self, read: Any, target: str, type: str) -> str | None:
        """Return an entry that links to another one by a type, or None."""

    def links_of(self, read: Any, entry_id: str) -> list[Link]:
        """Return the links from and to an entry."""

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
        """Return the next live entries in the order of rows: some hundred, or a few megabytes; empty at the end."""


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


class Texts(Protocol):
    """Embedded vectors by the hash of the text."""

    def text_spaces(self, read: Any) -> list[TextSpace]:
        """Return every space keyed by text, the latest first."""

    def find_space(self, read: Any, model: str, dimensions: int | None = None) -> Space | None:
        """Return the space of a model, the latest if no dimension is named; None if there is none."""

    def make_space(self, write: Any, model: str, dimensions: int, now: float, pooling: str | None = None) -> Space:
        """Return the space of a model and a dimension; create it if missing."""

    def begin(self, write: Any, space: Space) -> None:
        """Begin to fill a space that was left or on standby: it becomes active if no other is, else filling."""

    def add_index(self, write: Any) -> None:
        """Create the index over texts if missing; vaults without an embedder do not need it."""

    def is_left(self, read: Any, space: Space) -> bool:
        """Return True if a space belongs to an unused model."""

    def move(self, write: Any, space: Space, state: State) -> None:
        """Set the state of a space."""

    def put(self, write: Any, space: Space, keys: Sequence[str], vectors: NDArray[np.float32]) -> int:
        """Store the vectors ``(n, d)`` of texts by hash unless they exist; return the number of new ones."""

    def missing(
        self,
        read: Any,
        space: Space | None,
        *,
        memories: bool = False,
        beside: Sequence[Space] = (),
        after: str,
        limit: int,
    ) -> list[tuple[str, str]]:
        """Return live texts without a vector in a space: hash and text, in the order of hashes."""

    def lacking(self, read: Any, space: Space | None, keys: Sequence[str]) -> list[str]:
        """Return the texts without a vector in a space, in their order."""

    def of_keys(self, read: Any, keys: Sequence[str], *, memories: bool = False) -> dict[str, str]:
        """Return the texts of live entries by hash; hashes of deleted texts are skipped."""

    def count_missing(
        self, read: Any, space: Space | None, *, memories: bool = False, beside: Sequence[Space] = ()
    ) -> int:
        """Return the number of live texts without a vector in a space, including memories if embedded."""

    def coverage(self, read: Any, space: Space, *, memories: bool = False) -> tuple[int, int]:
        """Return the number of live entries with and without a vector in a space, including memories if embedded."""

    def empty(self, write: Any, space: Space, most: int) -> int:
        """Remove at most ``most`` vectors of a space; return their number."""

    def pooling(self, read: Any, space: Space) -> str | None:
        """Return the pooling of long texts in a space; None if unknown."""

    def set_pooling(self, write: Any, space: Space, name: str) -> None:
        """Record the pooling of long texts in a space."""

    def embedded(self, read: Any, space: Space, *, over_bytes: int, after: str, limit: int) -> list[tuple[str, str]]:
        """Return live texts over a size that have a vector in a space: hash and text, in the order of hashes."""

    def forget(self, write: Any, space: Space, keys: Sequence[str]) -> None:
        """Remove the vectors of texts from a space, and those of deleted texts."""

    def left_spaces(self, read: Any) -> list[Space]:
        """Return the spaces with vectors of unused models."""


class Unchanged(Protocol):
    """Detection of unchanged entries in an import."""

    def rows_stored(self, read: Any, rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
        """Return True for each row that a live entry already equals."""

    def vectors_stored(self, read: Any, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
        """Return the stored vectors of entries with these ids and texts, as little-endian float32 by model."""


class Vectors(Protocol):
    """Vectors passed by callers, and the spaces of all vectors."""

    def put(self, write: Any, vectors: Sequence[GivenVectors], *, one_per_entry: bool, now: float) -> None:
        """Store vectors passed with entries that are already written."""

    def drop_stale(self, write: Any, hashes: Mapping[str, str]) -> None:
        """Remove the stored vectors of entries whose text is about to change."""

    def all_spaces(self, read: Any) -> list[Space]:
        """Return every space in creation order, without counting entries."""

    def spaces(self, read: Any) -> list[Space]:
        """Return all spaces with vectors of live entries, the fullest first."""

    def of_rows(self, read: Any, space: Space, rows: Sequence[int]) -> list[StoredVector]:
        """Return the vectors of rows in a space, by the position of the row, in order."""

    def of_ids(self, read: Any, model: str, dimensions: int, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors (little-endian float32) of live entries by id; passed ones precede a provider's."""

    def given(self, read: Any) -> Iterator[tuple[str, str, bytes]]:
        """Yield id, model and vector (little-endian float32) of all vectors passed with live entries."""
