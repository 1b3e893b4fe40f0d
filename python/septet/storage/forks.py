"""After a fork the child has one thread: locks of other threads would stay locked for ever.

Septet replaces its own locks in the child. It cannot replace SQLite's, so no fork happens while Septet's background
thread is inside SQLite.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forked", "background", "renew_in_children"]

#: Held by the background thread while it uses SQLite, and by a fork.
background = threading.Lock()


class Forked(Protocol):
    """Something with locks."""

    def after_fork(self) -> None:
        """Replace locks and drop what another thread may have left half done."""


_renewed: WeakSet[Forked] = WeakSet()


def renew_in_children(owner: Forked) -> None:
    """Call ``owner.after_fork`` in every process forked from this one, as long as the owner lives."""
    _renewed.add(owner)


def _after_fork() -> None:
    for owner in list(_renewed):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    # Called in reverse order before the fork and in order after it: the lock is free again when owners are renewed.
    os.register_at_fork(
        before=background.acquire, after_in_parent=background.release, after_in_child=background.release
    )
    os.register_at_fork(after_in_child=_after_fork)
