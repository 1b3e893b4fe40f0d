"""Rows: the values that a backend's tables take and return, the same for every backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, TypeAlias

from septet.errors import StoreError
from septet.ranking.pool import Candidate
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.entry import Entry
    from septet.model.vector import Space


#: The columns of a `Candidate`, in its order, and as an SQL list over ``entries e``.
CANDIDATE_COLUMNS = tuple(name.removesuffix("_json") for name in Candidate._fields)
CANDIDATE = ", ".join(f"e.{name}" for name in CANDIDATE_COLUMNS)
#: Actions on a result; ``failed`` is a system error and never counts.
ACTIONS = ("accepted", "modified", "dismissed", "failed")
#: ``active`` spaces are searched; ``filling`` ones will be when they have a vector for every text; ``standby`` ones
#: belong to a fallback, and are searched while the models before it fail; ``left`` ones belong to unused models.
State: TypeAlias = Literal["filling", "active", "standby", "left"]


class MissingRows(StoreError):
    """Rows of the arrays in memory are missing from the file."""


class Condition(NamedTuple):
    """A piece of SQL with its parameters.

    Attributes:
        depth: nesting depth of joins.
    """

    sql: str
    parameters: tuple[object, ...] = ()
    depth: int = 0


class EntryRow(NamedTuple):
    """A row to write: columns of the table ``entries``, and True if the caller set the creation time.

    `_core.plain_rows` returns these values in this order.
    """

    id: str
    kind: str
    type: str
    domain: str
    severity: str
    title: str
    description: str
    context: str
    tags: str
    grams: str
    attrs: str
    path: str | None
    first_line: int | None
    last_line: int | None
    created_at: float
    updated_at: float
    valid_from: float | None
    valid_until: float | None
    parent: str | None
    source: str | None
    trust: str
    text_hash: str
    created_given: bool

    @property
    def size(self) -> int:
        """Approximate size of texts and attrs in bytes: their characters."""
        return len(self.title) + len(self.description) + len(self.context) + len(self.attrs)


class Stored(NamedTuple):
    """An earlier version of an entry, with the time and call that replaced it, and the changed columns."""

    entry: Entry
    at: float
    call: str
    columns: tuple[str, ...]


class Keeping(NamedTuple):
    """Options for keeping earlier versions.

    Attributes:
        call: the call that changes the entries.
        at: its time, epoch seconds.
        most: maximum versions per entry.
    """

    call: str
    at: float
    most: int


class GivenVectors(NamedTuple):
    """Vectors passed with one entry: float32 rows ``(d,)`` by model."""

    entry_id: str
    text_hash: str
    by_model: Mapping[str, NDArray[np.float32]]


class StoredVector(NamedTuple):
    """One vector as little-endian float32.

    Attributes:
        at: the row of its entry, or the position of that row in the argument.
    """

    at: int
    vector: bytes


class TextSpace(NamedTuple):
    """A space keyed by text, its state, and True if it has any vectors."""

    space: Space
    state: State
    has_vectors: bool

    @property
    def stands_in(self) -> bool:
        """True if it has vectors that are or will be searched."""
        return self.has_vectors and self.state in ("active", "filling")


class Job(NamedTuple):
    """A recorded job.

    Attributes:
        name: its unique name at the provider.
        batch: the provider's id; None if the submission is unconfirmed.
    """

    job: int
    name: str
    batch: str | None


class FeedbackRow(NamedTuple):
    """A user's action on one result of a query, with its time (epoch seconds)."""

    query: str
    entry_id: str
    action: str
    created_at: float
