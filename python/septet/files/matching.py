"""Match files on the disk to files of a vault: unchanged, changed, gone, renamed, imported, or a growing session."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import StoreError
from septet.files.preparing import Task
from septet.files.roots import UNKNOWN, within
from septet.files.steady import open_file, print_of, read_steadily
from septet.model.entry import json_of
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow

if TYPE_CHECKING:
    from septet.files.sources import RootFile, Skipped
    from septet.files.tracking import Followed

#: A file read this soon after its change may change again within the same clock tick of its file system; clocks in
#: whole seconds have ticks of up to two. Such a file is compared by hash at the next sync.
NEAR_S, NEAR_COARSE_S = 0.05, 2.0
#: Minimum new bytes, or lines, of a session for an automatic sync.
DELTA_BYTES = 100_000
DELTA_MESSAGES = 50


def compared(
    present: Iterable[RootFile], skipped: Iterable[Skipped], rows: Iterable[FileRow], *, reread: bool
) -> tuple[list[Task], list[FileRow], list[FileRow]]:
    """Return the files to read (all of them with ``reread``), the unchanged ones and the missing ones."""
    known = {row.path: row for row in rows}
    tasks, same = [], []
    for file in present:
        row = known.pop(file.path, None)
        other_kind = row is not None and row.kind != file.kind
        if row is None or reread or other_kind or (row.size, row.mtime_ns) != (file.size, file.mtime_ns):
            tasks.append(Task(file, row, reread or other_kind))
        # `near`, without a call for a file that is old.
        elif row.synced_at - NEAR_COARSE_S < row.mtime_ns / 1e9 and near(row):
            tasks.append(Task(file, row, False))
        else:
            same.append(row)
    if not known:
        return tasks, same, []
    unknown = {file.path for file in skipped if file.reason in UNKNOWN}
    return tasks, same, [row for path, row in known.items() if not within(path, unknown)]


def near(row: FileRow) -> bool:
    """Return True if a file may have changed in the clock tick in which it was read."""
    window = NEAR_S if row.mtime_ns % 1_000_000_000 else NEAR_COARSE_S
    return bool(row.synced_at - window < row.mtime_ns / 1e9)


def why_unknown(path: str, device: int | None) -> str | None:
    """Return why the files of a root cannot be compared; None if missing files are deleted.

    Args:
        device: device of its file system at the last sync; None if unknown.
    """
    try:
        about = os.stat(path)
        if not stat.S_ISDIR(about.st_mode):
            return None
        with os.scandir(path) as inside:
            is_empty = next(inside, None) is None
    except (FileNotFoundError, NotADirectoryError):
        return "is not there"
    except OSError as fault:
        return f"cannot be read ({fault.strerror or fault})"
    if is_empty and device is not None and about.st_dev != device:
        return "is empty, and on another file system than before: mount the old one, or sync with force=True"
    return None


def renamed(tasks: Sequence[Task], missing: Sequence[FileRow]) -> tuple[list[Task], list[FileRow]]:
    """Match new files to missing ones with the same bytes, and return the tasks (renamed first) and the files gone.

    A transcript set aside under another name, with a new one in its place, keeps its row too.
    """
    sizes = {row.size for row in missing if row.size}
    by_hash: dict[tuple[str, str | None], list[FileRow]] = {}
    for row in missing:
        by_hash.setdefault((row.kind, row.hash), []).append(row)
    moved: list[Task] = []
    others: list[Task] = []
    matched: set[int] = set()
    for task in tasks:
        if task.before is None and task.file.size in sizes:
            seen = (print_of if task.file.kind == "session" else read_steadily)(task.file.real)
            digest = None if isinstance(seen, str) else seen.digest
            if digest is None:
                # Unreadable: it may be any of these, so decide at the next sync.
                matched.update(row.file for row in missing if row.size == task.file.size)
            rows = by_hash.get((task.file.kind, digest), [])
            if rows:
                name = task.file.path.rpartition("/")[2]
                row = min(rows, key=lambda old: (old.path.rpartition("/")[2] != name, old.path))
                rows.remove(row)
                matched.add(row.file)
                moved.append(task._replace(before=row))
                continue
        others.append(task)
    set_aside = _set_aside(others, [row for row in missing if row.file not in matched])
    matched.update(row.file for row in set_aside.values())
    moved += (task._replace(before=set_aside[task.file.path]) for task in others if task.file.path in set_aside)
    rest = [
        task._replace(before=None) if task.before is not None and task.before.file in matched else task
        for task in others
        if task.file.path not in set_aside
    ]
    return moved + rest, [row for row in missing if row.file not in matched]


def _set_aside(tasks: Sequence[Task], missing: Sequence[FileRow]) -> dict[str, FileRow]:
    """Return the rows of transcripts set aside, by new path: the same inode, with the same beginning."""
    new = [task.file for task in tasks if task.before is None and task.file.kind == "session"]
    rows = [*missing, *(task.before for task in tasks if task.before is not None)]
    if not new or not rows:
        return {}
    from septet.files.sessions import goes_on

    states = {inode: row for row in rows if row.kind == "session" and (inode := _number(row.state, "inode"))}
    matches: dict[str, FileRow] = {}
    for file in new:
        try:
            inode = os.stat(file.real).st_ino
            if inode in states and goes_on(file.real, states[inode].state):
                matches[file.path] = states.pop(inode)
        except OSError:
            continue
    return matches


def moved_meanwhile(
    new: Iterable[RootFile], rows: Sequence[FileRow], present: Iterable[RootFile], skipped: Iterable[Skipped]
) -> list[RootFile]:
    """Return new files that may be known ones, moved during the scan and so listed twice.

    Such a known file was listed at its old path, or vanished from it during the scan, and is missing now; the new one
    has its kind, size and time. Stored as a new file, it would lose the ids of the known one.
    """
    apart: dict[tuple[str, int, int], list[RootFile]] = {}
    for file in new if rows else ():
        apart.setdefault((file.kind, file.size, file.mtime_ns), []).append(file)
    alike = [row for row in rows if (row.kind, row.size, row.mtime_ns) in apart] if apart else []
    if not alike:
        return []
    paths = {row.path for row in alike}
    away = {file.path for file in present if file.path in paths and not os.path.lexists(file.real)}
    vanished = {file.path for file in skipped if file.reason == "vanished"}
    away |= {path for path in paths if within(path, vanished)}
    keys = {(row.kind, row.size, row.mtime_ns) for row in alike if row.path in away}
    return [file for key in keys for file in apart[key]]


def adopted(store: SqliteStore, of: Followed, present: Iterable[RootFile], *, dry_run: bool = False) -> list[FileRow]:
    """Create files for imported chunks whose file is on the disk, and return them; the sync reads them again.

    Imported chunks of other files stay as they are. A dry run stores nothing.
    """
    with store.reading() as read:
        owners = files.owners_of(read, of.name)
    on_disk = {file.path: file for file in present if file.path in owners}
    if not on_disk:
        return []
    adoptable = {
        path: FileRow(0, owners[path], of.number, path, file.kind, files.UNREAD, 0, "", "{}", 0.0, None)
        for path, file in on_disk.items()
    }
    if dry_run:
        return [row._replace(file=-number) for number, row in enumerate(adoptable.values(), 1)]
    with store.bookkeeping() as write:
        if not files.has_root(write, of.number):
            return []
        for path in adoptable.keys() - files.at(write, of.number, list(on_disk)).keys():
            files.put(write, adoptable[path])
        return list(files.at(write, of.number, list(on_disk)).values())


class SessionPending(NamedTuple):
    """New bytes and lines (about one per message) of a session since its last sync."""

    bytes: int
    messages: int


def pending_of(file: RootFile, state: str | None, *, most_bytes: int = DELTA_BYTES) -> SessionPending:
    """Return the new part of a session since a state; lines are counted in its first ``most_bytes``.

    Raises:
        OSError: the file cannot be read.
    """
    before = _number(state, "offset")
    with open_file(file.real) as opened:
        size = os.fstat(opened.fileno()).st_size
        offset = before if before <= size else 0
        if size == offset:
            return SessionPending(0, 0)
        opened.seek(offset)
        return SessionPending(size - offset, opened.read(most_bytes).count(b"\n"))


def is_due(pending: SessionPending, *, delta_bytes: int = DELTA_BYTES, delta_messages: int = DELTA_MESSAGES) -> bool:
    """Return True if enough of a session is new for an automatic sync.

    With 0 ``delta_bytes`` any new byte is enough; with 0 ``delta_messages`` only bytes count.
    """
    return pending.bytes > 0 and (pending.bytes >= delta_bytes or 0 < delta_messages <= pending.messages)


def _number(state: str | None, name: str) -> int:
    try:
        value = json_of(state or "{}", dict).get(name, 0)
    except StoreError:
        return 0
    return value if isinstance(value, int) else 0
