"""Status of the folders of a vault: their differences from the disk, and the dry run of a sync."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from septet.files.drift import drift_of, why_unknown_of
from septet.files.planning import FilePlan
from septet.files.preparing import Task
from septet.files.report import PendingFile, RootInfo, SkippedFile, SyncReport, SyncTally, remarked
from septet.files.sources import scan
from septet.files.syncing import Run
from septet.files.tracking import Followed, followed_of
from septet.files.turns import Lease, SyncRequest, is_running
from septet.model.codec import as_dict, attributes
from septet.model.entry import json_of
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow, RootRow
from septet.sqlite.tables.marks import ALTERED

if TYPE_CHECKING:
    from septet.files.sources import RootFile


@dataclass(frozen=True, slots=True, kw_only=True)
class RootStatus(RootInfo):
    """Differences between a folder and the vault.

    Attributes:
        name: the ``source`` of its chunks.
        path: absolute path, links resolved.
        options: selection and reading options of `Vault.sync`.
        files: number of files in the vault.
        chunks: number of their chunks.
        synced_at: end of the last complete sync, epoch seconds, or None.
        problem: reason why its last sync failed, or None.
        bytes: total size of these files, by kind: ``text`` and ``session``.
        new: paths that are only on the disk.
        changed: paths with another size or time.
        gone: paths that are only in the vault.
        pending: transcripts with too little new text for an automatic sync.
        skipped: skipped paths with the reason: links, duplicates, unreadable files.
        skipped_kinds: number of files skipped by their suffix alone, by suffix, as in `SyncReport`.
        problems: files stored only in part, with the reason.
        missing: reason why its files cannot be compared: it ``is not there``, cannot be read, or is empty and on
            another file system than before. They stay in the vault and count as none of the above. Otherwise None.
        rebuilding: True if its options changed, so that its next complete sync rebuilds all chunks.
        age_s: seconds since ``synced_at``, or None.
    """

    bytes: Mapping[str, int]
    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    pending: tuple[PendingFile, ...]
    skipped: tuple[SkippedFile, ...]
    skipped_kinds: Mapping[str, int]
    problems: tuple[SkippedFile, ...]
    missing: str | None
    rebuilding: bool
    age_s: float | None

    @property
    def drift(self) -> int:
        """Number of files that differ: new, changed and gone."""
        return len(self.new) + len(self.changed) + len(self.gone)

    @property
    def altered(self) -> tuple[str, ...]:
        """Paths of files whose chunks were changed or deleted in the vault, and which were not read again since."""
        return tuple(file.path for file in self.problems if ALTERED in file.reason)

    @property
    def pending_bytes(self) -> int:
        """Number of pending bytes of transcripts."""
        return sum(file.bytes for file in self.pending)

    @property
    def pending_messages(self) -> int:
        """Number of pending lines of transcripts."""
        return sum(file.messages for file in self.pending)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return as_dict(self) | attributes(self, ("drift", "pending_bytes", "pending_messages", "altered"))


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """Differences between the folders of a vault and the vault, at the time of the call.

    Attributes:
        roots: in the order in which they were added.
        running: True if a sync of the vault runs, in this or another process.
        watching: True if a watcher of this object runs.
        last_error: reason why the last automatic sync (on search, or by a watcher) failed, or None.
    """

    roots: tuple[RootStatus, ...]
    running: bool
    watching: bool
    last_error: str | None

    @property
    def in_step(self) -> bool:
        """True if every file is stored as it is on the disk, and no chunk was altered in the vault."""
        return not any(root.drift or root.altered or root.missing or root.rebuilding for root in self.roots)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {**as_dict(self), "in_step": self.in_step}


def status_of(store: SqliteStore, now: float, *, watching: bool, last_error: str | None) -> SyncStatus:
    """Compare every root with the disk.

    Raises:
        StoreError: the vault cannot be read.
    """
    with store.reading() as read:
        running = is_running(read)
        known = [
            (row, files.of_root(read, row.root), files.count_chunks(read, row.root), files.device_of(read, row.root))
            for row in files.roots(read)
        ]
    roots = tuple(_root_status(*root, now) for root in known)
    return SyncStatus(roots=roots, running=running, watching=watching, last_error=last_error)


def _root_status(row: RootRow, stored: list[FileRow], chunks: int, device: int | None, now: float) -> RootStatus:
    followed = followed_of(row)
    seen = scan(followed.root)
    drift = drift_of(followed, stored, seen, why_unknown_of(followed, seen, device))
    sizes: Counter[str] = Counter()
    for file in stored:
        sizes[file.kind] += file.size
    missed = (entry for entry in seen.skipped if entry.reason != "unread")
    return RootStatus(
        name=row.name,
        path=row.path,
        options=json_of(row.options, dict),
        files=len(stored),
        chunks=chunks,
        bytes=dict(sizes),
        new=drift.new,
        changed=drift.changed,
        gone=drift.gone,
        pending=drift.pending,
        skipped=tuple(SkippedFile(path, reason, row.name) for path, reason, _ in missed),
        skipped_kinds=seen.others,
        problems=tuple(remarked(file.path, file.problem, row.name) for file in stored if file.problem is not None),
        missing=drift.why,
        rebuilding=followed.is_read_otherwise,
        synced_at=row.synced_at,
        age_s=None if row.synced_at is None else max(0.0, now - row.synced_at),
        problem=row.problem,
    )


def rehearse_roots(store: SqliteStore, request: SyncRequest, *, clock: Callable[[], float]) -> SyncReport:
    """Return the report of a sync without writing.

    Files are read, chunked and compared as in a sync; chunks are neither stored nor embedded.

    Raises:
        StoreError: the vault cannot be read.
    """
    started = time.perf_counter()
    tally = SyncTally()
    for followed in request.followed:
        _Rehearsal(store, request, followed, tally, clock).run()
    return tally.report([followed.name for followed in request.followed], time.perf_counter() - started, dry_run=True)


class _Rehearsal(Run):
    """The sync of one root that counts its writes instead of making them."""

    dry_run = True

    def __init__(
        self, store: SqliteStore, request: SyncRequest, followed: Followed, tally: SyncTally, clock: Callable[[], float]
    ) -> None:
        # Without taking the lease: other processes may sync at the same time.
        super().__init__(store, request, followed, tally, Lease(store), clock, lambda: None, None)
        #: Paths of changed files, which a rebuild need not count again.
        self._changed: set[str] = set()

    def _begin(self, whole: bool) -> bool:
        return whole and self._of.is_read_otherwise

    def _begin_identity(self) -> None:
        pass

    def _erase(self, missing: Sequence[FileRow]) -> None:
        with self._store.reading() as read:
            chunks = files.chunks_of(read, [row.id for row in missing])
        self._tally.add("files_removed", len(missing))
        self._tally.add("chunks_removed", sum(map(len, chunks.values())))

    def _touch(self, rows: Sequence[FileRow]) -> None:
        pass

    def _store_plans(self, plans: Sequence[FilePlan]) -> None:
        for plan in plans:
            self._tally.add_plan(plan)
            self._changed.add(plan.after.path)

    def _read_otherwise(self, present: Sequence[RootFile], look_s: float) -> bool:
        there: Mapping[str, RootFile] = {file.path: file for file in present}
        with self._store.reading() as read:
            rows = files.of_root(read, self._of.number)
        tasks = [
            Task(there[row.path], row, rebuild=True)
            for row in rows
            if row.path in there and row.path not in self._changed
        ]
        self._read_and_store(tasks)
        self._tally.add("files_staged", len(tasks) - self._left)
        self._whole = not self._left
        if self._whole:
            self._tally.reindexed.append(self._of.name)
        return False

    def _note(self, *, whole: bool) -> None:
        pass
