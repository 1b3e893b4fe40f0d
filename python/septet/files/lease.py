"""Lease that lets one process sync at a time. It only avoids duplicate work: each write checks what it replaces."""

from __future__ import annotations

import time
from collections.abc import Callable
from weakref import WeakValueDictionary

from septet.errors import StoreBusy, StoreError
from septet.sqlite.store.store import SqliteReading, SqliteStore, SqliteWriting
from septet.sqlite.tables import claims
from septet.store.owners import new_owner

#: Seconds without a write after which a lease expires.
LEASE_S = 10.0
#: Poll interval of a waiting process, in seconds.
LOOK_S = 0.05
#: Maximum busy timeouts of a waiting process (ten seconds each by default).
MOST_BUSY = 12
#: Claimed resource; the other rows of the claims table name models with a slash.
_WHAT, _KEYS = "files", ("sync",)
#: Leases of this process, by owner. A claim of none of them is left from an interrupted sync.
_OWN: WeakValueDictionary[str, Lease] = WeakValueDictionary()


class Lease:
    """The right to sync a vault, renewed by each write; it expires when its process ends or stalls."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._owner = "" if store.in_memory else new_owner()
        #: Time of the last renewal, by `time.monotonic`.
        self._renewed_at = 0.0

    def take(self, late: Callable[[], bool]) -> bool:
        """Wait for the lease; return False if ``late`` becomes true first."""
        if self._owner:
            _OWN[self._owner] = self
        busy = 0
        while self._owner:
            try:
                with self._store.bookkeeping() as write:
                    claims.drop_dead(write)
                    claims.drop_own(write, _WHAT, set(_OWN))
                    if self._claim(write):
                        return True
                    if not is_running(write):
                        raise StoreError("the claim for syncing was not stored: see `septet doctor`")
            except StoreBusy:
                # The transaction that replaces all chunks of a root may exceed the busy timeout.
                busy += 1
                if busy > MOST_BUSY:
                    raise
            if late():
                _OWN.pop(self._owner, None)
                return False
            time.sleep(LOOK_S)
        return True

    def renew(self, write: SqliteWriting) -> None:
        """Renew the lease in a write transaction."""
        if self._owner:
            self._claim(write)

    def keep(self) -> None:
        """Renew the lease during long reads, if a quarter of it has passed."""
        if self._owner and time.monotonic() - self._renewed_at >= LEASE_S / 4:
            with self._store.bookkeeping() as write:
                self._claim(write)

    def release(self) -> None:
        """Release the lease."""
        if _OWN.pop(self._owner, None) is not None:
            with self._store.bookkeeping() as write:
                claims.release(write, self._owner)

    def _claim(self, write: SqliteWriting) -> bool:
        now, self._renewed_at = time.time(), time.monotonic()
        return bool(claims.claim(write, _WHAT, self._owner, _KEYS, now, now + LEASE_S))


def is_running(read: SqliteReading | SqliteWriting) -> bool:
    """Return True if a process syncs the vault, or was killed while syncing seconds ago."""
    return bool(claims.claimed(read, _WHAT, "", _KEYS, time.time()))
