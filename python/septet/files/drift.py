"""Drift: differences between the files of a root on the disk and in the vault."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import Closed, SeptetError
from septet.files.matching import moved_meanwhile, near, why_unknown
from septet.files.pending import is_due, pending_of
from septet.files.report import PendingFile
from septet.files.roots import UNKNOWN, within
from septet.files.sources import RootFile, Scan, scan
from septet.files.tracking import Followed, followed_of
from septet.inputs.arguments import shown
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow, RootRow

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
    return None if seen.found else why_unknown(followed.root.path, device)


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
    for file in seen.found:
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
    new = [file for file in seen.found if file.path in names]
    return {file.path for file in moved_meanwhile(new, rows, seen.found, seen.skipped)}


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
        """Return the drifts of the roots that changed since the last `run`, except those that cannot be compared."""
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

    def run(self) -> list[SyncReport]:
        """Check the disk, sync the changes and return the reports.

        Raises:
            SeptetError: as `Vault.sync`.
        """
        return list(self.bring(self.look()))

    def bring(self, drifts: Sequence[Drift]) -> Iterator[SyncReport]:
        """Sync drifts and yield the reports; an error of a root is raised after the others.

        Raises:
            SeptetError: as `Vault.sync`.
        """
        fault = None
        for drift in drifts:
            report = None
            if drift.due or drift.followed.is_read_otherwise:
                try:
                    report = self._sync_drift(drift)
                except Closed:
                    raise
                except SeptetError as raised:
                    # Sync the other roots although this one has no room.
                    fault = raised
                    continue
            self.behind -= drift.files
            if drift.why is None and (report is None or report.complete):
                self._deal(drift)
            if report is not None:
                yield report
        if fault is not None:
            raise fault

    def _sync_drift(self, drift: Drift) -> SyncReport:
        root = drift.followed.root
        if len(drift.due) > MOST_APART or root.follow_symlinks or drift.followed.is_read_otherwise:
            return self._sync(root.path)
        base = root.path if os.path.isdir(root.path) else os.path.dirname(root.path)
        return self._sync(paths=[os.path.normpath(os.path.join(base, path)) for path in drift.due])

    def _deal(self, drift: Drift) -> None:
        number = drift.followed.number
        with self._store.reading() as read:
            row = next((row for row in files.roots(read) if row.root == number), None)
        if row is not None:
            self._dealt[number] = (_lasting(row), drift.scan)


def _lasting(row: RootRow) -> RootRow:
    """Return the row of a root without the columns that every sync writes."""
    return row._replace(synced_at=None, problem=None)
