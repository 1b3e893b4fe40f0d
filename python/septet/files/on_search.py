"""Sync on search: check the disk before a search and sync changes within a time budget."""

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
from septet.sqlite.store.store import SqliteStore

if TYPE_CHECKING:
    from septet.files.report import SyncReport

#: Default maximum wait of a search, in seconds.
BUDGET_S = 0.25
#: Maximum budget, in seconds.
MOST_BUDGET_S = 3_600.0


def budget_of(value: object) -> float | None:
    """Return the maximum wait of a search in seconds; None for no sync on search.

    Raises:
        StoreError: neither True, False nor a number from 0 to 3,600.
    """
    if value is True or value is False:
        return BUDGET_S if value else None
    if not isinstance(value, (int, float)):
        raise StoreError(f"sync_on_search is {shown(value)}: wanted True, False or seconds to wait at most")
    return real(value, "sync_on_search", StoreError, 0, MOST_BUDGET_S)


class Look:
    """A check of the disk with its sync, shared by the searches that arrived before it began."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.fault: str | None = None


class OnSearch:
    """Checks the disk on a thread that ends when idle, so that searches can stop waiting.

    Args:
        sync: `Vault.sync`.
        clock: epoch seconds.
    """

    def __init__(self, store: SqliteStore, sync: Callable[..., SyncReport], clock: Callable[[], float]) -> None:
        self._store, self._clock = store, clock
        self._catch_up = CatchUp(store, sync)
        self._lock = Lock()
        #: The next check; the current one has already begun.
        self._next: Look | None = None
        self._process, self._works = os.getpid(), False
        #: Id of the running thread, or None.
        self._thread: int | None = None
        #: Reason why the last check failed or was incomplete, or None.
        self.last_error: str | None = None

    def notes(self, budget_s: float) -> tuple[Note, ...]:
        """Request a check, wait for it or for the budget, and return notes about missing changes."""
        return self.notes_of(self.ask(), budget_s)

    def notes_of(self, look: Look, budget_s: float) -> tuple[Note, ...]:
        """Wait for a check or for the budget, and return notes about missing changes."""
        if threading.get_ident() == self._thread:
            # A hook of the running sync searches: it would wait for itself.
            return ()
        if not look.done.wait(budget_s):
            return (self._pending(),)
        if look.fault is not None:
            cause = f"files on the disk could not be synced: {look.fault}"
            return (Note("index_behind", cause, "sync_status() shows the differences"),)
        if unknown := self._catch_up.unknown:
            cause = f"{', and '.join(unknown[:3])}: searches use the last synced state"
            return (Note("index_behind", cause, "mount or restore it, or forget_root() it"),)
        return ()

    def ask(self) -> Look:
        """Request a check without waiting."""
        with self._lock.hold():
            if self._process != os.getpid():
                # Forked: the thread stayed in the parent.
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
                    # Thread limit reached, or the interpreter is shutting down.
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
                problems = (problem for report in reports if not report.complete for problem in report.problems)
                look.fault = next(problems, None)
            except SeptetError as fault:
                look.fault = str(fault)
            except Exception as fault:  # noqa: BLE001 - hooks and embedders may raise anything; the search reports it
                look.fault = f"{type(fault).__name__}: {fault}"
            finally:
                self.last_error = look.fault
                look.done.set()

    def _pending(self) -> Note:
        behind = self._catch_up.behind
        from septet.sqlite.tables import files

        with self._store.reading() as read:
            ages = [row.synced_at for row in files.roots(read)]
        if behind > 0:
            what = f"{behind:,} file{'s differ' if behind > 1 else ' differs'} from the index"
        else:
            what = "the check of the disk exceeded its budget"
        never = None in ages
        age = max(0.0, self._clock() - min(time for time in ages if time is not None)) if ages and not never else None
        when = "the first sync is not complete" if age is None else f"the last complete sync was {_age(age)} ago"
        cause = f"{what}; {when}"
        return Note("index_behind", cause, "it continues in the background; sync() waits for it")


def _age(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.1f} s"
