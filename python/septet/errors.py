"""Every error Septet raises on purpose.

::

    SeptetError
    ├── EntryError (ValueError)         an entry, link or feedback that cannot be stored
    │   ├── VectorError                 NaN, infinite or zero vectors; a wrong dimension
    │   └── BatchError                  `add_many` or an import stopped in the middle; says how far it got
    ├── EntryNotFound (KeyError)        an id that the vault does not hold
    ├── QueryError (ValueError)         a search that cannot be understood: limit, field, mode, leg, time
    │   └── ProfileError                an unknown or malformed profile
    ├── TierError (ValueError)          a federation's tier: unknown, taken, or a weight out of range
    ├── EmbeddingError                  vectors from a provider
    │   ├── EmbeddingConfigError (ValueError)   a configuration that cannot be understood, or none that works
    │   ├── EmbeddingRefused            final: a wrong key, no quota, a request the provider does not take
    │   └── EmbeddingUnavailable        passing: no network, a rate limit, a failing server, a timeout
    └── StoreError                      the file
        ├── NotAVault                   no SQLite database, or one that belongs to another program
        ├── SchemaTooNew                written by a newer Septet
        ├── ReadOnly                    opened for reading, or the medium does not take writes
        ├── StoreBusy                   another process held the lock for too long
        └── Closed                      the vault was closed

A message says what was seen, what was wanted, and what to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "BatchError",
    "Closed",
    "EmbeddingConfigError",
    "EmbeddingError",
    "EmbeddingRefused",
    "EmbeddingUnavailable",
    "EntryError",
    "EntryNotFound",
    "NotAVault",
    "ProfileError",
    "QueryError",
    "ReadOnly",
    "SchemaTooNew",
    "SeptetError",
    "StoreBusy",
    "StoreError",
    "TierError",
    "VectorError",
]


class SeptetError(Exception):
    """The root of every error raised on purpose."""


class EntryError(SeptetError, ValueError):
    """An entry, link or feedback row that cannot be stored; nothing was written."""


class VectorError(EntryError):
    """A vector with NaN, an infinite or no component other than zero, or of a wrong dimension."""


class BatchError(EntryError):
    """A batch write that stopped in the middle.

    Attributes:
        written: entries that are stored (whole batches, each one transaction).
        index: position, from 0, of the item that could not be stored, or of the first of the failed batch.
    """

    def __init__(self, message: str, *, written: int, index: int) -> None:
        super().__init__(message)
        self.written = written
        self.index = index


class EntryNotFound(SeptetError, KeyError):
    """An id that the vault does not hold."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class QueryError(SeptetError, ValueError):
    """A search that cannot be understood."""


class ProfileError(QueryError):
    """An unknown or malformed profile."""


class TierError(SeptetError, ValueError):
    """A tier of a federation: an unknown or taken name, or a weight out of range."""


class EmbeddingError(SeptetError):
    """Vectors that a provider did not give. No message, repr or attribute holds a key.

    Attributes:
        provider: whose vectors they were to be, or an empty text.
        status: the HTTP status, or None.
        rows: float32 ``(m, d)``, the vectors of the first `m` texts, which had come in before; None when there is
            nothing to say about that.
    """

    rows: NDArray[np.float32] | None = None

    def __init__(self, message: str, *, provider: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status


class EmbeddingConfigError(EmbeddingError, ValueError):
    """An embedding configuration that cannot be understood, or one that names no provider that could work."""


class EmbeddingRefused(EmbeddingError):
    """The provider does not take the request, now or later: a wrong key, no quota, a malformed request."""


class EmbeddingUnavailable(EmbeddingError):
    """The provider did not answer in time, or not well; trying again later may help."""


class StoreError(SeptetError):
    """The file behind a vault cannot be used as asked."""


class NotAVault(StoreError):
    """The file is no SQLite database, or it belongs to another program."""


class SchemaTooNew(StoreError):
    """The file was written by a newer Septet; it was left as it is."""


class ReadOnly(StoreError):
    """A write to a vault that was opened for reading, or that lies on a medium that takes none."""


class StoreBusy(StoreError):
    """Another process held the write lock for longer than the wait allows."""


class Closed(StoreError):
    """The vault was closed."""
