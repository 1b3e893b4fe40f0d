"""After a fork the child has one thread: locks that others held stay locked for ever, unless they are made anew."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Forked", "renew_in_children"]


class Forked(Protocol):
    """Something with locks."""

    def after_fork(self) -> None:
        """Make locks anew and forget what another thread may have left half done."""


_renewed: WeakSet[Forked] = WeakSet()


def renew_in_children(owner: Forked) -> None:
    """Call ``owner.after_fork`` in every process forked from this one, as long as the owner lives."""
    _renewed.add(owner)


def _after_fork() -> None:
    for owner in list(_renewed):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
