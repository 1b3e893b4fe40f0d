"""Atomic writing of files, which refuses to overwrite a database in use."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from septet.errors import StoreError, printable
from septet.inputs.arguments import absolute
from septet.system.host import host

#: Suffixes of SQLite's files beside a database.
BESIDE = ("-wal", "-shm", "-journal")
#: Suffix of the folder with a vault's search index.
ARRAYS = ".septet"
_PART = re.compile(r"\.septet-[0-9a-f]{16}\.part")
#: Minimum age of an abandoned unfinished file.
LEFT_S = 3_600.0


class NewFile(NamedTuple):
    """A new, empty file with a random name.

    Attributes:
        path: in the folder of the target.
        descriptor: open for writing; closed automatically.
        file: the file object of the descriptor.
    """

    path: Path
    descriptor: int
    file: IO[bytes]

    def write(self, content: bytes) -> None:
        """Write bytes as a whole: on a full disk the system writes a part of them, which is no error to it.

        Raises:
            OSError: not all of them could be written.
        """
        with open(self.descriptor, "wb", closefd=False) as whole:
            whole.write(content)


@contextmanager
def complete_file(
    target: str | os.PathLike[str], *, of: str = "", cure: str = "name a file instead"
) -> Iterator[NewFile]:
    """Yield a file to write; at the end it is renamed to the target and gets its mode; on failure it is removed.

    A new target is readable by its owner only. A symbolic link is replaced, not followed.

    Args:
        of: the path of the source vault; empty without a file.
        cure: the remedy in the error for a target that is not a file.

    Raises:
        StoreError: the target is not a file, belongs to a vault or a database in use, or cannot be written.
    """
    if not os.fspath(target) or "\0" in os.fspath(target):
        raise StoreError(f"{target!r} is not a file name: {cure}")
    path = Path(absolute(os.fspath(target)))
    mode = checked_target(path, of, cure)
    try:
        with unfinished(path.parent) as part:
            yield part
            complete(part, mode)
            # Checked again: another program may have opened the target during the write.
            checked_target(path, of, cure)
            host.replace(part.path, path)
            host.sync_folder(path.parent)
    except OSError as fault:
        raise target_fault(path, fault.strerror or str(fault), fault.errno) from fault


@contextmanager
def unfinished(folder: Path) -> Iterator[NewFile]:
    """Yield a new file in a folder, which is removed at the end unless it was renamed."""
    # Exclusive, so that no file is overwritten, with a random name, so that no link can be placed there before.
    sweep(folder)
    part = folder / f".septet-{os.urandom(8).hex()}.part"
    ours = True
    # A file object, since closing it twice is safe: an interrupt may come before or after `os.close`.
    file: IO[bytes] | None = None
    try:
        try:
            file = open(part, "x+b", buffering=0, opener=host.open_unlinked)  # noqa: SIM115 - closed below
        except FileExistsError:
            ours = False
            raise
        _lock(file.fileno())
        yield NewFile(part, file.fileno(), file)
    finally:
        if file is not None:
            with suppress(OSError, ValueError):
                # Unless it was completed, and closed.
                ours = os.path.samestat(part.lstat(), os.fstat(file.fileno()))
            file.close()
        if ours:
            for ending in ("", *BESIDE):
                with suppress(OSError):
                    os.unlink(f"{part}{ending}")  # noqa: PTH108 - the path with an ending


def left_unfinished(folder: Path) -> list[Path]:
    """Return the unfinished files of killed processes in a folder: old and unlocked."""
    leftovers = []
    for file in [file for file in folder.iterdir() if _PART.fullmatch(file.name)]:
        with suppress(OSError):
            seen = file.lstat()
            if not stat.S_ISREG(seen.st_mode) or time.time() - seen.st_mtime < LEFT_S:
                continue
            # The kernel released the lock of a killed process.
            with open(file, "r+b", buffering=0, opener=host.open_unlinked) as opened:
                if _lock(opened.fileno()):
                    leftovers.append(file)
    return leftovers


def sweep(folder: Path) -> None:
    """Remove unfinished files of killed processes; ignore failures."""
    with suppress(OSError):
        for file in left_unfinished(folder):
            for ending in ("", *BESIDE):
                with suppress(OSError):
                    Path(f"{file}{ending}").unlink(missing_ok=True)


def _lock(descriptor: int) -> bool:
    """Lock a file until this process closes it; return True on success."""
    try:
        return host.lock_file(descriptor)
    except OSError:
        return False


def complete(part: NewFile, mode: int) -> None:
    """Set the mode of a written file, sync it to disk, and close it.

    Raises:
        StoreError: another file is at its path now.
    """
    if not os.path.samestat(part.path.lstat(), os.fstat(part.descriptor)):
        raise StoreError(f"{part.path} was replaced by another program during the write: try again")
    host.set_mode(part.descriptor, mode)
    os.fsync(part.descriptor)
    part.file.close()


def target_fault(path: str | os.PathLike[str], reason: str, number: int | None = None) -> StoreError:
    """Return the error for a file that cannot be written, naming its folder if that is the cause."""
    folder = Path(path).absolute().parent
    path, named = printable(path), printable(folder)
    if not folder.is_dir():
        return StoreError(f"{path} cannot be written: the folder {named} does not exist")
    if not os.access(folder, os.W_OK):
        return StoreError(f"{path} cannot be written: the folder {named} is not writable; name another")
    if "ulimit" in reason:
        return StoreError(f"{path} cannot be written ({reason}): raise that limit")
    if number in (errno.ENOSPC, getattr(errno, "EDQUOT", None), errno.EFBIG) or "full" in reason:
        return StoreError(f"{path} cannot be written ({reason}): free space in {named}, or name another place")
    return StoreError(f"{path} cannot be written ({reason}): check the folder {named}, or name another place")


def belongs(path: str | os.PathLike[str], vault: str | os.PathLike[str]) -> bool:
    """Return True if a path is a vault's file, its log, or in its index folder, by name or through links."""
    real, seen = Path(os.path.realpath(path)), _identity(path)
    for base in {os.path.abspath(vault), os.path.realpath(vault)}:  # noqa: PTH100 - no link is followed in one of them
        names = [Path(f"{base}{ending}") for ending in ("", *BESIDE)]
        arrays = Path(os.path.realpath(f"{base}{ARRAYS}"))
        if real == arrays or arrays in real.parents or any(real == Path(os.path.realpath(name)) for name in names):
            return True
        if seen is None:
            continue
        with suppress(OSError):
            names += arrays.iterdir()
        if any(seen == _identity(name) for name in names):
            return True
    return False


def checked_target(path: Path, of: str, cure: str) -> int:
    """Return the mode of a new file at an absolute path; errors and arguments as for `complete_file`."""
    try:
        if of and belongs(path, of):
            raise StoreError(f"{path} is the vault itself, or a part of it: name another file")
        _refuse_foreign(path)
        try:
            behind, there = path.stat(), path.lstat()
        except FileNotFoundError:
            return 0o600
    except OSError as fault:
        raise target_fault(path, fault.strerror or str(fault), fault.errno) from fault
    if not stat.S_ISREG(behind.st_mode):
        raise StoreError(f"{path} is {_kind(behind.st_mode)}, not a file: {cure}")
    return stat.S_IMODE(there.st_mode) & 0o777 if stat.S_ISREG(there.st_mode) else 0o600


def _refuse_foreign(path: Path) -> None:
    """Refuse a database in use, and files of another database."""
    real = os.path.realpath(path)
    for place in {str(path), real}:
        for ending in BESIDE:
            if os.path.lexists(f"{place}{ending}"):
                # SQLite would replay the old file's log over the new one.
                reason = f"{place}{ending} exists"
                raise StoreError(f"{path} is a database in use ({reason}): close it, or name another file")
            base = place.removesuffix(ending)
            if base != place and Path(base).is_file():
                raise StoreError(f"{path} is the log of {base}: name another file")
    for folder in Path(real).parents:
        base = str(folder).removesuffix(ARRAYS)
        if base != str(folder) and Path(base).is_file():
            raise StoreError(f"{path} is in the index folder of {base}: name another place")


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return device and inode of a file; None if it does not exist, or the file system has no inodes."""
    try:
        status = os.stat(path)  # noqa: PTH116 - any path
    except (OSError, ValueError):
        return None
    return (status.st_dev, status.st_ino) if status.st_ino else None


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
