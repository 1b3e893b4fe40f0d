"""Sync on search: before a search a vault looks at the disk, and brings in what changed, as far as time allows."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from septet._core import Lock
from septet.errors import SeptetError, StoreError
from septet.files.drift import CatchUp
from septet.inputs.arguments import real, shown
from septet.notes import Note
from septet.sqlite.store.store import Store

if TYPE_CHECKING:
    from septet.files.report import SyncReport

__all__ = ["BUDGET_S", "Look", "OnSearch", "budget_of"]

#: How long a search waits at most, in seconds, unless told otherwise.
BUDGET_S = 0.25
#: The most it may be told.
MOST_BUDGET_S = 3_600.0


def budget_of(value: object) -> float | None:
    """Return how many seconds a search may wait; None for no sync on search.

    Raises:
        StoreError: neither True, False nor a number from 0 to 3,600.
    """
    if value is True or value is False:
        return BUDGET_S if value else None
    if not isinstance(value, (int, float)):
        raise StoreError(f"sync_on_search is {shown(value)}: wanted True, False or seconds to wait at most")
    return real(value, "sync_on_search", StoreError, 0, MOST_BUDGET_S)


class Look:
    """One look at the disk, with the sync of what it finds; searches that came before it began wait for the same."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.fault: str | None = None


class OnSearch:
    """Looks at the disk on a thread that lives while there is something to do, so that no search waits too long.

    Args:
        sync: `Vault.sync`.
        clock: epoch seconds.
    """

    def __init__(self, store: Store, sync: Callable[..., SyncReport], clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._catch_up = CatchUp(store, sync)
        self._lock = Lock()
        #: The look that will begin next; what the thread does now began before.
        self._next: Look | None = None
        self._process, self._works = os.getpid(), False
        #: The thread that looks, while it does.
        self._thread: int | None = None
        #: Why the last look failed, or what it brought in is not complete; None if all is well.
        self.last_error: str | None = None

    def notes(self, budget_s: float) -> tuple[Note, ...]:
        """Have the disk looked at, wait for the end of it or of the budget, and say what is missing."""
        return self.notes_of(self.ask(), budget_s)

    def notes_of(self, look: Look, budget_s: float) -> tuple[Note, ...]:
        """Wait for the end of a look, or of the budget, and say what is missing."""
        if threading.get_ident() == self._thread:
            # A hook that searches, told of what was brought in: it would wait for itself.
            return ()
        if not look.done.wait(budget_s):
            return (self._behind(),)
        if look.fault is not None:
            cause = f"files on the disk could not be brought in: {look.fault}"
            return (Note("index_behind", cause, "sync_status() tells how far the vault is behind"),)
        if unknown := self._catch_up.unknown:
            cause = f"{', and '.join(unknown[:3])}: what was read before answers"
            return (Note("index_behind", cause, "mount or restore it, or forget_root() it"),)
        return ()

    def ask(self) -> Look:
        """Have the disk looked at, and do not wait."""
        with self._lock.hold():
            if self._process != os.getpid():
                # The thread stayed behind.
                self._process, self._works, self._next, self._thread = os.getpid(), False, None, None
            if self._next is None:
                self._next = Look()
            look = self._next
            if not self._works:
                thread = threading.Thread(target=self._work, name="septet-on-search", daemon=True)
                try:
                    thread.start()
                    self._works = True
                except RuntimeError as fault:
                    # No more threads, or the program ends.
                    self._next, look.fault = None, str(fault)
                    look.done.set()
        return look

    def _work(self) -> None:
        self._thread = threading.get_ident()
        while True:
            with self._lock.hold():
                look, self._next = self._next, None
                if look is None:
                    self._works, self._thread = False, None
                    return
            try:
                reports = self._catch_up.run()
                look.fault = next((said for report in reports if not report.complete for said in report.problems), None)
            except SeptetError as fault:
                look.fault = str(fault)
            except Exception as fault:  # noqa: BLE001 - what hooks and embedders raise is for the search to say
                look.fault = f"{type(fault).__name__}: {fault}"
            finally:
                self.last_error = look.fault
                look.done.set()

    def _behind(self) -> Note:
        behind, ages = self._catch_up.behind, []
        from septet.sqlite.tables import files

        with self._store.reading() as read:
            ages = [row.synced_at for row in files.roots(read)]
        if behind > 0:
            what = f"{behind:,} file{'s differ' if behind > 1 else ' differs'} from what is indexed"
        else:
            what = "the disk was not compared in time"
        never = None in ages
        age = max(0.0, self._clock() - min(at for at in ages if at is not None)) if ages and not never else None
        when = "the first sync is not complete" if age is None else f"the last whole sync was {_age(age)} ago"
        cause = f"{what}; {when}"
        return Note("index_behind", cause, "it goes on in the background; sync() waits for it")


def _age(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.1f} s"
