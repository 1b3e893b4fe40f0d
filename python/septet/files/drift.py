"""Drift: how the files of a root on the disk differ from those that a vault has of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import Closed, SeptetError
from septet.files.matching import moved_meanwhile, near, why_unknown
from septet.files.paths import within
from septet.files.pending import is_due, pending_of
from septet.files.report import PendingFile
from septet.files.sources import Found, Scan, scan
from septet.files.tracking import Followed, followed_of
from septet.files.trees import UNKNOWN
from septet.inputs.arguments import shown
from septet.sqlite.store.store import Store
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow, RootRow

if TYPE_CHECKING:
    from septet.files.report import SyncReport

__all__ = ["CatchUp", "Drift", "drift_of", "why_unknown_of"]

#: With more files than this that changed in a root, the whole root is synced: a scan costs less than so many look-ups.
MOST_APART = 64


class Drift(NamedTuple):
    """How a root on the disk differs from what the vault has; paths are below the root.

    Attributes:
        new: files that the vault does not have.
        changed: files of another size or time. So may be some whose bytes are the same.
        gone: files that are not on the disk any more, or left out now.
        pending: transcripts of which too little is new to be read without being asked for.
        doubtful: files that were read in the moment in which they were written, so that only their bytes can tell.
        why: why nothing can be said of the root, whose files stay in the vault then; None if they can be compared.
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
        """How many files the vault is behind by."""
        return len(self.new) + len(self.changed) + len(self.gone)

    @property
    def due(self) -> list[str]:
        """The files that a sync should look at."""
        return [*self.new, *self.changed, *self.gone, *self.doubtful]


def why_unknown_of(followed: Followed, seen: Scan, device: int | None) -> str | None:
    """Return why nothing can be said of what a root holds; None if what a scan has not found is gone.

    Args:
        device: of the file system that it was on when it was last synced; None if that is not known.
    """
    for one in seen.skipped:
        if one.reason == "unreadable" and not one.path:
            return f"cannot be read ({one.detail})"
    return None if seen.found else why_unknown(followed.root.path, device)


def drift_of(followed: Followed, rows: Sequence[FileRow], seen: Scan, why: str | None = None) -> Drift:
    """Compare a scan of a root with the files that a vault has of it, by size, time and kind."""
    if why is not None:
        return Drift(followed, seen, why=why)
    known = {row.path: row for row in rows}
    held = set(known)
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
    unknown = {one.path for one in seen.skipped if one.reason in UNKNOWN}
    gone = [path for path in known if not within(path, unknown)]
    if any(known[path].kind == "session" for path in gone):
        # One of the new ones may be what is gone under another name, and keeps its chunks if both are looked at.
        new += [one.path for one in pending if one.path not in held]
        pending = [one for one in pending if one.path in held]
    return Drift(followed, seen, tuple(new), tuple(changed), tuple(gone), tuple(pending), tuple(doubtful))


def _few(file: Found, row: FileRow | None) -> PendingFile | None:
    """Return what is new of a transcript if that is too little to read it; None if it is to be read."""
    if row is not None and row.kind != file.kind:
        return None
    try:
        news = pending_of(file, None if row is None else row.state)
    except OSError:
        # The sync says why.
        return None
    # What did not grow was changed in the middle, perhaps to take something out.
    is_other = row is not None and file.size <= row.size
    return None if is_other or is_due(news) else PendingFile(file.path, *news)


def _moving(drift: Drift, rows: Sequence[FileRow]) -> set[str]:
    """Return new files that may be known ones on the move."""
    if not drift.new:
        return set()
    names, seen = frozenset(drift.new), drift.scan
    new = [one for one in seen.found if one.path in names]
    return {one.path for one in moved_meanwhile(new, rows, seen.found, seen.skipped)}


class CatchUp:
    """Finds what changed on the disk since it looked last, and has it synced.

    Args:
        sync: `Vault.sync`.
    """

    def __init__(self, store: Store, sync: Callable[..., SyncReport]) -> None:
        self._store, self._sync = store, sync
        #: What was on the disk when all of it was dealt with, by root, and the root as it was then.
        self._dealt: dict[int, tuple[RootRow, Scan]] = {}
        #: How many files the vault is behind by, as of the last look.
        self.behind = 0
        #: What there is to say of roots of which nothing is known.
        self.unknown: tuple[str, ...] = ()

    def look(self) -> list[Drift]:
        """Return the roots on which something happened since the last `run`, but those of which nothing is known."""
        with self._store.reading() as read:
            rows = [(row, files.device_of(read, row.root)) for row in files.roots(read)]
        found, unknown = [], []
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
                # What was moved while the folders were read may have been in neither of two, or in both.
                seen = scan(followed.root)
                drift = drift_of(followed, known, seen, why_unknown_of(followed, seen, device))
                moving = _moving(drift, known)
                # Their folders will look otherwise the next time, and so be compared again.
                drift = drift._replace(new=tuple(path for path in drift.new if path not in moving))
            found.append(drift)
        self.unknown, self.behind = tuple(unknown), sum(drift.files for drift in found)
        return found

    def run(self) -> list[SyncReport]:
        """Look, sync what changed, and return the reports of what was synced.

        Raises:
            SeptetError: as `Vault.sync`.
        """
        return list(self.bring(self.look()))

    def bring(self, drifts: Sequence[Drift]) -> Iterator[SyncReport]:
        """Sync what changed, as it was looked at, and yield the reports; what goes wrong with a root comes last.

        Raises:
            SeptetError: as `Vault.sync`.
        """
        fault = None
        for drift in drifts:
            report = None
            if drift.due or drift.followed.is_read_otherwise:
                try:
                    report = self._synced(drift)
                except Closed:
                    raise
                except SeptetError as raised:
                    # What one root has no room for is no reason to leave out the others.
                    fault = raised
                    continue
            self.behind -= drift.files
            if drift.why is None and (report is None or report.complete):
                self._deal(drift)
            if report is not None:
                yield report
        if fault is not None:
            raise fault

    def _synced(self, drift: Drift) -> SyncReport:
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
    """Return a row of a root without what every sync of it writes."""
    return row._replace(synced_at=None, problem=None)
