"""Writing a file that appears under its name when it is complete, and never over a database in use."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, NamedTuple

from septet.errors import StoreError
from septet.inputs.arguments import absolute, printable

__all__ = [
    "ARRAYS",
    "BESIDE",
    "Part",
    "belongs",
    "checked_target",
    "complete",
    "complete_file",
    "sync_folder",
    "target_fault",
    "unfinished",
]

#: What SQLite keeps beside a database.
BESIDE = ("-wal", "-shm", "-journal")
#: The folder of what searches need, beside a vault.
ARRAYS = ".septet"
_PART = re.compile(r"\.septet-[0-9a-f]{16}\.part")
#: An unfinished file that nobody wrote for so long was left behind.
LEFT_S = 3_600.0


class Part(NamedTuple):
    """A new, empty file that only this process knows.

    Attributes:
        path: in the folder of the target.
        descriptor: open for writing; it is closed for you.
        file: behind the descriptor.
    """

    path: Path
    descriptor: int
    file: IO[bytes]


@contextmanager
def complete_file(target: str | os.PathLike[str], *, of: str = "", cure: str = "name a file instead") -> Iterator[Part]:
    """Yield a file to write; it takes the target's name, and mode, at the end, and is removed on any failure.

    Without a file of that name before, only its owner may read it. A symbolic link is replaced, not followed.

    Args:
        of: the path of the vault that is written from; empty without a file.
        cure: what to do instead, for a target that is no file.

    Raises:
        StoreError: the target is no file, belongs to a vault or a database in use, or cannot be written.
    """
    if not os.fspath(target) or "\0" in os.fspath(target):
        raise StoreError(f"{target!r} is not a file name: {cure}")
    path = Path(absolute(os.fspath(target)))
    mode = checked_target(path, of, cure)
    try:
        with unfinished(path.parent) as part:
            yield part
            complete(part, mode)
            # Writing takes time, and another program may have begun to use a file of this name.
            checked_target(path, of, cure)
            part.path.replace(path)
            sync_folder(path.parent)
    except OSError as fault:
        raise target_fault(path, fault.strerror or str(fault), fault.errno) from fault


@contextmanager
def unfinished(folder: Path) -> Iterator[Part]:
    """Yield a new file in a folder, which is removed at the end unless it was renamed."""
    # New and exclusive, so that nobody's file is lost, under a name that nobody can know and put a link at.
    sweep(folder)
    part = folder / f".septet-{os.urandom(8).hex()}.part"
    ours = True
    # A file object, as closing it twice is fine: nobody knows whether an interrupt came before or behind `os.close`.
    made: IO[bytes] | None = None
    try:
        try:
            made = open(part, "x+b", buffering=0, opener=_unfollowed)  # noqa: SIM115 - closed below
        except FileExistsError:
            ours = False
            raise
        _lock(made.fileno())
        yield Part(part, made.fileno(), made)
    finally:
        if made is not None:
            with suppress(OSError, ValueError):
                # Unless it was completed, and closed.
                ours = os.path.samestat(part.lstat(), os.fstat(made.fileno()))
            made.close()
        if ours:
            for ending in ("", *BESIDE):
                with suppress(OSError):
                    os.unlink(f"{part}{ending}")  # noqa: PTH108 - the path with an ending


def _unfollowed(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def left_unfinished(folder: Path) -> list[Path]:
    """Return the files in a folder that processes left unfinished when they were killed: old ones, which nobody locks.

    Raises:
        OSError: the folder cannot be read.
    """
    found = []
    for file in [file for file in folder.iterdir() if _PART.fullmatch(file.name)]:
        with suppress(OSError):
            seen = file.lstat()
            if not stat.S_ISREG(seen.st_mode) or time.time() - seen.st_mtime < LEFT_S:
                continue
            # The lock died with its holder.
            with open(file, "r+b", buffering=0, opener=_unfollowed) as opened:
                if _lock(opened.fileno()):
                    found.append(file)
    return found


def sweep(folder: Path) -> None:
    """Remove such files; what cannot be removed stays."""
    with suppress(OSError):
        for file in left_unfinished(folder):
            for ending in ("", *BESIDE):
                with suppress(OSError):
                    Path(f"{file}{ending}").unlink(missing_ok=True)


def _lock(descriptor: int) -> bool:
    """Lock a file for as long as this process has it open, and say whether that succeeded."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def complete(part: Part, mode: int) -> None:
    """Give a file that was written its mode, have it survive a power failure, and close it.

    Raises:
        StoreError: another file lies there now.
        OSError: it cannot be written.
    """
    if not os.path.samestat(part.path.lstat(), os.fstat(part.descriptor)):
        raise StoreError(f"{part.path} was replaced by somebody while it was written: try again")
    os.fchmod(part.descriptor, mode)
    os.fsync(part.descriptor)
    part.file.close()


def target_fault(path: str | os.PathLike[str], reason: str, number: int | None = None) -> StoreError:
    """Return the error that a file cannot be written, which names its folder where that is at fault."""
    folder = Path(path).absolute().parent
    path, named = printable(path), printable(folder)
    if not folder.is_dir():
        return StoreError(f"{path} cannot be written: the folder {named} does not exist")
    if not os.access(folder, os.W_OK):
        return StoreError(f"{path} cannot be written: the folder {named} does not take writes; name another")
    if "ulimit" in reason:
        return StoreError(f"{path} cannot be written ({reason}): raise that limit")
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or "full" in reason:
        return StoreError(f"{path} cannot be written ({reason}): free space in {named}, or name another place")
    return StoreError(f"{path} cannot be written ({reason}): look after the folder {named}, or name another place")


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Have the names in a folder survive a power failure, where the system can do that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def belongs(path: str | os.PathLike[str], vault: str | os.PathLike[str]) -> bool:
    """Say whether a path is a vault's file, a log of it or in its folder of arrays, by name or as a link."""
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
    """Make sure that a target may be written over, and return the mode of the file that comes there.

    Args:
        path: absolute.
        of: the path of the vault that is written from; empty without a file.
        cure: what to do instead, for a target that is no file.

    Raises:
        StoreError: the target is no file, or belongs to a vault or a database in use.
    """
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
    """Refuse a database in use, and what belongs to another database."""
    real = os.path.realpath(path)
    for place in {str(path), real}:
        for ending in BESIDE:
            if os.path.lexists(f"{place}{ending}"):
                # SQLite would replay the old file's log over the new one.
                raise StoreError(
                    f"{path} is a database in use ({place}{ending} lies beside it): close it, or name another file"
                )
            base = place.removesuffix(ending)
            if base != place and Path(base).is_file():
                raise StoreError(f"{path} is the log of {base}: name another file")
    for folder in Path(real).parents:
        base = str(folder).removesuffix(ARRAYS)
        if base != str(folder) and Path(base).is_file():
            raise StoreError(f"{path} is in the folder of arrays of {base}: name another place")


def _identity(path: str | os.PathLike[str]) -> tuple[int, int] | None:
    """Return device and number of a file; None where there is none, or the system gives no numbers."""
    try:
        found = os.stat(path)  # noqa: PTH116 - any path
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if found.st_ino else None


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    return "a socket" if stat.S_ISSOCK(mode) else "a device"
