"""One sync of a vault at a time in a process; who waited shares what began while he did."""

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
    from septet.sqlite.store.store import Store

__all__ = ["Asked", "alone", "end_turns", "in_turn"]

Run: TypeAlias = "Callable[[Callable[[], bool]], SyncReport]"


class Asked(NamedTuple):
    """What a caller wants synced.

    Attributes:
        followed: the roots.
        paths: by root number, only these files, below the root; None for all of every root.
        force: read every file again, and make its chunks anew.
        deadline: when to stop, by `time.monotonic`.
        progress: called with the files done so far and their number, of one root.
        ending: says that the vault is about to be closed.
    """

    followed: Sequence[Followed]
    paths: Mapping[int, Sequence[str]] | None
    force: bool
    deadline: float | None
    progress: Callable[[int, int | None], object] | None
    ending: Callable[[], bool] = lambda: False

    def late(self) -> bool:
        """Say whether it is time to stop."""
        return self.ending() or (self.deadline is not None and time.monotonic() >= self.deadline)


class _Done(NamedTuple):
    """The last sync: what was asked, when it began, and its report."""

    asked: tuple[Any, ...]
    began: float
    report: SyncReport


class _Turns:
    """The turns of one store."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.last: _Done | None = None
        #: The store is about to be closed.
        self.ending = False


_TURNS: WeakKeyDictionary[Store, _Turns] = WeakKeyDictionary()


def alone(store: Store) -> AbstractContextManager[object]:
    """Wait until no sync of a vault runs in this process, and keep others from beginning until the end of a block.

    Raises:
        StoreBusy: this thread is inside one.
    """
    held = _hold(store, _TURNS.setdefault(store, _Turns()), None)
    assert held is not None
    return held


def in_turn(store: Store, asked: Asked, run: Run) -> SyncReport:
    """Return the report of a sync that began after this call, once no other runs; callers who ask the same share it.

    A sync that ran before may have passed a file that changed since, so its report is not taken.

    Args:
        run: syncs; it gets what says that it should come to an end.

    Raises:
        StoreBusy: this thread is inside one, as a function is that a sync calls.
    """
    arrived = time.monotonic()
    turns = _TURNS.setdefault(store, _Turns())
    left = None if asked.deadline is None else max(0.0, asked.deadline - arrived)
    hold = _hold(store, turns, left)
    if hold is None:
        from septet.files.report import SyncReport

        names = tuple(one.name for one in asked.followed)
        said = "another sync of this vault is running: sync again when it is done"
        return SyncReport(roots=names, problems=(said,), took_s=time.monotonic() - arrived, complete=False)
    with hold:
        key = (tuple(asked.followed), asked.paths, asked.force)
        last = turns.last
        if last is not None and last.asked == key and last.began >= arrived and last.report.complete:
            return last.report
        began = time.monotonic()
        report = run(lambda: turns.ending)
        turns.last = _Done(key, began, report)
        return report


def end_turns(store: Store, wait_s: float) -> None:
    """Have the sync of a store that runs end before its next file, and wait for that; later ones do nothing.

    One that is interrupted instead would leave its lease to the next, who waits until it is over.
    """
    if (turns := _TURNS.get(store)) is not None:
        turns.ending = True
        # Its own progress function closes the vault: nobody may wait for that.
        with suppress(StoreBusy):
            _hold(store, turns, wait_s)


def _hold(store: Store, turns: _Turns, wait_s: float | None) -> AbstractContextManager[object] | None:
    """Wait for a turn; None when the time is over.

    Raises:
        StoreBusy: this thread has it.
    """
    try:
        held: AbstractContextManager[object] | None = turns.lock.hold(wait_s)
    except RuntimeError:
        said = f"{store.path} is being synced or redacted by this thread, which called this: call it afterwards"
        raise StoreBusy(said) from None
    return held
