"""One process syncs at a time. Nothing but work done twice depends on it: each write checks what it replaces."""

from __future__ import annotations

import time
from collections.abc import Callable
from weakref import WeakValueDictionary

from septet.errors import StoreBusy, StoreError
from septet.sqlite.store.store import Reading, Store, Writing
from septet.sqlite.tables import claims

__all__ = ["Lease", "is_running"]

#: A process that has not written for so long is not waited for.
LEASE_S = 10.0
#: How often a process that waits looks again.
LOOK_S = 0.05
#: How often it waits in vain for who writes, ten seconds each unless the vault says otherwise.
MOST_BUSY = 12
#: What is claimed, in the table of claims, whose other rows name models with a slash.
_WHAT, _KEYS = "files", ("sync",)
#: The leases of this process, by owner. What an interrupt left claimed belongs to none of them.
_OWN: WeakValueDictionary[str, Lease] = WeakValueDictionary()


class Lease:
    """The right to sync a vault, renewed by each write, lost when its process ends or does nothing for a while."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._owner = "" if store.in_memory else claims.new_owner()
        #: When it was last taken or renewed, by `time.monotonic`.
        self._kept = 0.0

    def take(self, late: Callable[[], bool]) -> bool:
        """Wait for the lease; False when it is too late first."""
        if self._owner:
            _OWN[self._owner] = self
        busy = 0
        while self._owner:
            try:
                with self._store.bookkeeping() as write:
                    claims.drop_dead(write)
                    claims.drop_own(write, _WHAT, set(_OWN))
                    if self._claimed(write):
                        return True
                    if not is_running(write):
                        raise StoreError("the claim on the files of the vault was not kept: see `septet doctor`")
            except StoreBusy:
                # The one transaction that puts chunks made in another way in their place may take so long.
                busy += 1
                if busy > MOST_BUSY:
                    raise
            if late():
                _OWN.pop(self._owner, None)
                return False
            time.sleep(LOOK_S)
        return True

    def renew(self, write: Writing) -> None:
        """Keep the lease, in a transaction that writes."""
        if self._owner:
            self._claimed(write)

    def keep(self) -> None:
        """Renew the lease if nothing was written for a while, where much is read."""
        if self._owner and time.monotonic() - self._kept >= LEASE_S / 4:
            with self._store.bookkeeping() as write:
                self._claimed(write)

    def release(self) -> None:
        """Let others sync."""
        if _OWN.pop(self._owner, None) is not None:
            with self._store.bookkeeping() as write:
                claims.release(write, self._owner)

    def _claimed(self, write: Writing) -> bool:
        now, self._kept = time.time(), time.monotonic()
        return bool(claims.claim(write, _WHAT, self._owner, _KEYS, now, now + LEASE_S))


def is_running(read: Reading | Writing) -> bool:
    """Say whether a process syncs the vault, or did until it was killed some seconds ago."""
    return bool(claims.claimed(read, _WHAT, "", _KEYS, time.time()))
