"""Which files of a vault the files on the disk are: changed, gone, renamed, or of an import."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from septet.files.paths import within
from septet.files.pending import inode_of
from septet.files.preparing import Task
from septet.files.steady import print_of, read_steadily
from septet.files.trees import UNKNOWN
from septet.sqlite.store.store import Store
from septet.sqlite.tables import files
from septet.sqlite.tables.files import FileRow

if TYPE_CHECKING:
    from septet.files.sources import Found, Skipped
    from septet.files.tracking import Followed

__all__ = ["adopted", "compared", "device_at", "moved_meanwhile", "near", "renamed", "surely_gone", "why_unknown"]

#: A file that changed so shortly before it was read may change again in the same tick of its file system's clock; a
#: clock that shows whole seconds may be one of two. Such a file is compared by its hash at the next sync.
NEAR_S, NEAR_COARSE_S = 0.05, 2.0


def compared(
    found: Iterable[Found], skipped: Iterable[Skipped], rows: Iterable[FileRow], *, anew: bool
) -> tuple[list[Task], list[FileRow], list[FileRow]]:
    """Return the files to be read, those that are as the vault has them, and those that are gone.

    Args:
        rows: what the vault has.
        anew: all are to be read, and made into chunks.
    """
    known = {row.path: row for row in rows}
    tasks, same = [], []
    for one in found:
        row = known.pop(one.path, None)
        if row is None or anew or row[5] != one.size or row[6] != one.mtime_ns or row.kind != one.kind or near(row):
            tasks.append(Task(one, row, anew or (row is not None and row.kind != one.kind)))
        else:
            same.append(row)
    kept = {one.path for one in skipped if one.reason in UNKNOWN}
    gone = [row for path, row in known.items() if not within(path, kept)]
    return tasks, same, gone


def near(row: FileRow) -> bool:
    """Say whether a file may have changed in the tick in which it was read."""
    window = NEAR_S if row.mtime_ns % 1_000_000_000 else NEAR_COARSE_S
    return bool(row.synced_at - window < row.mtime_ns / 1e9)


def why_unknown(path: str, device: int | None) -> str | None:
    """Return why nothing can be said of what a root holds; None if what is not there now is gone.

    Args:
        path: of the root.
        device: of the file system that it was on when it was last synced; None if that is not known.
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
        return "is empty, and on another file system than before: mount what it was on, or sync with force=True"
    return None


def device_at(path: str) -> int | None:
    """Return the number of the file system that a root is on; None if it is not there."""
    try:
        return os.stat(path).st_dev
    except OSError:
        return None


def renamed(tasks: Sequence[Task], gone: Sequence[FileRow]) -> tuple[list[Task], list[FileRow]]:
    """Give files that appeared the rows of files that vanished, where their bytes are the same; those come first.

    A transcript that was set aside under another name, and has one that is new in its place, takes its row too.
    """
    sizes = {row.size for row in gone if row.size}
    by_hash: dict[tuple[str, str | None], list[FileRow]] = {}
    for row in gone:
        by_hash.setdefault((row.kind, row.hash), []).append(row)
    moved: list[Task] = []
    others: list[Task] = []
    taken: set[int] = set()
    for task in tasks:
        if task.before is None and task.found.size in sizes:
            digest = _hash_of(task.found)
            if digest is None:
                # It may be any of them: the next sync can tell.
                taken.update(row.file for row in gone if row.size == task.found.size)
            rows = by_hash.get((task.found.kind, digest), [])
            if rows:
                name = task.found.path.rpartition("/")[2]
                row = min(rows, key=lambda one: (one.path.rpartition("/")[2] != name, one.path))
                rows.remove(row)
                taken.add(row.file)
                moved.append(task._replace(before=row))
                continue
        others.append(task)
    aside = _set_aside(others, [row for row in gone if row.file not in taken])
    taken.update(row.file for row in aside.values())
    moved += (task._replace(before=aside[task.found.path]) for task in others if task.found.path in aside)
    rest = [
        task._replace(before=None) if task.before is not None and task.before.file in taken else task
        for task in others
        if task.found.path not in aside
    ]
    return moved + rest, [row for row in gone if row.file not in taken]


def _set_aside(tasks: Sequence[Task], gone: Sequence[FileRow]) -> dict[str, FileRow]:
    """Return by path the files that transcripts were before they were set aside: the same on the disk, or grown."""
    new = [task.found for task in tasks if task.before is None and task.found.kind == "session"]
    rows = [*gone, *(task.before for task in tasks if task.before is not None)]
    if not new or not rows:
        return {}
    from septet.files.sessions import goes_on

    states = {inode: row for row in rows if row.kind == "session" and (inode := inode_of(row.state)) is not None}
    found: dict[str, FileRow] = {}
    for one in new:
        try:
            inode = os.stat(one.real).st_ino
            if inode in states and goes_on(one.real, states[inode].state):
                found[one.path] = states.pop(inode)
        except OSError:
            continue
    return found


def surely_gone(
    gone: Iterable[FileRow], lost: Iterable[FileRow], first: Iterable[Found], second: Iterable[Found]
) -> list[FileRow]:
    """Return those files that two looks at the disk have missed, and that cannot be what only the first of them saw.

    Args:
        gone: files that the second look has missed.
        lost: files that the first one has missed.
        first: what the first look found.
        second: what the second one found.
    """
    twice, there = {row.file for row in lost}, {one.path for one in second}
    passing = {one.size for one in first if one.path not in there}
    return [row for row in gone if row.file in twice and row.size not in passing]


def moved_meanwhile(
    new: Iterable[Found], rows: Sequence[FileRow], found: Iterable[Found], skipped: Iterable[Skipped]
) -> list[Found]:
    """Return new files that may be known ones, which were moved while the folders were read and so were seen twice.

    Such a known file was listed at its old path, or vanished from it just then, and is not there now; a new one has its
    kind, size and time. If that were stored as a new file, the ids of the known one would go with the old path.

    Args:
        new: files that a look at the disk found, and the vault does not know.
        rows: what the vault knows.
        found: what that look found.
        skipped: what it left out.
    """
    apart: dict[tuple[str, int, int], list[Found]] = {}
    for one in new if rows else ():
        apart.setdefault((one.kind, one.size, one.mtime_ns), []).append(one)
    alike = [row for row in rows if (row.kind, row.size, row.mtime_ns) in apart] if apart else []
    if not alike:
        return []
    paths = {row.path for row in alike}
    away = {one.path for one in found if one.path in paths and not os.path.lexists(one.real)}
    vanished = {one.path for one in skipped if one.reason == "vanished"}
    away |= {path for path in paths if within(path, vanished)}
    keys = {(row.kind, row.size, row.mtime_ns) for row in alike if row.path in away}
    return [one for key in keys for one in apart[key]]


def _hash_of(found: Found) -> str | None:
    if found.kind == "session":
        seen = print_of(found.real)
        return None if isinstance(seen, str) else seen.digest
    read = read_steadily(found.real)
    return None if isinstance(read, str) else sha256(read.data).hexdigest()


def adopted(store: Store, of: Followed, found: Iterable[Found], *, dry_run: bool = False) -> list[FileRow]:
    """Make files of chunks that an import brought, where the file is on the disk, and return them: to be read anew.

    Chunks of files that are not on this disk stay as they came. In a dry run the files are stored nowhere.
    """
    with store.reading() as read:
        owners = files.owners_of(read, of.name)
    there = {one.path: one for one in found if one.path in owners}
    if not there:
        return []
    made = {
        path: FileRow(0, owners[path], of.number, path, one.kind, files.UNREAD, 0, "", "{}", 0.0, None)
        for path, one in there.items()
    }
    if dry_run:
        return [row._replace(file=-at) for at, row in enumerate(made.values(), 1)]
    with store.bookkeeping() as write:
        if not files.has_root(write, of.number):
            return []
        for path in made.keys() - files.at(write, of.number, list(there)).keys():
            files.put(write, made[path])
        return list(files.at(write, of.number, list(there)).values())
