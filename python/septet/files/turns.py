"""Serialise syncs of a vault within a process; waiting callers share the result of the next sync."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from septet._core import Lock
from septet.errors import StoreBusy

if TYPE_CHECKING:
    from septet.files.report import SyncReport
    from septet.files.tracking import Followed
    from septet.sqlite.store.store import SqliteStore

Run: TypeAlias = "Callable[[Callable[[], bool]], SyncReport]"


class SyncRequest(NamedTuple):
    """The arguments of a sync.

    Attributes:
        followed: the roots.
        paths: files to sync by root number, relative to the root; None for all files of every root.
        force: read every file again and rebuild its chunks.
        deadline: time to stop, by `time.monotonic`.
        progress: called with the number of files done and the total, per root.
        ending: returns True if the vault is about to be closed.
    """

    followed: Sequence[Followed]
    paths: Mapping[int, Sequence[str]] | None
    force: bool
    deadline: float | None
    progress: Callable[[int, int | None], object] | None
    ending: Callable[[], bool] = lambda: False

    def late(self) -> bool:
        """Return True if the sync must stop."""
        return self.ending() or (self.deadline is not None and time.monotonic() >= self.deadline)


class _LastSync(NamedTuple):
    """The last sync: its arguments, its start and its report."""

    request: tuple[Any, ...]
    began: float
    report: SyncReport


class _Turns:
    """The turns of one store."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.last: _LastSync | None = None
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


def in_turn(store: SqliteStore, request: SyncRequest, run: Run) -> SyncReport:
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
        last = turns.last
        if last is not None and last.request == key and last.began >= arrived and last.report.complete:
            return last.report
        began = time.monotonic()
        report = run(lambda: turns.ending)
        turns.last = _LastSync(key, began, report)
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
