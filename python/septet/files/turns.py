"""Serialise syncs of a vault: by turns within a process, by a lease between processes.

Callers that wait for a turn share the result of the next sync. The lease only avoids duplicate work: each write checks
what it replaces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from septet._core import Lock
from septet.errors import StoreBusy, StoreError
from septet.sqlite.store.store import SqliteReading, SqliteStore, SqliteWriting
from septet.sqlite.tables import claims
from septet.store.owners import new_owner
from septet.system.living import Living

if TYPE_CHECKING:
    from septet.files.report import SyncReport
    from septet.files.tracking import Followed

#: Seconds without a write after which a lease expires.
LEASE_S = 10.0
#: Poll interval of a waiting process, in seconds.
LOOK_S = 0.05
#: Maximum busy timeouts of a waiting process (ten seconds each by default).
MOST_BUSY = 12
#: Claimed resource; the other rows of the claims table name models with a slash.
_WHAT, _KEYS = "files", ("sync",)
#: Leases of this process. A claim of none of them is left from an interrupted sync.
_OWN: Living[Lease] = Living()


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
            _OWN.enlist(self)
        busy = 0
        while self._owner:
            try:
                with self._store.bookkeeping() as write:
                    claims.drop_dead(write)
                    claims.drop_own(write, _WHAT, {lease._owner for lease in _OWN})
                    if self._claim(write):
                        return True
                    if not is_running(write):
                        raise StoreError("the sync lock could not be stored: run `septet doctor` to check the vault")
            except StoreBusy:
                # The transaction that replaces all chunks of a root may exceed the busy timeout.
                busy += 1
                if busy > MOST_BUSY:
                    raise
            if late():
                _OWN.discard(self)
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
        if _OWN.discard(self):
            with self._store.bookkeeping() as write:
                claims.release(write, self._owner)

    def _claim(self, write: SqliteWriting) -> bool:
        now, self._renewed_at = time.time(), time.monotonic()
        return bool(claims.claim(write, _WHAT, self._owner, _KEYS, now, now + LEASE_S))


def is_running(read: SqliteReading | SqliteWriting) -> bool:
    """Return True if a process syncs the vault, or was killed while syncing seconds ago."""
    return bool(claims.claimed(read, _WHAT, "", _KEYS, time.time()))


class SyncRequest(NamedTuple):
    """The arguments of a sync.

    Attributes:
        followed: the roots.
        paths: files to sync by root number, relative to the root; None for all files of every root.
        force: read every file again and rebuild its chunks.
        deadline: time to stop, by `time.monotonic`.
        progress: called with the number of files done and the total, per root.
        ending: returns True if the vault is about to be closed.
        place: path of the only root to sync; None for all of them.
    """

    followed: Sequence[Followed]
    paths: Mapping[int, Sequence[str]] | None
    force: bool
    deadline: float | None
    progress: Callable[[int, int | None], object] | None
    ending: Callable[[], bool] = lambda: False
    place: str | None = None

    def late(self) -> bool:
        """Return True if the sync must stop."""
        return self.ending() or (self.deadline is not None and time.monotonic() >= self.deadline)


class _Turns:
    """The turns of one store."""

    def __init__(self) -> None:
        self.lock = Lock()
        #: The last sync: its arguments, its start and its report.
        self.last: tuple[tuple[Any, ...], float, SyncReport] | None = None
        #: True when the store is about to be closed.
        self.ending = False


_TURNS: WeakKeyDictionary[SqliteStore, _Turns] = WeakKeyDictionary()


def alone(store: SqliteStore) -> AbstractContextManager[object]:
    """Wait for running syncs of a vault in this process, and block new ones until the end of a ``with`` block.

    Raises:
        StoreBusy: this thread runs a sync.
    """
    turn = _hold(store, _TURNS.setdefault(store, _Turns()), None)
    assert turn is not None
    return turn


def in_turn(store: SqliteStore, request: SyncRequest, run: Callable[[Callable[[], bool]], SyncReport]) -> SyncReport:
    """Run a sync after the running ones, and return its report; callers with equal arguments share one.

    Only a sync that began after this call is shared: an earlier one may have missed a file changed since.

    Args:
        run: the sync; its argument returns True if it must stop.

    Raises:
        StoreBusy: this thread runs a sync, as in a function called by it.
    """
    arrived = time.monotonic()
    turns = _TURNS.setdefault(store, _Turns())
    remaining = None if request.deadline is None else max(0.0, request.deadline - arrived)
    hold = _hold(store, turns, remaining)
    if hold is None:
        from septet.files.report import SyncReport

        names = tuple(followed.name for followed in request.followed)
        busy = "another sync of this vault is running: sync again when it is done"
        return SyncReport(roots=names, problems=(busy,), took_s=time.monotonic() - arrived, complete=False)
    with hold:
        key = (tuple(request.followed), request.paths, request.force)
        if turns.last is not None:
            known, began, report = turns.last
            if known == key and began >= arrived and report.complete:
                return report
        began = time.monotonic()
        report = run(lambda: turns.ending)
        turns.last = key, began, report
        return report


def end_turns(store: SqliteStore, wait_s: float) -> None:
    """Stop the running sync of a store before its next file, and wait for it; later ones do nothing.

    An interrupted sync would not release its lease, and the next one would wait for it to expire.
    """
    if (turns := _TURNS.get(store)) is not None:
        turns.ending = True
        # If the sync's own progress function closes the vault, waiting would deadlock.
        with suppress(StoreBusy):
            _hold(store, turns, wait_s)


def _hold(store: SqliteStore, turns: _Turns, wait_s: float | None) -> AbstractContextManager[object] | None:
    """Wait for a turn; return None after the timeout.

    Raises:
        StoreBusy: this thread holds the turn.
    """
    try:
        turn: AbstractContextManager[object] | None = turns.lock.hold(wait_s)
    except RuntimeError:
        raise StoreBusy(f"{store.path} is being synced or redacted by this thread: call this afterwards") from None
    return turn
