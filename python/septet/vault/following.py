"""Automatic sync of folders: before searches, on opening, and by a watcher."""

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
    from septet.files.turns import SyncRequest
    from septet.files.watching import FolderWatcher, Watcher


class Following(Synced, Searchable):
    """A store that syncs its folders automatically."""

    #: Syncs folders before searches; None by default.
    _on_search: tuple[OnSearch, float] | None = None
    _watchers: tuple[FolderWatcher, ...] = ()

    def sync_status(self) -> SyncStatus:
        """Compare the followed folders with the disk, by size and time of their files.

        Returns:
            For each folder the number of files, chunks and bytes in the vault, the new, changed and deleted files, and
            the time of the last sync; the running sync and watcher, if any; the last error.

        Raises:
            StoreError: the vault cannot be read.
        """
        from septet.files.status import status_of

        running = [watcher for watcher in self._watchers if not watcher.closed]
        faults = [watcher.last_error for watcher in running]
        if self._on_search is not None:
            faults.append(self._on_search[0].last_error)
        last_error = next((fault for fault in faults if fault is not None), None)
        return status_of(self._store, self._clock(), watching=bool(running), last_error=last_error)

    def watch_files(
        self,
        *,
        debounce_s: float = 1.5,
        session_debounce_s: float = 5.0,
        interval_s: float | None = 60.0,
        on_sync: Callable[[SyncReport], object] | None = None,
    ) -> Watcher:
        """Sync the followed folders on changes until the watcher, or the vault, is closed.

        The watcher runs two threads. File system events only trigger a comparison; all folders are compared at the
        start, every ``interval_s``, and when a missing folder reappears, so a lost event only causes a delay.
        Transcripts are read after 100,000 new bytes or 50 new lines. An error is kept as the watcher's ``last_error``,
        and the sync is retried. Requires the package watchfiles (extra ``watch``).

        Args:
            debounce_s: seconds without changes before a file is read, 0 to 86,400; at most ten times as long.
            session_debounce_s: seconds from a change of a transcript to its reading.
            interval_s: interval of full comparisons, 0.01 to 86,400 seconds; None for only the one at the start.
            on_sync: called with the report of each sync, on a thread of the watcher.

        Raises:
            EntryError: an argument is out of range, or the package is not installed (with the command to install it).
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
        self._watchers = (*(known_watcher for known_watcher in self._watchers if not known_watcher.closed), watcher)
        return watcher

    # -- inside ------------------------------------------------------------------------------------------------------

    def _synced(self, request: SyncRequest, root: str | os.PathLike[str] | None) -> SyncReport:
        report = super()._synced(request, root)
        for watcher in self._watchers:
            watcher.know([followed.root.path for followed in request.followed])
        return report

    @staticmethod
    def _search_budget(sync_on_search: bool | float) -> float | None:
        """Return the seconds that a search may wait for a sync; None for no sync.

        Raises:
            StoreError: an invalid budget.
        """
        if sync_on_search is False:
            return None
        from septet.files.on_search import budget_of

        return budget_of(sync_on_search)

    def _follow_by_itself(self, budget: float | None, on_open: bool) -> None:
        """Sync before searches, and now.

        Raises:
            ReadOnly: the vault was opened for reading.
        """
        from septet.files.on_search import OnSearch

        if self._store.read_only:
            raise ReadOnly(f"{self._store.path} is opened with read_only=True: without sync_on_search and sync_on_open")
        looks = OnSearch(self._store, self.sync, self._clock)
        if budget is not None:
            self._on_search = looks, budget
            # Patched per instance, so that searches of other vaults make no additional call.
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
    """Return the seconds that a search may wait for a sync: at most half of its remaining time."""
    return budget_s if plan.deadline is None else min(budget_s, plan.deadline.left_s / 2)
