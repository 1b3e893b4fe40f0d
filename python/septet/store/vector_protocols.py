"""Protocols of the tables of vectors, and of the work that makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.vector import Space
    from septet.store.rows import GivenVectors, Job, State, StoredVector, TextSpace


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
        """Remove the claims of dead processes of this machine; return the number of freed texts.

        Claims of other machines expire.
        """


class Jobs(Protocol):
    """Batch jobs of providers."""

    def make(self, write: Any, model: str, address: str, name: str, owner: str, now: float, until: float) -> int:
        """Record a job before its submission; return its number.

        Args:
            address: address of the provider; no other address has the job.
            owner: the process that polls the job, until a time (epoch seconds).
        """

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


class Texts(Protocol):
    """Embedded vectors by the hash of the text."""

    def text_spaces(self, read: Any) -> list[TextSpace]:
        """Return every space keyed by text, the latest first."""

    def find_space(self, read: Any, model: str, dimensions: int | None = None) -> Space | None:
        """Return the space of a model, the latest if no dimension is named; None if there is none."""

    def make_space(self, write: Any, model: str, dimensions: int, now: float, pooling: str | None = None) -> Space:
        """Return the space of a model and a dimension; create it if missing.

        Args:
            pooling: pooling of long texts in a new space.

        Raises:
            VectorError: the store takes no vectors of this dimension.
        """

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
        """Return live texts without a vector in a space: hash and text, in the order of hashes.

        Args:
            space: None for a space that does not exist yet, which lacks every vector.
            memories: include texts of memories.
            beside: skip texts with a vector in any of these spaces.
            after: only hashes after this one.
            limit: maximum texts.
        """

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


class Vectors(Protocol):
    """Vectors passed by callers, and the spaces of all vectors."""

    def put(self, write: Any, vectors: Sequence[GivenVectors], *, one_per_entry: bool, now: float) -> None:
        """Store vectors passed with entries that are already written.

        Args:
            one_per_entry: remove an entry's stored vectors of other models.

        Raises:
            VectorError: stored vectors of the model have another dimension.
        """

    def drop_stale(self, write: Any, hashes: Mapping[str, str]) -> None:
        """Remove the stored vectors of entries whose text is about to change.

        Args:
            hashes: the new text hash of each entry about to be written, by id.
        """

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

    def vectors_stored(self, read: Any, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
        """Return the stored vectors of entries with these ids and texts, as little-endian float32 by model."""
