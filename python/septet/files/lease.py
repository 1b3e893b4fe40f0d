"""One process syncs at a time. Nothing but work done twice depends on it: each write checks what it replaces."""

from __future__ import annotations

import time

from septet.storage.store import Store, Writing
from septet.storage.tables import claims

__all__ = ["Lease"]

#: A process that has not written for so long is not waited for.
LEASE_S = 10.0
#: How often a process that waits looks again.
LOOK_S = 0.05
#: What is claimed, in the table of claims, whose other rows name models with a slash.
_WHAT, _KEYS = "files", ("sync",)


class Lease:
    """The right to sync a vault, renewed by each write, lost when its process ends or does nothing for a while."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owner = "" if store.in_memory else claims.new_owner()

    def take(self, deadline: float | None) -> bool:
        """Wait for the lease; False when the deadline (`time.monotonic`) comes first."""
        while self._owner:
            with self._store.bookkeeping() as write:
                claims.drop_dead(write)
                if self._claimed(write):
                    return True
            left = LOOK_S if deadline is None else min(LOOK_S, deadline - time.monotonic())
            if left <= 0:
                return False
            time.sleep(left)
        return True

    def renew(self, write: Writing) -> None:
        """Keep the lease, in a transaction that writes."""
        if self._owner:
            self._claimed(write)

    def release(self) -> None:
        """Let others sync."""
        if self._owner:
            with self._store.bookkeeping() as write:
                claims.release(write, self._owner)

    def _claimed(self, write: Writing) -> bool:
        now = time.time()
        return bool(claims.claim(write, _WHAT, self._owner, _KEYS, now, now + LEASE_S))
