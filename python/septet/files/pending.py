"""What is new in a session since it was read, and whether that is worth a reading that nobody asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, Protocol

from septet.errors import StoreError
from septet.files.steady import open_file
from septet.model.entry import json_of

__all__ = ["SessionDelta", "SessionFile", "SessionPending", "inode_of", "is_due", "pending_of"]

#: What must be new before a session is read without being asked for.
DELTA_BYTES = 100_000
DELTA_MESSAGES = 50


class SessionFile(Protocol):
    """A session on the disk."""

    @property
    def path(self) -> str:
        """The path below the root, with forward slashes."""

    @property
    def real(self) -> str | os.PathLike[str]:
        """The path to open."""


class SessionPending(NamedTuple):
    """What of a session is new since it was read: bytes, and lines (each about a message)."""

    bytes: int
    messages: int


def pending_of(file: SessionFile, state: str | None, *, most_bytes: int = DELTA_BYTES) -> SessionPending:
    """Return what of a session is new since a state was made; lines are counted in the first ``most_bytes`` of it.

    Raises:
        OSError: the file cannot be read.
    """
    before = _offset(state)
    with open_file(file.real) as opened:
        size = os.fstat(opened.fileno()).st_size
        offset = before if before <= size else 0
        if size == offset:
            return SessionPending(0, 0)
        opened.seek(offset)
        return SessionPending(size - offset, opened.read(most_bytes).count(b"\n"))


def is_due(pending: SessionPending, *, delta_bytes: int = DELTA_BYTES, delta_messages: int = DELTA_MESSAGES) -> bool:
    """Say whether enough of a session is new to read it without being asked for.

    A threshold of 0 bytes is any news; one of 0 messages leaves it to the bytes.
    """
    return pending.bytes > 0 and (pending.bytes >= delta_bytes or 0 < delta_messages <= pending.messages)


class SessionDelta:
    """Follows the size of a session between two readings, in memory, as first documented: `seen` at each event.

    Args:
        delta_bytes: so many new bytes are worth a reading.
        delta_messages: so many new lines are; 0 leaves it to the bytes.

    Attributes:
        pending: what came since the last reading. Lines are counted only while there are too few bytes.
    """

    def __init__(self, delta_bytes: int = DELTA_BYTES, delta_messages: int = DELTA_MESSAGES) -> None:
        self._thresholds = {"delta_bytes": delta_bytes, "delta_messages": delta_messages}
        self._size = 0
        self.pending = SessionPending(0, 0)

    def seen(self, size: int, lines: Callable[[int, int], int]) -> bool:
        """Note the size of the file; return whether it should be read now.

        Args:
            lines: returns how many lines end between two places of the file, in bytes. A file that became smaller is
                new from its beginning.
        """
        start, self._size = (self._size if size >= self._size else 0), size
        if size > start:
            most_bytes, most_messages = self._thresholds.values()
            found, messages = self.pending.bytes + size - start, self.pending.messages
            if most_messages > 0 and (most_bytes <= 0 or found < most_bytes):
                messages += lines(start, size)
            self.pending = SessionPending(found, messages)
        return is_due(self.pending, **self._thresholds)

    def taken(self) -> None:
        """Note that the file was read."""
        self.pending = SessionPending(0, 0)


def inode_of(state: str | None) -> int | None:
    """Return the inode of a session when it was read; None if that is not known."""
    inode = _stated(state, "inode")
    return inode or None


def _offset(state: str | None) -> int:
    """Return how far a session was read."""
    return _stated(state, "offset")


def _stated(state: str | None, name: str) -> int:
    try:
        value = json_of(state or "{}", dict).get(name, 0)
    except StoreError:
        return 0
    return value if isinstance(value, int) else 0
