"""One sync of a vault at a time in a process; who waited shares what began while he did."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from septet._core import Lock

if TYPE_CHECKING:
    from septet.files.report import SyncReport
    from septet.files.syncing import Asked
    from septet.storage.store import Store

__all__ = ["in_turn"]


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


_TURNS: WeakKeyDictionary[Store, _Turns] = WeakKeyDictionary()


def in_turn(store: Store, asked: Asked, run: Callable[[], SyncReport]) -> SyncReport:
    """Return the report of a sync that began after this call, once no other runs; callers who ask the same share it.

    A sync that ran before may have passed a file that changed since, so its report is not taken.
    """
    arrived = time.monotonic()
    turns = _TURNS.setdefault(store, _Turns())
    left = None if asked.deadline is None else max(0.0, asked.deadline - arrived)
    hold: AbstractContextManager[object] | None = turns.lock.hold(left)
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
        report = run()
        turns.last = _Done(key, began, report)
        return report
