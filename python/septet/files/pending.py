"""New text of a session since its last sync, and the thresholds for an automatic sync."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, Protocol

from septet.errors import StoreError
from septet.files.steady import open_file
from septet.model.entry import json_of

#: Minimum new bytes, or lines, of a session for an automatic sync.
DELTA_BYTES = 100_000
DELTA_MESSAGES = 50


class SessionFile(Protocol):
    """A session transcript on the disk."""

    @property
    def path(self) -> str:
        """Path relative to the root, with forward slashes."""

    @property
    def real(self) -> str | os.PathLike[str]:
        """Path to open."""


class SessionPending(NamedTuple):
    """New bytes and lines (about one per message) of a session since its last sync."""

    bytes: int
    messages: int


def pending_of(file: SessionFile, state: str | None, *, most_bytes: int = DELTA_BYTES) -> SessionPending:
    """Return the new part of a session since a state; lines are counted in its first ``most_bytes``.

    Raises:
        OSError: the file cannot be read.
    """
    before = _number(state, "offset")
    with open_file(file.real) as opened:
        size = os.fstat(opened.fileno()).st_size
        offset = before if before <= size else 0
        if size == offset:
            return SessionPending(0, 0)
        opened.seek(offset)
        return SessionPending(size - offset, opened.read(most_bytes).count(b"\n"))


def is_due(pending: SessionPending, *, delta_bytes: int = DELTA_BYTES, delta_messages: int = DELTA_MESSAGES) -> bool:
    """Return True if enough of a session is new for an automatic sync.

    With 0 ``delta_bytes`` any new byte is enough; with 0 ``delta_messages`` only bytes count.
    """
    return pending.bytes > 0 and (pending.bytes >= delta_bytes or 0 < delta_messages <= pending.messages)


class SessionDelta:
    """Tracks the size of a session in memory, by the documented algorithm: call `seen` at each event.

    Args:
        delta_bytes: minimum new bytes for a sync.
        delta_messages: minimum new lines for a sync; with 0 only bytes count.

    Attributes:
        pending: new part since the last sync. Lines are counted only below ``delta_bytes``.
    """

    def __init__(self, delta_bytes: int = DELTA_BYTES, delta_messages: int = DELTA_MESSAGES) -> None:
        self._thresholds = {"delta_bytes": delta_bytes, "delta_messages": delta_messages}
        self._size = 0
        self.pending = SessionPending(0, 0)

    def seen(self, size: int, lines: Callable[[int, int], int]) -> bool:
        """Record the size of the file; return True if it is due for a sync.

        Args:
            lines: returns the number of line ends between two byte offsets. A file that shrank is new from its start.
        """
        start, self._size = (self._size if size >= self._size else 0), size
        if size > start:
            most_bytes, most_messages = self._thresholds.values()
            new_bytes, messages = self.pending.bytes + size - start, self.pending.messages
            if most_messages > 0 and (most_bytes <= 0 or new_bytes < most_bytes):
                messages += lines(start, size)
            self.pending = SessionPending(new_bytes, messages)
        return is_due(self.pending, **self._thresholds)

    def taken(self) -> None:
        """Record that the file was synced."""
        self.pending = SessionPending(0, 0)


def inode_of(state: str | None) -> int | None:
    """Return the inode of a session at its last sync; None if unknown."""
    return _number(state, "inode") or None


def _number(state: str | None, name: str) -> int:
    try:
        value = json_of(state or "{}", dict).get(name, 0)
    except StoreError:
        return 0
    return value if isinstance(value, int) else 0
