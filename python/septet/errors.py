"""The errors that Septet raises on purpose.

::

    SeptetError
    ├── EntryError (ValueError)         an entry, link or feedback row cannot be stored
    │   ├── VectorError                 a vector is NaN, infinite or zero, or has a wrong dimension
    │   └── BatchError                  `add_many` or an import stopped in the middle; `written` entries are stored
    ├── EntryNotFound (KeyError)        the vault has no entry with this id
    ├── QueryError (ValueError)         a malformed search: limit, field, mode, leg, time
    │   └── ProfileError                a profile is unknown or malformed
    ├── TierError (ValueError)          a tier of a federation is unknown or taken, or its weight out of range
    ├── EmbeddingError                  a provider did not return vectors
    │   ├── EmbeddingConfigError (ValueError)   the configuration is malformed, or names no provider that can work
    │   ├── EmbeddingRefused            permanent: a wrong key, no quota, a request that the provider rejects
    │   └── EmbeddingUnavailable        temporary: no network, a rate limit, a failing server, a timeout
    └── StoreError                      the file cannot be used
        ├── NotAVault                   not an SQLite database, or one of another program
        ├── SchemaTooNew                written by a newer Septet
        ├── ReadOnly                    opened for reading, or the medium is read-only
        ├── StoreBusy                   another process held the lock for too long
        ├── VaultReplaced               the file was replaced, deleted or restored while it was open
        ├── ForkedInUse                 this process was forked during a read or a write of its parent
        ├── Unreachable                 the server of a remote vault did not respond, or sent an unreadable response
        ├── Unauthorized                the server of a remote vault rejects the token, or requires one
        └── Closed                      the vault was closed

Each message has the value seen, the value expected, and a remedy. ``code``, sent by MCP and HTTP with the message, is
the name of the class in snake case, such as ``entry_not_found``. Errors can be pickled and copied, with attributes and
notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

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
    "ForkedInUse",
    "NotAVault",
    "ProfileError",
    "QueryError",
    "ReadOnly",
    "SchemaTooNew",
    "SeptetError",
    "StoreBusy",
    "StoreError",
    "TierError",
    "Unauthorized",
    "Unreachable",
    "VaultReplaced",
    "VectorError",
]


def printable(value: object) -> str:
    """Return the text of a value, such as a path, with unprintable characters escaped."""
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class SeptetError(Exception):
    """The base class of all errors of Septet.

    Attributes:
        code: the name of the class in snake case.
    """

    code: ClassVar[str] = "septet_error"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = "".join(f"_{c.lower()}" if c.isupper() else c for c in cls.__name__).lstrip("_")

    def __str__(self) -> str:
        # Paths and ids in messages may contain control characters.
        return printable(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Callable[..., SeptetError], tuple[object, ...], dict[str, object]]:
        # By default, unpickling calls the class with the message only. Classes with more arguments raise then, and the
        # parent of a process pool hangs.
        return _rebuild, (type(self), *self.args), self.__dict__


def _rebuild(kind: type[SeptetError], *args: object) -> SeptetError:
    """Recreate a pickled or copied error; pickle restores attributes and notes as its state."""
    error: SeptetError = kind.__new__(kind, *args)
    return error


class EntryError(SeptetError, ValueError):
    """An entry, link or feedback row cannot be stored; nothing was written."""


class VectorError(EntryError):
    """A vector is all zero, contains NaN or infinity, or has a wrong dimension."""


class BatchError(EntryError):
    """A batch write stopped in the middle.

    Attributes:
        written: number of stored entries, in whole transactions.
        index: position, from 0, of the failed item, or of the first item of a failed transaction.
    """

    def __init__(self, message: str, *, written: int, index: int) -> None:
        super().__init__(message)
        self.written = written
        self.index = index


class EntryNotFound(SeptetError, KeyError):
    """The vault has no entry with this id."""


class QueryError(SeptetError, ValueError):
    """A search is malformed."""


class ProfileError(QueryError):
    """A profile is unknown or malformed."""


class TierError(SeptetError, ValueError):
    """The name of a tier is unknown or taken, or its weight is out of range."""


class EmbeddingError(SeptetError):
    """A provider did not return vectors. API keys never appear in messages, reprs or attributes.

    Attributes:
        provider: the provider's name; empty if none is selected yet.
        status: the HTTP status, or None.
        rows: float32 ``(m, d)``, the vectors of the first ``m`` texts, received before the failure; None if unknown.
    """

    rows: NDArray[np.float32] | None = None

    def __init__(self, message: str, *, provider: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.provider = provider
        self.status = status


class EmbeddingConfigError(EmbeddingError, ValueError):
    """An embedding configuration is malformed, or names no provider that can work."""


class EmbeddingRefused(EmbeddingError):
    """The provider permanently rejects the request: a wrong key, no quota, a malformed request."""


class EmbeddingUnavailable(EmbeddingError):
    """The provider did not respond in time, or failed; a retry may succeed."""


class StoreError(SeptetError):
    """The file of a vault cannot be used."""


class NotAVault(StoreError):
    """The file is not an SQLite database, or belongs to another program."""


class SchemaTooNew(StoreError):
    """The file was written by a newer Septet; it was not changed."""


class ReadOnly(StoreError):
    """The vault was opened for reading, or its medium is read-only."""


class StoreBusy(StoreError):
    """Another process held the write lock for too long, or a callback of a sync started another sync."""


class VaultReplaced(StoreError):
    """The file was deleted, replaced or restored while the vault was open; close the vault and open it again."""


class ForkedInUse(StoreError):
    """This process was forked during a read or a write of its parent, and must not use the file."""


class Unreachable(StoreError):
    """The server of a remote vault did not respond, or sent an unreadable response.

    Attributes:
        status: the HTTP status, None without a response.
    """

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class Unauthorized(StoreError):
    """The server of a remote vault rejects the token, or requires one; a retry does not help."""


class Closed(StoreError):
    """The vault was closed."""
