"""Drift: differences between the files of a root on the disk and in the vault, and their sync before a search."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet._core import Lock
from septet.errors import Closed, SeptetError, StoreError
from septet.files.matching import is_due, moved_meanwhile, near, pending_of, why_unknown
from septet.files.report import PendingFile
from septet.files.roots import UNKNOWN, within
from septet.files.sources import RootFile, Scan, scan
from septet.files.tracking import Followed, followed_of
from septet.inputs.arguments import real, shown
from septet.notes import Note
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow, RootRow
from septet.system.contexts import without_context

if TYPE_CHECKING:
    from septet.files.report import SyncReport

#: Maximum files synced one by one; with more changes, a scan of the whole root is cheaper.
MOST_APART = 64


class Drift(NamedTuple):
    """Differences between a root on the disk and in the vault; paths are relative to the root.

    Attributes:
        new: files missing in the vault.
        changed: files with another size or time; some may have the same bytes.
        gone: files deleted from the disk, or excluded now.
        pending: transcripts with too little new text for an automatic sync.
        doubtful: files read within the clock tick of their last change, to be compared by hash.
        why: reason why the root cannot be compared (its files stay in the vault), or None.
    """

    followed: Followed
    scan: Scan
    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    pending: tuple[PendingFile, ...] = ()
    doubtful: tuple[str, ...] = ()
    why: str | None = None

    @property
    def files(self) -> int:
        """Number of files that differ."""
        return len(self.new) + len(self.changed) + len(self.gone)

    @property
    def due(self) -> list[str]:
        """Files that a sync must check."""
        return [*self.new, *self.changed, *self.gone, *self.doubtful]


def why_unknown_of(followed: Followed, seen: Scan, device: int | None) -> str | None:
    """Return why a root cannot be compared; None if files missing in the scan are deleted.

    Args:
        device: device of its file system at the last sync; None if unknown.
    """
    for entry in seen.skipped:
        if entry.reason == "unreadable" and not entry.path:
            return f"cannot be read ({entry.detail})"
    return None if seen.files else why_unknown(followed.root.path, device)


def drift_of(followed: Followed, rows: Sequence[FileRow], seen: Scan, why: str | None = None) -> Drift:
    """Compare a scan of a root with its files in the vault, by size, time and kind."""
    if why is not None:
        return Drift(followed, seen, why=why)
    known = {row.path: row for row in rows}
    stored = set(known)
    new: list[str] = []
    changed: list[str] = []
    pending: list[PendingFile] = []
    doubtful: list[str] = []
    for file in seen.files:
        row = known.pop(file.path, None)
        if row is not None and (row.size, row.mtime_ns, row.kind) == (file.size, file.mtime_ns, file.kind):
            if near(row):
                doubtful.append(file.path)
        elif file.kind == "session" and (few := _few(file, row)) is not None:
            pending.append(few)
        else:
            (new if row is None else changed).append(file.path)
    unknown = {entry.path for entry in seen.skipped if entry.reason in UNKNOWN}
    deleted = [path for path in known if not within(path, unknown)]
    if any(known[path].kind == "session" for path in deleted):
        # A new session may be a renamed one, which keeps its chunks if a sync checks both paths.
        new += [entry.path for entry in pending if entry.path not in stored]
        pending = [entry for entry in pending if entry.path in stored]
    return Drift(followed, seen, tuple(new), tuple(changed), tuple(deleted), tuple(pending), tuple(doubtful))


def _few(file: RootFile, row: FileRow | None) -> PendingFile | None:
    """Return the new part of a transcript if it is too small for a sync; None if it is due."""
    if row is not None and row.kind != file.kind:
        return None
    try:
        news = pending_of(file, None if row is None else row.state)
    except OSError:
        # The sync reports the reason.
        return None
    # A changed transcript that has not grown was edited, perhaps to remove a secret.
    was_edited = row is not None and file.size <= row.size
    return None if was_edited or is_due(news) else PendingFile(file.path, *news)


def _moving(drift: Drift, rows: Sequence[FileRow]) -> set[str]:
    """Return new files that may be known ones being moved."""
    if not drift.new:
        return set()
    names, seen = frozenset(drift.new), drift.scan
    new = [file for file in seen.files if file.path in names]
    return {file.path for file in moved_meanwhile(new, rows, seen.files, seen.skipped)}


class CatchUp:
    """Finds changes on the disk since its last check, and syncs them.

    Args:
        sync: `Vault.sync`.
    """

    def __init__(self, store: SqliteStore, sync: Callable[..., SyncReport]) -> None:
        self._store, self._sync = store, sync
        #: By root number: the row and the scan at its last complete sync.
        self._dealt: dict[int, tuple[RootRow, Scan]] = {}
        #: Number of files that differed at the last check.
        self.behind = 0
        #: Problems of the roots that cannot be compared.
        self.unknown: tuple[str, ...] = ()

    def look(self) -> list[Drift]:
        """Return the drifts of roots that changed since the last call of `bring`, if they can be compared."""
        with self._store.reading() as read:
            rows = [(row, files.device_of(read, row.root)) for row in files.roots(read)]
        drifts, unknown = [], []
        for row, device in rows:
            followed = followed_of(row)
            seen = scan(followed.root)
            if (why := why_unknown_of(followed, seen, device)) is not None:
                unknown.append(f"{shown(row.path)} {why}")
                self._dealt.pop(row.root, None)
                continue
            if self._dealt.get(row.root) == (_lasting(row), seen):
                continue
            with self._store.reading() as read:
                known = files.of_root(read, row.root)
            drift = drift_of(followed, known, seen)
            if drift.gone or _moving(drift, known):
                # A file moved during the scan may have been listed twice or not at all: scan again.
                seen = scan(followed.root)
                drift = drift_of(followed, known, seen, why_unknown_of(followed, seen, device))
                moving = _moving(drift, known)
                # The next scan will differ, and so compare these again.
                drift = drift._replace(new=tuple(path for path in drift.new if path not in moving))
            drifts.append(drift)
        self.unknown, self.behind = tuple(unknown), sum(drift.files for drift in drifts)
        return drifts

    def bring(self, drifts: Sequence[Drift]) -> Iterator[SyncReport]:
        """Sync drifts and yield the reports; an error of a root is raised after the others.

        Raises:
            SeptetError: as `Vault.sync`.
        """
        fault = None
        for drift in drifts:
            report = None
            if drift.due or drift.followed.is_read_otherwise:
                root = drift.followed.root
                try:
                    if len(drift.due) > MOST_APART or root.follow_symlinks or drift.followed.is_read_otherwise:
                        report = self._sync(root.path)
                    else:
                        base = root.path if os.path.isdir(root.path) else os.path.dirname(root.path)
                        report = self._sync(paths=[os.path.normpath(os.path.join(base, path)) for path in drift.due])
                except Closed:
                    raise
                except SeptetError as raised:
                    # Sync the other roots although this one has no room.
                    fault = raised
                    continue
            self.behind -= drift.files
            if drift.why is None and (report is None or report.complete):
                number = drift.followed.number
                with self._store.reading() as read:
                    row = next((row for row in files.roots(read) if row.root == number), None)
                if row is not None:
                    self._dealt[number] = (_lasting(row), drift.scan)
            if report is not None:
                yield report
        if fault is not None:
            raise fault


def _lasting(row: RootRow) -> RootRow:
    """Return the row of a root without the columns that every sync writes."""
    return row._replace(synced_at=None, problem=None)


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
                thread = threading.Thread(target=without_context(self._work), name="septet-on-search", daemon=True)
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
                reports = list(self._catch_up.bring(self._catch_up.look()))
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
        with self._store.reading() as read:
            times = [row.synced_at for row in files.roots(read)]
        what = f"{behind:,} file{'s differ' if behind > 1 else ' differs'} from the index"
        what = what if behind > 0 else "the check of the disk exceeded its budget"
        synced = [time for time in times if time is not None]
        when = "the first sync is not complete"
        if synced and len(synced) == len(times):
            when = f"the last complete sync was {_age(max(0.0, self._clock() - min(synced)))} ago"
        return Note("index_behind", f"{what}; {when}", "it continues in the background; sync() waits for it")


def _age(seconds: float) -> str:
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}s"
    return f"{seconds:.1f} s"
