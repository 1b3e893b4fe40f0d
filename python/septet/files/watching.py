"""Watching: a vault follows its folders while the program runs.

What the system tells of changes is only a hint of when to look. Which files changed is found by comparing them with
the vault, and from time to time everything is compared, so an event that is lost only costs time.
"""

from __future__ import annotations

import math
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from septet._core import shown_path
from septet.errors import Closed, EntryError, SeptetError
from septet.files.drift import CatchUp
from septet.files.events import events_of_system
from septet.files.sources import places
from septet.files.tracking import Followed, followed_of
from septet.files.trees import IGNORE_FILES, is_session
from septet.inputs.arguments import called, real, shown
from septet.sqlite.store.store import Store
from septet.sqlite.tables import files
from septet.watch import log

if TYPE_CHECKING:
    from types import TracebackType

    from septet.files.report import SyncReport

__all__ = ["MOST_WAIT_S", "FolderWatcher", "Watcher"]

#: The longest debounce and interval, in seconds: a day.
MOST_WAIT_S = 86_400.0
#: A file that never rests is looked at after so many times the debounce.
PATIENCE = 10
#: How often to look whether a folder that went away is back, and whether events can be had again, in seconds.
RETURN_S, RETRY_S = 1.0, 30.0
#: Without events everything is compared so often, in seconds.
POLL_S = 5.0
#: Comparing everything takes one part in so many of the time at most.
SHARE = 20
#: So many paths are remembered; with more, everything is compared.
MOST_PATHS = 256
#: How long closing waits for a sync to come to the end of its transaction.
CLOSE_WAIT_S = 10.0


class Watcher(ABC):
    """Keeps a vault in step with its folders, on two threads, until it or the vault is closed.

    Made by `Vault.watch_files`; ``with vault.watch_files(): ...`` closes it.

    A process that is forked has none of its threads: there it counts as closed.

    Attributes:
        syncs: how often files were brought in.
    """

    syncs = 0

    @property
    @abstractmethod
    def last_error(self) -> str | None:
        """Why the last look or sync failed, or why no events come; None if all is well.

        Either way it goes on: what could not be done is tried again.
        """

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether it has stopped, or is about to."""

    @abstractmethod
    def close(self) -> None:
        """Stop watching, and wait for a sync that runs, 10 seconds at most. Closing twice is fine."""

    @abstractmethod
    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is closed; return False if that takes longer than ``timeout_s``.

        Raises:
            EntryError: ``timeout_s`` is no number from 0 to a day.
        """

    def __enter__(self) -> Watcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self.close()


class FolderWatcher(Watcher):
    """A watcher of the folders of a store.

    Args:
        sync: `Vault.sync`.
        events: yields what happened to paths, as pairs of something and a path, until ``stop_event`` is set; the
            system's own if None.
    """

    def __init__(
        self,
        store: Store,
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
        least, most = 0.01, MOST_WAIT_S
        self._interval = None if interval_s is None else real(interval_s, "interval_s", EntryError, least, most)
        self._on_sync = called(on_sync, "on_sync", EntryError)
        self._events = events_of_system() if events is None else events
        self._catch_up = CatchUp(store, sync)
        self._sync_fault: str | None = None
        self._event_fault: str | None = None
        self._wake = threading.Condition()
        self._closing, self._process = False, os.getpid()
        #: Paths that something happened to: when to look at each at the latest, and when unless more happens.
        self._hints: dict[str, tuple[float, float]] = {}
        #: Everything is to be compared at this time.
        self._look_at = time.monotonic()
        #: When that was done last, and how long it took.
        self._looked_at, self._took = -math.inf, 0.0
        #: A root is not there, and this is when to see whether it is back.
        self._peek_at = math.inf
        #: What is watched, with the numbers that the system has for it; set anew when they change.
        self._watched: Mapping[str, tuple[int, int] | None] = {}
        self._renew = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name="septet-watch", daemon=True),
            threading.Thread(target=self._listen, name="septet-watch-events", daemon=True),
        ]
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
        """Watch roots that came after it was started."""
        if not self.closed and any(path not in self._watched for path in paths):
            self._soon(0)

    def end(self) -> None:
        """Stop watching, and do not wait."""
        # In a forked child another thread may have held the lock.
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

    # -- what the system tells -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Take hints from the system, of the folders that are there now."""
        while True:
            self._renew.clear()
            # Not before: who sets it has said before what it is for.
            if self._closing:
                return
            there = [path for path, number in self._watched.items() if number is not None]
            if not there:
                self._renew.wait()
                continue
            first, heard = True, False
            try:
                for changes in self._events(*there, stop_event=self._renew):
                    if first:
                        self._event_fault, heard = None, True
                        # What happened before events came is seen by a look.
                        self._soon(0)
                        first = False
                    if changes:
                        self._hint(path for _, path in changes)
            except Exception as fault:  # noqa: BLE001 - the system may refuse in many ways
                if heard:
                    # Such as a name that is no UTF-8: what happened meanwhile is seen by the look that comes first.
                    log.say("sync", log.INFO, "%s: events are lost: %s", self._store.path, fault)
                    self._renew.wait(RETURN_S)
                    continue
                said = f"no events come, so everything is compared again and again: {type(fault).__name__}: {fault}"
                if said != self._event_fault:
                    log.say("sync", log.WARNING, "%s: %s", self._store.path, said)
                self._event_fault = said
                self._soon(POLL_S)
                self._renew.wait(RETRY_S)

    def _hint(self, paths: Iterable[str]) -> None:
        now = time.monotonic()
        with self._wake:
            for path in paths:
                wait = self._session_debounce if is_session(path) else self._debounce
                last, _ = self._hints.get(path, (now + PATIENCE * wait, now))
                if is_session(path):
                    # A transcript that is being written would never rest.
                    last = min(last, now + wait)
                self._hints[path] = (last, min(last, now + wait))
            if len(self._hints) > MOST_PATHS:
                self._look_at = min(self._look_at, now + self._debounce)
                self._hints.clear()
            self._wake.notify_all()

    # -- what is done about it -----------------------------------------------------------------------------------------

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
        """Wait for something to do: paths to look at, and whether to compare everything. None ends it."""
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
        """Return how long it is until everything is compared again."""
        wanted = MOST_WAIT_S if self._interval is None else self._interval
        if self._event_fault is not None:
            wanted = min(wanted, POLL_S)
        return min(max(wanted, SHARE * self._took), MOST_WAIT_S)

    def _act(self, due: list[str], everything: bool) -> str | None:
        """Look at paths, or at everything, and sync what changed; return what is wrong."""
        with self._store.reading() as read:
            followed = [followed_of(row) for row in files.roots(read)]
        if any(self._watched.get(path) is not None and not os.path.isfile(path) for path in due):
            # A folder that was removed and made again may have its number again, but not its events.
            self._watched = {}
        back = self._watch(followed)
        missing = [one.root.path for one in followed if self._watched[one.root.path] is None]
        # One that cannot be read, or is not mounted, is seen by a whole look alone.
        unknown = len(self._catch_up.unknown) > len(missing)
        began = time.monotonic()
        much = any(self._is_much(path, followed) for path in due)
        if much and not (everything or back or unknown) and began < (rests := self._looked_at + SHARE * self._took):
            # The others wait with it: one of them may be what is gone, under its new name.
            self._soon(rests - began)
            due = []
        elif everything or back or unknown or much:
            drifts = self._catch_up.look()
            self._looked_at = time.monotonic()
            self._took = self._looked_at - began
            for report in self._catch_up.bring(drifts):
                self._told(report)
        elif wanted := [path for path in due if self._is_ours(path, followed)]:
            self._told(self._sync(paths=wanted))
        said = [f"{shown(path)} is not there" for path in missing] or self._catch_up.unknown
        self._peek_at = time.monotonic() + max(RETURN_S, SHARE * self._took) if said else math.inf
        return f"{', and '.join(said)}: what was read of it stays in the vault" if said else None

    def _soon(self, wait_s: float) -> None:
        with self._wake:
            self._look_at = min(self._look_at, time.monotonic() + wait_s)
            self._wake.notify_all()

    def _watch(self, followed: list[Followed]) -> bool:
        """Have events come of what is there; return whether that is something else than before."""
        there = {path: _number(path) for one in followed for path in places(one.root)}
        if there == self._watched:
            return False
        self._watched = there
        self._renew.set()
        return True

    def _is_much(self, path: str, followed: list[Followed]) -> bool:
        """Say whether a path stands for several files: a folder, rules for others, or what was one or the other.

        A file that is gone may have another name now.
        """
        if os.path.basename(path) in IGNORE_FILES:
            return True
        below = [(one, inside) for one in followed if (inside := one.below(path)) is not None]
        if not below or all(_is_hidden(one, inside) for one, inside in below):
            return False
        if os.path.isdir(path):
            return True
        if not os.path.lexists(path):
            with self._store.reading() as read:
                return any(files.of_root(read, one.number, shown_path(inside)[0]) for one, inside in below)
        return any(one.root.follow_symlinks for one, _ in below)

    def _is_ours(self, path: str, followed: list[Followed]) -> bool:
        """Say whether a file is, or was, one of a root, and is worth reading now."""
        from septet.files.drift import drift_of
        from septet.files.sources import Scan, found_at

        for one in followed:
            if (inside := one.below(path)) is None:
                continue
            found = found_at(one.root, inside)
            with self._store.reading() as read:
                rows = list(files.at(read, one.number, [inside if found is None else found.path]).values())
            if drift_of(one, rows, Scan([] if found is None else [found], [])).due:
                return True
        return False

    def _told(self, report: SyncReport) -> None:
        self.syncs += 1
        if not report.complete:
            self._soon(max(RETURN_S, SHARE * self._took))
        if self._on_sync is not None:
            self._on_sync(report)


def _number(path: str) -> tuple[int, int] | None:
    """Return what tells a file or folder from another one of the same path; None if there is none."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _is_hidden(followed: Followed, path: str) -> bool:
    """Say whether a path is in a hidden folder, where the layout does not look."""
    return followed.root.layout == "folder" and any(part.startswith(".") and part != ".." for part in path.split("/"))
