"""How far a vault is in step with its folders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from septet.files.drift import drift_of, why_unknown_of
from septet.files.lease import is_running
from septet.files.report import PendingFile, SkippedFile, remarked
from septet.files.sources import scan
from septet.files.tracking import followed_of
from septet.sqlite.store.store import Store
from septet.sqlite.tables import files
from septet.sqlite.tables.altered import ALTERED
from septet.sqlite.tables.files import FileRow, RootRow

__all__ = ["RootStatus", "SyncStatus", "status_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RootStatus:
    """How far a vault is in step with one folder.

    Attributes:
        name: the ``source`` of its chunks.
        path: absolute, links resolved.
        files: how many are in the vault.
        chunks: how many they were made into.
        bytes: sizes of these files, by kind: ``text`` and ``session``.
        new: paths on the disk that the vault does not have.
        changed: paths whose size or time is another one.
        gone: paths that the vault has and the disk has not.
        pending: transcripts of which too little is new to be read without being asked for.
        skipped: what is on the disk and left out, with the reason: links, duplicates, what cannot be read.
        skipped_kinds: how many files are left out because of their ending alone, by ending, as in `SyncReport`.
        problems: files that are in the vault only in part, with the reason.
        missing: why nothing can be said of its files: it ``is not there``, cannot be read, or is empty and on another
            file system than before; they stay in the vault, and count as none of the above. None if it is well.
        rebuilding: its chunks are to be made in another way than they were, by the next sync of all of it.
        synced_at: when the last whole sync ended, epoch seconds; None if none did.
        age_s: seconds since then.
        problem: why the last sync of it failed; None if it did not.
    """

    name: str
    path: str
    files: int
    chunks: int
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
    synced_at: float | None
    age_s: float | None
    problem: str | None

    @property
    def drift(self) -> int:
        """How many files differ: new, changed and gone."""
        return len(self.new) + len(self.changed) + len(self.gone)

    @property
    def altered(self) -> tuple[str, ...]:
        """Paths of files whose chunks were changed or deleted in the vault, and not read again since."""
        return tuple(one.path for one in self.problems if ALTERED in one.reason)

    @property
    def pending_bytes(self) -> int:
        """How many bytes of transcripts wait to be read."""
        return sum(one.bytes for one in self.pending)

    @property
    def pending_messages(self) -> int:
        """How many lines of transcripts wait to be read."""
        return sum(one.messages for one in self.pending)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        for name in ("new", "changed", "gone"):
            values[name] = list(values[name])
        for name in ("pending", "skipped", "problems"):
            values[name] = [one._asdict() for one in values[name]]
        more: dict[str, Any] = {
            "drift": self.drift,
            "pending_bytes": self.pending_bytes,
            "pending_messages": self.pending_messages,
        }
        more["altered"] = list(self.altered)
        return {**values, "bytes": dict(self.bytes), "skipped_kinds": dict(self.skipped_kinds), **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """How far a vault is in step with its folders, as compared when it was asked.

    Attributes:
        roots: in the order in which they came.
        running: a sync of the vault runs, here or in another process.
        watching: a watcher of this object runs.
        last_error: why the last sync failed that nobody asked for: on search, or a watcher's; None if it did not.
    """

    roots: tuple[RootStatus, ...]
    running: bool
    watching: bool
    last_error: str | None

    @property
    def in_step(self) -> bool:
        """Whether the vault has every file as it is on the disk, and no chunk that says otherwise."""
        return not any(root.drift or root.altered or root.missing or root.rebuilding for root in self.roots)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-ready."""
        return {
            "roots": [root.to_dict() for root in self.roots],
            "running": self.running,
            "watching": self.watching,
            "last_error": self.last_error,
            "in_step": self.in_step,
        }


def status_of(store: Store, now: float, *, watching: bool, last_error: str | None) -> SyncStatus:
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
    roots = tuple(_root_status(*one, now) for one in known)
    return SyncStatus(roots=roots, running=running, watching=watching, last_error=last_error)


def _root_status(row: RootRow, held: list[FileRow], chunks: int, device: int | None, now: float) -> RootStatus:
    followed = followed_of(row)
    seen = scan(followed.root)
    drift = drift_of(followed, held, seen, why_unknown_of(followed, seen, device))
    sizes: Counter[str] = Counter()
    for file in held:
        sizes[file.kind] += file.size
    return RootStatus(
        name=row.name,
        path=row.path,
        files=len(held),
        chunks=chunks,
        bytes=dict(sizes),
        new=drift.new,
        changed=drift.changed,
        gone=drift.gone,
        pending=drift.pending,
        skipped=tuple(SkippedFile(one.path, one.reason, row.name) for one in seen.skipped if one.reason != "unread"),
        skipped_kinds=seen.others,
        problems=tuple(remarked(one.path, one.problem, row.name) for one in held if one.problem is not None),
        missing=drift.why,
        rebuilding=followed.is_read_otherwise,
        synced_at=row.synced_at,
        age_s=None if row.synced_at is None else max(0.0, now - row.synced_at),
        problem=row.problem,
    )
