"""What is asked of each table of a store: the functions that vaults, embedding and copies call.

The first argument is the transaction of the store itself, `Reading` or `Writing` of `septet.store.protocol`. Those of
a local store are the modules of `septet.sqlite.tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.spaces import Space
    from septet.query.filters import Filter
    from septet.ranking.pool import Candidate
    from septet.sqlite.tables.entries import EntryRow
    from septet.sqlite.tables.feedback import Feedback
    from septet.sqlite.tables.history import Keeping, Stored
    from septet.sqlite.tables.jobs import Job
    from septet.sqlite.tables.links import Link
    from septet.sqlite.tables.texts import State, TextSpace
    from septet.sqlite.tables.vectors import GivenVectors, StoredVector

__all__ = [
    "Changing",
    "Claims",
    "Entries",
    "FeedbackRows",
    "History",
    "Indexing",
    "Jobs",
    "Links",
    "Marks",
    "Parts",
    "Runs",
    "Texts",
    "Unchanged",
    "Vectors",
]


class Changing(Protocol):
    """Bulk changes and deletion of entries."""

    def rows_where(self, read: Any, filters: Mapping[str, Filter]) -> list[int]:
        """Return the rows of the live entries that pass all filters, ascending."""

    def count_where(self, read: Any, filters: Mapping[str, Filter]) -> int:
        """Return how many live entries pass all filters."""

    def expired(self, read: Any, until: float, filters: Mapping[str, Filter]) -> list[int]:
        """Return the rows of the live entries that pass all filters and whose validity ended at a time or before."""

    def erased(self, read: Any) -> int:
        """Return how many rows are left of entries that were deleted."""

    def set_columns(
        self, write: Any, rows: Sequence[int], columns: Mapping[str, object], keeping: Keeping, *, touch: bool
    ) -> None:
        """Give entries, and their parts, the same values in some columns."""

    def attrs_at(self, read: Any, rows: Sequence[int]) -> list[tuple[int, str]]:
        """Return row and attrs, as JSON, of entries and of their parts."""

    def set_attrs(self, write: Any, attrs: Sequence[tuple[int, str]], keeping: Keeping) -> None:
        """Give entries attrs of their own each, and make ``updated_at`` the time of the call."""

    def set_tags(self, write: Any, rows: Sequence[int], tags: Sequence[str], keeping: Keeping) -> None:
        """Give entries tags of their own each, as JSON; ``updated_at`` stays, for what they say is no newer."""

    def erase(self, write: Any, rows: Sequence[int]) -> None:
        """Empty entries and their parts; remove their links, the vectors given with them and their earlier versions."""


class Claims(Protocol):
    """Claims of processes on texts to embed."""

    def claimed(self, read: Any, model: str, owner: str, keys: Sequence[str], now: float) -> set[str]:
        """Return those of the texts that others have claimed."""

    def claim(self, write: Any, model: str, owner: str, keys: Sequence[str], now: float, until: float) -> list[str]:
        """Claim texts until a time (epoch seconds), and return those that nobody else has claimed."""

    def settle(self, write: Any, model: str, keys: Sequence[str]) -> None:
        """Remove the claims on texts whose vectors are being stored in the same transaction."""

    def release(self, write: Any, owner: str) -> None:
        """Give up every claim of an owner."""

    def drop_dead(self, write: Any) -> int:
        """Remove the claims of processes of this machine that have ended, and return how many texts that frees."""


class Entries(Protocol):
    """Entries: rows by id, and ids, kinds and counts."""

    def upsert(self, write: Any, rows: Sequence[EntryRow], entries: Sequence[EntryRow], keeping: Keeping) -> None:
        """Insert entries, or overwrite those whose id exists; ``created_at`` of an existing one stays unless given."""

    def find(self, read: Any, ids: Sequence[str]) -> dict[str, Candidate]:
        """Return the live entries with the given ids, by id."""

    def ids_beginning(self, read: Any, text: str, limit: int) -> list[str]:
        """Return the ids of live entries that begin with a text, ascending, at most so many; by the index of ids."""

    def rows_of(self, read: Any, ids: Sequence[str], kind: str | None = None) -> list[int]:
        """Return the rows of those of the ids that live entries have, or live entries of a kind, ascending."""

    def live(self, read: Any) -> Iterator[Candidate]:
        """Yield every live entry in the order of rows, those with a parent of their own behind all others."""

    def ids_at(self, read: Any, rows: Sequence[int]) -> list[str]:
        """Return the ids of the entries at the given rows."""

    def tags_at(self, read: Any, rows: Sequence[int]) -> list[list[str]]:
        """Return the tags of the entries at the given rows."""

    def purge(self, write: Any) -> int:
        """Remove deleted rows, and vectors of texts that no entry has any more; return how many rows."""

    def count(self, read: Any) -> int:
        """Return the number of live entries, memories included."""

    def count_searchable(self, read: Any, *, memories: bool = False) -> int:
        """Return the number of entries that searches look at; memories count if ``memories`` says so."""

    def any_searchable(self, read: Any, *, memories: bool) -> bool:
        """Say whether there is a live entry; a memory counts if ``memories`` says so."""

    def kinds(self, read: Any) -> dict[str, int]:
        """Return the number of live entries by kind."""


class FeedbackRows(Protocol):
    """Feedback on results."""

    def all_rows(self, read: Any) -> Iterator[Feedback]:
        """Yield every row in the order in which they came."""

    def record(self, write: Any, row: Feedback) -> None:
        """Store one row."""

    def restore(self, write: Any, row: Feedback) -> None:
        """Store a row of an export, unless it is there already: importing twice must not count twice."""

    def counts(self, read: Any) -> dict[str, int]:
        """Return the number of rows by action."""

    def by_day(self, read: Any) -> list[tuple[int, str, int]]:
        """Return the number of rows by day (whole days since 1970, UTC) and action, in the order of days."""

    def clear(self, write: Any) -> int:
        """Forget all feedback and return how many rows there were."""


class History(Protocol):
    """Earlier versions of entries."""

    def of_entry(self, read: Any, entry_id: str) -> list[Stored]:
        """Return the earlier versions of a live entry, the last one first."""

    def was(self, read: Any, row: int, call: str, column: str) -> Any:
        """Return what an entry held in a column before the last such call that changed it; None if unknown."""

    def count_older(self, read: Any, until: float, rows: Sequence[int] | None) -> int:
        """Return how many versions were replaced at a time or before, of all entries or of some."""

    def drop_older(self, write: Any, until: float, rows: Sequence[int] | None) -> int:
        """Remove the versions that were replaced at a time or before, of all entries or of some; return how many."""


class Indexing(Protocol):
    """Writes to the full-text index."""

    def rows_of(self, write: Any, ids: Sequence[str]) -> list[int]:
        """Return the rows of those ids that have one, live or not, in ascending order."""

    def take(self, write: Any, prepared: object) -> None:
        """Let the next write of entries use what the store's ``prepare`` returned for them."""

    def merge(self, write: Any) -> None:
        """Write the full-text tables anew, without the words of what has left them; without such it costs nothing."""


class Jobs(Protocol):
    """Batch jobs of providers."""

    def make(self, write: Any, model: str, address: str, name: str, owner: str, now: float, until: float) -> int:
        """Record a job before it is submitted and return its number."""

    def submitted(self, write: Any, job: int, batch: str) -> None:
        """Keep the provider's id of a job."""

    def take(self, write: Any, model: str, address: str, owner: str, now: float, until: float) -> list[Job]:
        """Take over the jobs of a model that no living process looks after, the oldest first."""

    def renew(self, write: Any, owner: str, until: float) -> None:
        """Look after jobs until a later time."""

    def let_go(self, write: Any, owner: str) -> None:
        """Leave jobs to the next process; their texts stay claimed."""

    def drop(self, write: Any, job: int) -> None:
        """Forget a job that is over, and free those of its texts that have no vector."""

    def keys(self, read: Any, job: int) -> set[str]:
        """Return the texts, by hash, that a job is still to bring."""

    def count_texts(self, read: Any, model: str) -> int:
        """Return how many texts of a model are in jobs."""


class Links(Protocol):
    """Links between entries."""

    def put(self, write: Any, links: Iterable[Link]) -> None:
        """Store links; a link that exists gets the new type and note, and counts as new."""

    def remove(self, write: Any, source: str, target: str) -> bool:
        """Remove a link and say whether there was one."""

    def linked_by(self, read: Any, target: str, type: str) -> str | None:
        """Return an entry with a link of a type to another one, or None."""

    def links_of(self, read: Any, entry_id: str) -> list[Link]:
        """Return the links from and to an entry."""

    def all_links(self, read: Any) -> Iterator[Link]:
        """Yield every link."""

    def count(self, read: Any) -> int:
        """Return the number of links."""


class Runs(Protocol):
    """Entries in order of rows."""

    def held(self, read: Any, ids: Sequence[str]) -> frozenset[str]:
        """Return those of the ids that are live."""

    def last_row(self, read: Any) -> int:
        """Return the highest row, 0 without any."""

    def run(self, read: Any, after: int, last: int) -> list[Candidate]:
        """Return the next live entries in the order of rows: some hundred, or a few megabytes; none behind the last."""


class Marks(Protocol):
    """What a vault keeps about itself under a name."""

    def get(self, read: Any, name: str) -> str | None:
        """Return what is kept under a name; None without any."""

    def put(self, write: Any, name: str, value: str | None) -> None:
        """Keep a text under a name; None forgets it."""


class Parts(Protocol):
    """Parts of split entries."""

    def of(self, read: Any, ids: Sequence[str]) -> list[str]:
        """Return the ids of the parts that entries were split into; what only names a parent is no part of it."""

    def with_parts(self, read: Any, rows: Sequence[int]) -> list[int]:
        """Return rows and those of the parts that the entries there were split into, ascending."""

    def taken(self, read: Any, parents: Mapping[str, str]) -> list[str]:
        """Return those ids that live entries have already which are not parts of the parent named for the id."""


class Texts(Protocol):
    """Vectors that a provider makes of texts, by the hash of the text."""

    def text_spaces(self, read: Any) -> list[TextSpace]:
        """Return every space of vectors by text, the latest first."""

    def find_space(self, read: Any, model: str, dimensions: int | None = None) -> Space | None:
        """Return the space of a model's vectors, the latest one when no dimension is named; None without any."""

    def make_space(self, write: Any, model: str, dimensions: int, now: float, pooling: str | None = None) -> Space:
        """Return the space of a model's vectors of a dimension; make it if there is none."""

    def begin(self, write: Any, space: Space) -> None:
        """Let a space be filled (again): left or on standby, it becomes active if no other is, else filling."""

    def add_index(self, write: Any) -> None:
        """Make the index over texts, which vaults without an embedder do not pay for, if it is not there."""

    def is_left(self, read: Any, space: Space) -> bool:
        """Say whether a space belongs to a model that is no longer used."""

    def move(self, write: Any, space: Space, state: State) -> None:
        """Give a space another state."""

    def put(self, write: Any, space: Space, keys: Sequence[str], vectors: NDArray[np.float32]) -> int:
        """Store the vectors ``(n, d)`` of texts by their hashes unless they exist; return how many are new."""

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
        """Return live texts that lack a vector in a space: hash and text, in the order of the hashes."""

    def lacking(self, read: Any, space: Space | None, keys: Sequence[str]) -> list[str]:
        """Return those of the texts that lack a vector in a space, in their order."""

    def of_keys(self, read: Any, keys: Sequence[str], *, memories: bool = False) -> dict[str, str]:
        """Return the texts of live entries by their hashes; those that no entry has any more are left out."""

    def count_missing(
        self, read: Any, space: Space | None, *, memories: bool = False, beside: Sequence[Space] = ()
    ) -> int:
        """Return how many live texts, those of memories too if they are embedded, lack a vector in a space."""

    def coverage(self, read: Any, space: Space, *, memories: bool = False) -> tuple[int, int]:
        """Return how many live entries, memories too if they are embedded, have a vector in a space, how many none."""

    def empty(self, write: Any, space: Space, most: int) -> int:
        """Remove at most ``most`` vectors of a space and return how many."""

    def pooling(self, read: Any, space: Space) -> str | None:
        """Return how the vectors of long texts in a space are made; None if it was never said."""

    def set_pooling(self, write: Any, space: Space, name: str) -> None:
        """Note how the vectors of long texts in a space are made."""

    def embedded(self, read: Any, space: Space, *, over_bytes: int, after: str, limit: int) -> list[tuple[str, str]]:
        """Return live texts of more bytes that have a vector in a space: hash and text, in the order of the hashes."""

    def forget(self, write: Any, space: Space, keys: Sequence[str]) -> None:
        """Remove the vectors of texts from a space, and those of texts that no entry has any more."""

    def left_spaces(self, read: Any) -> list[Space]:
        """Return the spaces with vectors of models that are no longer used."""


class Unchanged(Protocol):
    """Detection of unchanged entries in an import."""

    def rows_stored(self, read: Any, rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
        """Return of each row whether a live entry has exactly its values."""

    def vectors_stored(self, read: Any, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
        """Return the vectors that were given with entries of these ids and texts, as little-endian float32 by model."""


class Vectors(Protocol):
    """Vectors passed by callers, and the spaces of all vectors."""

    def put(self, write: Any, vectors: Sequence[GivenVectors], *, one_per_entry: bool, now: float) -> None:
        """Store vectors given for entries that are already written."""

    def drop_stale(self, write: Any, hashes: Mapping[str, str]) -> None:
        """Remove the given vectors of entries whose text is about to change: they describe the old text."""

    def all_spaces(self, read: Any) -> list[Space]:
        """Return every space in order of its making, its entries not counted."""

    def spaces(self, read: Any) -> list[Space]:
        """Return all spaces that hold vectors of live entries, the fullest first."""

    def of_rows(self, read: Any, space: Space, rows: Sequence[int]) -> list[StoredVector]:
        """Return the vectors of the entries at the given rows in a space, by the position of the row, in order."""

    def of_ids(self, read: Any, model: str, dimensions: int, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors (little-endian float32) of live entries by id: one that was given before a provider's."""

    def given(self, read: Any) -> Iterator[tuple[str, str, bytes]]:
        """Yield id, model and vector (little-endian float32) of all that callers gave for live entries."""
