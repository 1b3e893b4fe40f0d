"""Watch folders and sync changes while the program runs.

File system events are only hints of when to check. The changed files are found by comparison with the vault, and all
files are compared periodically, so a lost event only costs time.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from septet._core import shown_path
from septet.errors import Closed, EntryError, SeptetError
from septet.files.drift import CatchUp
from septet.files.roots import IGNORE_FILES, is_session
from septet.files.sources import places
from septet.files.tracking import Followed, followed_of
from septet.inputs.arguments import called, real, shown
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import files
from septet.system.contexts import without_context
from septet.watch import log

if TYPE_CHECKING:
    from types import TracebackType

    from septet.files.report import SyncReport

#: Maximum debounce and interval, in seconds: a day.
MOST_WAIT_S = 86_400.0
#: Maximum delay of a constantly changing file, in multiples of the debounce.
PATIENCE = 10
#: Poll interval for a missing folder, and for events after an error, in seconds.
RETURN_S, RETRY_S = 1.0, 30.0
#: Interval of full comparisons without events, in seconds.
POLL_S = 5.0
#: Full comparisons take at most 1 / SHARE of the time.
SHARE = 20
#: Maximum pending paths; with more, everything is compared.
MOST_PATHS = 256
#: Maximum wait of `close` for the transaction of a running sync, in seconds.
CLOSE_WAIT_S = 10.0
#: A hidden name in a relative path.
_HIDDEN = re.compile(r"(?:^|/)\.(?!\.(?:/|\Z))")
#: Poll interval, and maximum duration of a batch of events, in milliseconds.
STEP_MS, GROUP_MS = 250, 1_000
#: Interval of empty batches, which show that events are being received, in milliseconds.
FIRST_MS = 2_000


class Watcher(ABC):
    """Syncs the folders of a vault on two threads until it or the vault is closed.

    Made by `Vault.watch_files`; ``with vault.watch_files(): ...`` closes it.

    In a forked process, which has none of its threads, it is closed.

    Attributes:
        syncs: number of syncs that stored changes.
    """

    syncs = 0

    @property
    @abstractmethod
    def last_error(self) -> str | None:
        """Reason why the last check or sync failed, or why there are no events; otherwise None.

        The watcher keeps running and retries.
        """

    @property
    @abstractmethod
    def closed(self) -> bool:
        """True if it has stopped or is stopping."""

    @abstractmethod
    def close(self) -> None:
        """Stop watching, and wait at most 10 seconds for a running sync. Closing twice is allowed."""

    @abstractmethod
    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is closed; return False after ``timeout_s``.

        Raises:
            EntryError: ``timeout_s`` is not a number from 0 to 86,400.
        """

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self.close()


class FolderWatcher(Watcher):
    """A watcher of the folders of a store.

    Args:
        sync: `Vault.sync`.
        events: yields batches of (change, path) until ``stop_event`` is set; None for the system's events.
    """

    def __init__(
        self,
        store: SqliteStore,
        sync: Callable[..., SyncReport],
        *,
        debounce_s: float,
        session_debounce_s: float,
        interval_s: float | None,
        on_sync: Callable[[SyncReport], object] | None,
        events: Callable[..., Iterable[Iterable[tuple[Any, str]]]] | None = None,
    ) -> None:
        self._store, self._sync = store, sync
        self._debounce = real(debounce_s, "debounce_s", EntryError, 0, MOST_WAIT_S)
        self._session_debounce = real(session_debounce_s, "session_debounce_s", EntryError, 0, MOST_WAIT_S)
        interval_s = MOST_WAIT_S if interval_s is None else interval_s
        self._interval = real(interval_s, "interval_s", EntryError, 0.01, MOST_WAIT_S)
        self._on_sync = called(on_sync, "on_sync", EntryError)
        self._events = events_of_system() if events is None else events
        self._catch_up = CatchUp(store, sync)
        self._sync_fault: str | None = None
        self._event_fault: str | None = None
        self._wake = threading.Condition()
        self._closing, self._process = False, os.getpid()
        #: By changed path: the latest time to check it, and the time unless it changes again.
        self._hints: dict[str, tuple[float, float]] = {}
        #: Time of the next full comparison.
        self._look_at = time.monotonic()
        #: Time and duration of the last full comparison.
        self._looked_at, self._took = -math.inf, 0.0
        #: Next time to check for a missing root.
        self._peek_at = math.inf
        #: Watched paths with their device and inode numbers; replaced when these change.
        self._watched: Mapping[str, tuple[int, int] | None] = {}
        self._renew = threading.Event()
        works = {"septet-watch": self._work, "septet-watch-events": self._listen}
        self._threads = [threading.Thread(target=without_context(f), name=n, daemon=True) for n, f in works.items()]
        for thread in self._threads:
            thread.start()

    @property
    def last_error(self) -> str | None:
        """See `Watcher`."""
        return self._sync_fault or self._event_fault

    @property
    def closed(self) -> bool:
        """See `Watcher`."""
        return self._closing or self._process != os.getpid()

    def know(self, paths: Iterable[str]) -> None:
        """Watch newly added roots."""
        if not self.closed and any(path not in self._watched for path in paths):
            self._soon(0)

    def end(self) -> None:
        """Stop watching without waiting."""
        # In a forked child the lock may be held by a thread of the parent.
        if self._process != os.getpid():
            return
        with self._wake:
            self._closing = True
            self._renew.set()
            self._wake.notify_all()

    def close(self) -> None:
        """See `Watcher`."""
        if self._process != os.getpid():
            return
        self.end()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(CLOSE_WAIT_S)

    def wait(self, timeout_s: float | None = None) -> bool:
        """See `Watcher`."""
        limit = None if timeout_s is None else real(timeout_s, "timeout_s", EntryError, 0, MOST_WAIT_S)
        if self.closed:
            return True
        with self._wake:
            return self._wake.wait_for(lambda: self._closing, limit)

    # -- events --------------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Receive events of the existing folders."""
        while True:
            self._renew.clear()
            # After the clear: `end` sets `_closing` before `_renew`.
            if self._closing:
                return
            present = [path for path, number in self._watched.items() if number is not None]
            if not present:
                self._renew.wait()
                continue
            received = False
            try:
                for changes in self._events(*present, stop_event=self._renew):
                    if not received:
                        self._event_fault, received = None, True
                        # A comparison finds the changes before the first event.
                        self._soon(0)
                    if changes:
                        self._hint(path for _, path in changes)
            except Exception as fault:  # noqa: BLE001 - the system may refuse in many ways
                if received:
                    # For example a name that is not UTF-8; the next comparison finds the missed changes.
                    log.say("sync", log.INFO, "%s: file system events were lost: %s", self._store.path, fault)
                    self._renew.wait(RETURN_S)
                    continue
                problem = f"no file system events, comparing all files periodically: {type(fault).__name__}: {fault}"
                if problem != self._event_fault:
                    log.say("sync", log.WARNING, "%s: %s", self._store.path, problem)
                self._event_fault = problem
                self._soon(POLL_S)
                self._renew.wait(RETRY_S)

    def _hint(self, paths: Iterable[str]) -> None:
        now = time.monotonic()
        with self._wake:
            for path in paths:
                wait = self._session_debounce if is_session(path) else self._debounce
                last, _ = self._hints.get(path, (now + PATIENCE * wait, now))
                if is_session(path):
                    # A transcript being written would reset the debounce for ever.
                    last = min(last, now + wait)
                self._hints[path] = (last, min(last, now + wait))
            if len(self._hints) > MOST_PATHS:
                self._look_at = min(self._look_at, now + self._debounce)
                self._hints.clear()
            self._wake.notify_all()

    # -- syncing -------------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        while (task := self._task()) is not None:
            try:
                fault = self._act(*task)
            except Closed:
                self.end()
                return
            except Exception as raised:  # noqa: BLE001 - hooks may raise anything, and watching goes on
                fault = str(raised) if isinstance(raised, SeptetError) else f"{type(raised).__name__}: {raised}"
                self._soon(max(RETURN_S, SHARE * self._took))
            if fault is not None and fault != self._sync_fault:
                log.say("sync", log.WARNING, "%s: watching: %s", self._store.path, fault)
            self._sync_fault = fault

    def _task(self) -> tuple[list[str], bool] | None:
        """Wait for work: paths to check, and True to compare everything. None at the end."""
        with self._wake:
            while not self._closing:
                now = time.monotonic()
                at = min((at for _, at in self._hints.values()), default=self._look_at)
                at = min(at, self._look_at, self._peek_at)
                if at <= now:
                    break
                self._wake.wait(at - now)
            if self._closing:
                return None
            due = [path for path, (_, at) in self._hints.items() if at <= now]
            for path in due:
                del self._hints[path]
            everything = self._look_at <= now
            if everything:
                self._look_at = now + self._pause()
            return due, everything

    def _pause(self) -> float:
        """Return the seconds until the next full comparison."""
        pause = self._interval if self._event_fault is None else min(self._interval, POLL_S)
        return min(max(pause, SHARE * self._took), MOST_WAIT_S)

    def _act(self, due: list[str], everything: bool) -> str | None:
        """Check paths, or everything, and sync the changes; return a problem or None."""
        with self._store.reading() as read:
            followed = [followed_of(row) for row in files.roots(read)]
        if any(self._watched.get(path) is not None and not os.path.isfile(path) for path in due):
            # A recreated folder may get the same inode number but no events.
            self._watched = {}
        back = self._watch(followed)
        missing = [root.root.path for root in followed if self._watched[root.root.path] is None]
        # Only a full comparison detects a root that is unreadable or not mounted.
        unknown = len(self._catch_up.unknown) > len(missing)
        began = time.monotonic()
        much = any(self._is_much(path, followed) for path in due)
        if much and not (everything or back or unknown) and began < (rests := self._looked_at + SHARE * self._took):
            # Delay all paths: one of them may be the new name of a missing one.
            self._soon(rests - began)
            due = []
        elif everything or back or unknown or much:
            drifts = self._catch_up.look()
            self._looked_at = time.monotonic()
            self._took = self._looked_at - began
            for report in self._catch_up.bring(drifts):
                self._count_sync(report)
        elif changed := [path for path in due if self._is_ours(path, followed)]:
            self._count_sync(self._sync(paths=changed))
        problems = [f"{shown(path)} is not there" for path in missing] or self._catch_up.unknown
        self._peek_at = time.monotonic() + max(RETURN_S, SHARE * self._took) if problems else math.inf
        return f"{', and '.join(problems)}: its files stay in the vault" if problems else None

    def _soon(self, wait_s: float) -> None:
        with self._wake:
            self._look_at = min(self._look_at, time.monotonic() + wait_s)
            self._wake.notify_all()

    def _watch(self, followed: list[Followed]) -> bool:
        """Watch the existing paths; return True if they changed."""
        present = {path: _number(path) for root in followed for path in places(root.root)}
        if present == self._watched:
            return False
        self._watched = present
        self._renew.set()
        return True

    def _is_much(self, path: str, followed: list[Followed]) -> bool:
        """Return True if a path may affect several files: a folder, an ignore file, a link, or a missing path.

        A missing file may have been renamed.
        """
        if os.path.basename(path) in IGNORE_FILES:
            return True
        places_in = [(root, relative) for root in followed if (relative := root.below(path)) is not None]
        # Paths in hidden folders that the layout skips.
        if all(root.root.layout == "folder" and _HIDDEN.search(relative) for root, relative in places_in):
            return False
        if os.path.isdir(path):
            return True
        if not os.path.lexists(path):
            with self._store.reading() as read:
                return any(files.of_root(read, root.number, shown_path(relative)[0]) for root, relative in places_in)
        return any(root.root.follow_symlinks for root, _ in places_in)

    def _is_ours(self, path: str, followed: list[Followed]) -> bool:
        """Return True if a file is or was in a root, and is due for a sync."""
        from septet.files.drift import drift_of
        from septet.files.sources import Scan, file_at

        for root in followed:
            if (relative := root.below(path)) is None:
                continue
            file = file_at(root.root, relative)
            with self._store.reading() as read:
                rows = list(files.at(read, root.number, [relative if file is None else file.path]).values())
            if drift_of(root, rows, Scan([] if file is None else [file], [])).due:
                return True
        return False

    def _count_sync(self, report: SyncReport) -> None:
        self.syncs += 1
        if not report.complete:
            self._soon(max(RETURN_S, SHARE * self._took))
        if self._on_sync is not None:
            self._on_sync(report)


def events_of_system() -> Callable[..., Iterable[Iterable[tuple[Any, str]]]]:
    """Return a function that yields batches of changes.

    Raises:
        EntryError: the package for it is not installed.
    """
    try:
        from watchfiles import watch
    except ImportError as fault:
        raise EntryError(
            f"watching needs the package watchfiles ({fault}): pip install 'septet[watch]', or sync() from time to time"
        ) from None

    def events(*paths: str, stop_event: threading.Event) -> Iterable[Iterable[tuple[Any, str]]]:
        options: dict[str, Any] = {
            "watch_filter": None, "debounce": GROUP_MS, "step": STEP_MS, "stop_event": stop_event,
            "rust_timeout": FIRST_MS, "yield_on_timeout": True, "raise_interrupt": False,
        }  # fmt: skip
        try:
            yield from watch(*paths, **options, ignore_permission_denied=False)
        except PermissionError:
            # Last resort: this also hides other folders that cannot be watched.
            yield from watch(*paths, **options, ignore_permission_denied=True)

    return events


def _number(path: str) -> tuple[int, int] | None:
    """Return device and inode of a path, to detect its replacement; None if it does not exist."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino
