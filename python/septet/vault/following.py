"""A vault that follows its folders by itself: on search, when it is opened, and while a watcher runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from septet.errors import ReadOnly
from septet.query.plan import Plan
from septet.search.searchable import Searchable
from septet.sqlite.store.store import CLOSE_WAIT_S
from septet.vault.synced import Synced

if TYPE_CHECKING:
    from septet.files.on_search import OnSearch
    from septet.files.report import SyncReport
    from septet.files.status import SyncStatus
    from septet.files.turns import Asked
    from septet.files.watching import FolderWatcher, Watcher

__all__ = ["Following"]


class Following(Synced, Searchable):
    """A store that keeps itself in step with the folders it follows."""

    #: Looks at the disk before searches; None unless it was asked for.
    _on_search: tuple[OnSearch, float] | None = None
    _watchers: tuple[FolderWatcher, ...] = ()

    def sync_status(self) -> SyncStatus:
        """Compare the folders that the vault follows with the disk, by size and time of their files.

        Returns:
            Of each folder how many files, chunks and bytes are in the vault, which files are new, changed or gone, and
            when the last sync was; whether a sync or a watcher runs; the last error.

        Raises:
            StoreError: the vault cannot be read.
        """
        from septet.files.status import status_of

        running = [watcher for watcher in self._watchers if not watcher.closed]
        faults = [watcher.last_error for watcher in running]
        if self._on_search is not None:
            faults.append(self._on_search[0].last_error)
        fault = next((one for one in faults if one is not None), None)
        return status_of(self._store, self._clock(), watching=bool(running), last_error=fault)

    def watch_files(
        self,
        *,
        debounce_s: float = 1.5,
        session_debounce_s: float = 5.0,
        interval_s: float | None = 60.0,
        on_sync: Callable[[SyncReport], object] | None = None,
    ) -> Watcher:
        """Keep the vault in step with its folders until the watcher, or the vault, is closed.

        Two threads do it. What the system tells of changes is a hint of when to look; everything is compared at the
        beginning, every ``interval_s``, and when a folder went away and came back, so an event that is lost only costs
        time. Transcripts are read when 100,000 bytes or 50 lines of one are new. What goes wrong is the watcher's
        ``last_error``, and tried again. It needs the package watchfiles (extra ``watch``).

        Args:
            debounce_s: a file is looked at when nothing happened to it for so many seconds, 0 to 86,400; at the latest
                after ten times as many.
            session_debounce_s: a transcript is looked at so many seconds after something happened to it.
            interval_s: how often everything is compared, 0.01 to 86,400 seconds; None for the beginning alone.
            on_sync: called with the report of each sync, on a thread of the watcher.

        Raises:
            EntryError: an argument is out of range, or the package is not installed; the message says how to get it.
            ReadOnly: the vault was opened for reading.
            Closed: the vault was closed.
        """
        from septet.files.watching import FolderWatcher

        if self._store.read_only:
            raise ReadOnly(f"{self._store.path} was opened with read_only=True: open it for writing to watch its files")
        with self._store.reading():
            pass
        watcher = FolderWatcher(
            self._store,
            self.sync,
            debounce_s=debounce_s,
            session_debounce_s=session_debounce_s,
            interval_s=interval_s,
            on_sync=on_sync,
        )
        self._watchers = (*(one for one in self._watchers if not one.closed), watcher)
        return watcher

    # -- inside ------------------------------------------------------------------------------------------------------

    def _synced(self, asked: Asked, root: str | os.PathLike[str] | None) -> SyncReport:
        report = super()._synced(asked, root)
        for watcher in self._watchers:
            watcher.know([one.root.path for one in asked.followed])
        return report

    @staticmethod
    def _search_budget(sync_on_search: bool | float) -> float | None:
        """Return how many seconds a search may wait for a look at the disk; None for no look.

        Raises:
            StoreError: it is no budget.
        """
        if sync_on_search is False:
            return None
        from septet.files.on_search import budget_of

        return budget_of(sync_on_search)

    def _follow_by_itself(self, budget: float | None, on_open: bool) -> None:
        """Have searches look at the disk first, and look at it now.

        Raises:
            ReadOnly: the vault was opened for reading.
        """
        from septet.files.on_search import OnSearch

        if self._store.read_only:
            raise ReadOnly(f"{self._store.path} is opened with read_only=True: without sync_on_search and sync_on_open")
        looks = OnSearch(self._store, self.sync, self._clock)
        if budget is not None:
            self._on_search = looks, budget
            # The method itself stays as it is for all other vaults: a search without this makes no call more.
            self.__dict__["_plan"] = self._plan_in_step
        if on_open:
            looks.ask()

    def _plan_in_step(self, query: str, options: Mapping[str, Any], method: str = "search") -> Plan:
        plan = Searchable._plan(self, query, options, method)
        assert self._on_search is not None
        looks, budget = self._on_search
        notes = looks.notes(within(plan, budget))
        return plan._replace(notes=(*plan.notes, *notes)) if notes else plan

    def _stop_following(self) -> None:
        for watcher in self._watchers:
            watcher.end()
        if self._has_synced:
            from septet.files.turns import end_turns

            end_turns(self._store, CLOSE_WAIT_S)
        for watcher in self._watchers:
            watcher.close()


def within(plan: Plan, budget_s: float) -> float:
    """Return how long a search may wait for the disk: half of what time it has left, if it has a limit."""
    return budget_s if plan.deadline is None else min(budget_s, plan.deadline.left_s / 2)
