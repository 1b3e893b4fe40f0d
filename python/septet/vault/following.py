"""Automatic sync of folders: before searches, on opening, and by a watcher."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from septet._core import Lock
from septet.errors import EntryError, ReadOnly
from septet.inputs.arguments import as_text, flag, real, utf8
from septet.query.plan import SearchPlan
from septet.search.searchable import Searchable
from septet.sqlite.store.store import CLOSE_WAIT_S, SqliteStore
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from septet.embedding.report import Tally
    from septet.files.chunking import Chunking
    from septet.files.drift import OnSearch
    from septet.files.report import SyncReport
    from septet.files.roots import Layout
    from septet.files.status import SyncStatus
    from septet.files.tracking import Followed, Redact
    from septet.files.turns import SyncRequest
    from septet.files.watching import FolderWatcher, Watcher
    from septet.model.fields import Strings, Trust

#: The longest ``timeout_s``, in seconds: a year.
MOST_WAIT_S = 366 * 86_400.0


class Following(Searchable):
    """A store whose chunks follow the files of some folders."""

    _store: SqliteStore
    _own: Lock
    _clock: Callable[[], float]
    _written: Callable[[], None]
    _loading: Callable[[], AbstractContextManager[None]]
    _embed_ahead: Callable[[Callable[[], bool], set[str]], Tally | None]
    #: True once this object has synced, so that `close` may have to wait for a sync.
    _has_synced = False
    #: Syncs folders before searches; None by default.
    _on_search: tuple[OnSearch, float] | None = None
    _watchers: tuple[FolderWatcher, ...] = ()

    @with_progress("files", EntryError)
    def sync(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        paths: Iterable[str | os.PathLike[str]] | None = None,
        name: str | None = None,
        layout: Layout | None = None,
        include: Strings | None = None,
        exclude: Strings | None = None,
        extra: Iterable[str | os.PathLike[str]] | None = None,
        follow_symlinks: bool | None = None,
        chunking: Chunking | None = None,
        redact: Redact | None = None,
        trust: Trust | None = None,
        force: bool = False,
        dry_run: bool = False,
        timeout_s: float | None = None,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Sync the vault with a folder of Markdown, text and transcripts, or with all followed folders.

        The extra ``files`` adds PDF and HTML; ``span`` of a PDF counts pages.

        The folder and its options are stored in the vault. Each chunk of a file is an entry of kind ``chunk``, with
        the file's id as ``parent``, the folder's name as ``source`` and its lines as ``span``. Files are compared by
        size and time, and read if these differ (``force=True`` detects a change that keeps both); only changed files
        are chunked. A chunk with an unchanged text keeps its id, links, feedback and vector, even if its file is
        renamed. Chunks of deleted files are erased; chunks of unreadable files stay, and so do those of a folder that
        is missing, or that is empty and on a different file system than before. Each transaction contains whole
        files, so no search sees half of one. Only one sync of a vault runs at a time, across processes; a caller that
        waited for another sync only adds a comparison with the disk.

        A chunk changed by `update`, or deleted, is restored from its file when the file changes; ``force=True`` does so
        at once.

        After a change of ``chunking``, ``redact`` or ``trust``, or an upgrade of Septet with other cuts, all files are
        chunked again beside the live chunks, and the new texts embedded; then one transaction swaps them. Files
        that change in between are updated at once, with the new options. An interrupted sync is continued by the next
        one.

        Args:
            root: a folder, or one file; None for all followed folders.
            paths: only these files of followed folders, absolute or relative to the working directory.
            name: ``source`` of the chunks; default: the folder's name. It cannot be changed.
            layout: ``folder`` for all texts below it; ``memory`` for MEMORY.md, memory.md, USER.md and ``memory/``.
            include: globs; other files are skipped.
            exclude: globs to skip, in addition to .gitignore and .septetignore.
            extra: more files, folders and globs, relative to the root.
            follow_symlinks: read the targets of symbolic links; otherwise links are reported.
            chunking: chunk sizes; `Chunking` has the defaults.
            redact: mask secrets in every file (``"all"``, the default of a new root), in transcripts (True), or in none
                (False).
            trust: of the chunks, as for `add`; default for transcripts: ``unverified``.
            force: read and chunk every file.
            dry_run: write nothing, embed nothing, and store no folder; the report describes what a sync would do.
            timeout_s: stop between two files after this many seconds; the report has the number of remaining files.
            progress: called with the number of files read so far and their total; True shows a bar, as of `embed`.

        Omitted options do not change.

        Raises:
            EntryError: an option does not fit, the folder does not exist, the root is neither a folder nor a regular
                file, or a path is not below a followed folder.
            ReadOnly: the vault was opened for reading, and this is not a dry run.
            StoreError: the vault cannot be written, or its disk has too little room to chunk all files again: that is
                skipped, everything else is done. A file that cannot be read is not an error; it is in the report.
        """
        from septet.files.tracking import by_root, follow, would_follow
        from septet.files.turns import SyncRequest

        flag(force, "force", EntryError)
        flag(dry_run, "dry_run", EntryError)
        limit = None if timeout_s is None else real(timeout_s, "timeout_s", EntryError, 0, MOST_WAIT_S)
        options = {
            "layout": layout,
            "include": include,
            "exclude": exclude,
            "paths": extra,
            "follow_symlinks": follow_symlinks,
        }
        more = {"chunking": chunking, "redact": redact, "trust": trust}
        options_set = [key for key, value in {"name": name, **options, **more}.items() if value is not None]
        if root is None and options_set:
            raise EntryError(f"{options_set[0]} is an option of a root: pass the root, as in sync('notes', ...)")
        if self._store.read_only and not dry_run:
            raise ReadOnly(f"{self._store.path} was opened with read_only=True: open it for writing to sync it")
        if root is not None and dry_run:
            followed = [would_follow(self._store, root, name, options, more)]
        else:
            followed = self._followed() if root is None else [follow(self._store, root, name, options, more)]
        files = None if paths is None else by_root(paths, followed)
        deadline = None if limit is None else time.monotonic() + limit
        place = None if root is None else followed[0].root.path
        request = SyncRequest(followed, files, force, deadline, reporter(progress), place=place)
        if dry_run:
            from septet.files.status import rehearse_roots

            return rehearse_roots(self._store, request, clock=self._clock)
        with self._loading():
            return self._synced(request)

    def forget_root(self, name: str | os.PathLike[str]) -> int:
        """Stop following a folder and erase its chunks, as `delete` does; return their number. The disk is not changed.

        Args:
            name: name or path of the root.

        Raises:
            EntryError: the folder is not followed.
            StoreError: the vault cannot be written.
        """
        from septet.files.tracking import forget

        text = utf8(as_text(name), "name", EntryError)
        with self._store.writing() as write:
            return forget(write, text)

    def sync_status(self) -> SyncStatus:
        """Compare the followed folders with the disk, by size and time of their files.

        Returns:
            For each folder its options, the number of files, chunks and bytes in the vault, the new, changed and
            deleted files, and the time of the last sync; the running sync and watcher, if any; the last error.

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
        with self._own.hold():
            self._watchers = (*(known_watcher for known_watcher in self._watchers if not known_watcher.closed), watcher)
        return watcher

    # -- inside ------------------------------------------------------------------------------------------------------

    def _followed(self) -> list[Followed]:
        from septet.files.tracking import followed_of
        from septet.sqlite.tables import files

        with self._store.reading() as read:
            return [followed_of(row) for row in files.roots(read)]

    def _synced(self, request: SyncRequest) -> SyncReport:
        from septet.files.syncing import sync_roots
        from septet.files.turns import in_turn

        def run(ending: Callable[[], bool]) -> SyncReport:
            now = request._replace(ending=ending)
            return sync_roots(self._store, now, clock=self._clock, written=self._written, embed_ahead=self._embed_ahead)

        self._has_synced = True
        report = in_turn(self._store, request, run)
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
        from septet.files.drift import budget_of

        return budget_of(sync_on_search)

    def _follow_by_itself(self, budget: float | None, on_open: bool) -> None:
        """Sync before searches, and now.

        Raises:
            ReadOnly: the vault was opened for reading.
        """
        from septet.files.drift import OnSearch

        if self._store.read_only:
            raise ReadOnly(
                f"{self._store.path} is opened with read_only=True, which does not sync: omit sync_on_search and "
                "sync_on_open"
            )
        looks = OnSearch(self._store, self.sync, self._clock)
        if budget is not None:
            self._on_search = looks, budget
            # Patched per instance, so that searches of other vaults make no additional call.
            self.__dict__["_plan"] = self._plan_in_step
        if on_open:
            looks.ask()

    def _plan_in_step(self, query: str, options: Mapping[str, Any], method: str = "search") -> SearchPlan:
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


def within(plan: SearchPlan, budget_s: float) -> float:
    """Return the seconds that a search may wait for a sync: at most half of its remaining time."""
    return budget_s if plan.deadline is None else min(budget_s, plan.deadline.left_s / 2)
