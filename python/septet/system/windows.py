"""Files and processes of Windows. `septet.system.unix` has the same names, and `septet.system.host` chooses.

Searches load it: nothing large is imported here.
"""

from __future__ import annotations

import errno
import gc
import msvcrt
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import IO, TYPE_CHECKING, Any

assert sys.platform == "win32"

if TYPE_CHECKING:
    from socket import socket

#: False, as a file that a program has open is neither replaced nor removed, unless it was opened for that.
REPLACES_OPEN_FILES = False
#: Flags to open a file for reading, if it exists.
READ_FLAGS = os.O_RDONLY | os.O_BINARY | os.O_NOINHERIT
#: A byte that marks a file as locked. Locks keep others from reading what is locked; on this page SQLite has its own
#: locks, and no content.
_LOCK_AT = 0x40000000 + 1_024
#: Time between two attempts to take a lock, in seconds.
_WAIT_S = 1 / 100
#: Maximum wait for a program that has a file open for a moment, such as a virus scanner, in seconds.
_PATIENCE_S = 1.0
#: Ending of a file that was renamed, as a program had it open, and is removed later.
_OLD = ".septet-old"
#: Windows's errors for a file that another program has open.
_IN_USE = frozenset({5, 32, 33, 1224})


def holders(path: object) -> str:
    """Return the program that lists the programs that have a file open."""
    return "the Resource Monitor (resmon, CPU, Associated Handles) lists them"


def native(path: str) -> str:
    """Return a path with forward slashes as the system writes it."""
    return path.replace("/", "\\")


def slashed(path: str) -> str:
    """Return a path of the system with forward slashes."""
    return path.replace("\\", "/")


def relative(path: str, folder: str) -> str:
    """Return a path relative to a folder, with forward slashes; on another drive, the path itself."""
    try:
        return slashed(os.path.relpath(path, folder))
    except ValueError:
        return slashed(path)


def sqlite_uri(path: str) -> str:
    """Return the URI of an absolute path for SQLite, without parameters."""
    escaped = slashed(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    # Two more slashes make `//server/share` the path, not a host, which SQLite refuses.
    return f"file:///{escaped}" if escaped[1:2] == ":" else f"file://{escaped}"


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return True for a path on another machine: a share, or a drive that stands for one."""
    try:
        resolved = os.path.realpath(path)
    except (OSError, ValueError):
        return False
    drive = os.path.splitdrive(resolved)[0]
    if drive.startswith(("\\\\", "//")):
        return True
    return bool(drive) and _kernel().GetDriveTypeW(f"{drive}\\") == 4


def is_link(path: str) -> bool:
    """Return True for a symbolic link or a junction."""
    try:
        about = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISLNK(about.st_mode) or about.st_reparse_tag == stat.IO_REPARSE_TAG_MOUNT_POINT


def open_unlinked(path: str, flags: int, mode: int = 0o600) -> int:
    """Return the descriptor of a file; refuse a symbolic link (`OSError`)."""
    if is_link(path):
        raise OSError(errno.ELOOP, "it is a link", path)
    return os.open(path, flags | os.O_BINARY | os.O_NOINHERIT, mode)


def open_below(path: str) -> int:
    """Return the descriptor of a file for reading, of whose path no part is a link (`OSError`)."""
    descriptor = os.open(path, READ_FLAGS)
    # No folder is opened on the way, so the path is looked at again.
    if os.path.normcase(os.path.realpath(path)) != os.path.normcase(path):
        os.close(descriptor)
        raise OSError(errno.ELOOP, "a part of its path is a link", path)
    return descriptor


def lock_file(descriptor: int, *, wait: bool = False) -> bool:
    """Lock a file until it is closed, or its process ends; return False if another holds it."""
    at = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        while True:
            os.lseek(descriptor, _LOCK_AT, os.SEEK_SET)
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
                return True
            except OSError:
                if not wait:
                    return False
            time.sleep(_WAIT_S)
    finally:
        os.lseek(descriptor, at, os.SEEK_SET)


def lock_bytes(file: IO[bytes], start: int, count: int) -> None:
    """Lock bytes of a file until it is closed, as SQLite locks them (`OSError` if another process holds one)."""
    os.lseek(file.fileno(), start, os.SEEK_SET)
    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, count)


def data_folder() -> str:
    """Return the folder of a user's data: ``%LOCALAPPDATA%\\septet``, or below an absolute `XDG_DATA_HOME`."""
    names = (os.environ.get(variable, "") for variable in ("XDG_DATA_HOME", "LOCALAPPDATA"))
    base = next(filter(os.path.isabs, names), os.path.join(os.path.expanduser("~"), "AppData", "Local"))
    return os.path.join(base, "septet")


def runtime_folder() -> str | None:
    """Return None: Python has no sockets of a user here."""
    return None


def user_socket() -> socket:
    """Raise `OSError`: Python has no sockets of a user here."""
    raise OSError("sockets have no paths on this system")


def is_private(folder: str) -> bool:
    """Return False: no folder is for sockets."""
    return False


def set_mode(descriptor: int, mode: int) -> None:
    """Do nothing: who may read a new file is decided by its folder."""


def others_read(path: str | os.PathLike[str]) -> bool:
    """Return False: a file of a user's own folders has their permissions, which modes do not tell."""
    return False


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Do nothing: the file system keeps a log of its entries."""


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file to the name of another (`OSError`).

    A target that cannot be replaced, as this or another process has it mapped, is renamed before. For that moment no
    file has its name.
    """
    try:
        _patiently(lambda: os.replace(source, target))
    except PermissionError:
        if not os.path.isfile(target):
            raise
        # An interrupted call may have left the target open in a reference cycle.
        gc.collect()
        aside = f"{os.fspath(target)}.{os.urandom(4).hex()}{_OLD}"
        os.replace(target, aside)
        try:
            os.replace(source, target)
        except BaseException:
            os.replace(aside, target)
            raise
    _sweep(target)


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a file, if it exists and no process has it open; one that stays is removed later (`OSError`)."""
    try:
        _unlink(path)
    except OSError as fault:
        if fault.winerror not in _IN_USE:
            raise


def erase(path: str | os.PathLike[str]) -> None:
    """Remove a file for good, if it exists (`OSError`, too, if a process has it open)."""
    _patiently(lambda: _unlink(path))


def _unlink(path: str | os.PathLike[str]) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _patiently(step: Callable[[], None]) -> None:
    """Repeat a step that fails as another program has the file open, for a moment."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return step()
        except PermissionError:
            if time.monotonic() > until:
                raise
        time.sleep(_WAIT_S)


def _sweep(target: str | os.PathLike[str]) -> None:
    """Remove files renamed by `replace` that no process has open any more."""
    folder, name = os.path.split(os.fspath(target))
    with suppress(OSError), os.scandir(folder or ".") as entries:
        for old in [e.path for e in entries if e.name.startswith(f"{name}.") and e.name.endswith(_OLD)]:
            with suppress(OSError):
                os.unlink(old)


def free_bytes(folder: str) -> int:
    """Return the free space of a disk in bytes (`OSError`)."""
    import shutil

    return shutil.disk_usage(folder).free


def most_file_bytes() -> int | None:
    """Return None: a process has no limit on the size of files."""
    return None


def most_connections() -> int | None:
    """Return the number of connections of a server, which waits for them by `select`: that takes 512 sockets."""
    return 500


def is_readable(socket: int) -> bool:
    """Return True if a socket has something to read, or its other end has closed it."""
    import select

    return bool(select.select([socket], [], [], 0)[0])


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    count = getattr(os, "process_cpu_count", os.cpu_count)()
    return count or 1


def at_forks(before: Callable[[], object], in_parent: Callable[[], object], in_child: Callable[[], object]) -> None:
    """Do nothing: processes are not forked."""


def is_running(pid: int) -> bool:
    """Return False if no process has an id; True if one has, or it cannot be found out."""
    return _times(pid) is not None


def started(pid: int) -> str:
    """Return the start time of a process in the system's units; ``?`` if unknown."""
    return _times(pid) or "?"


@cache
def machine(_process: int) -> str:
    """Return the scope of process ids: the machine."""
    return os.environ.get("COMPUTERNAME") or "windows"


def _times(pid: int) -> str | None:
    """Return the start time of a process; None if there is none, and empty if it is unknown."""
    import ctypes
    from ctypes import wintypes

    kernel = _kernel()
    kernel.OpenProcess.restype = wintypes.HANDLE
    # PROCESS_QUERY_LIMITED_INFORMATION
    handle = kernel.OpenProcess(0x1000, False, wintypes.DWORD(pid & 0xFFFFFFFF))
    if not handle:
        # ERROR_INVALID_PARAMETER: no process has the id.
        return None if ctypes.get_last_error() == 87 else ""
    try:
        created, ended, kernel_time, user_time = (wintypes.FILETIME() for _ in range(4))
        known = kernel.GetProcessTimes(
            wintypes.HANDLE(handle), *map(ctypes.byref, (created, ended, kernel_time, user_time))
        )
        # The id of an ended process is in use as long as a handle of it is open.
        if known and (ended.dwLowDateTime or ended.dwHighDateTime):
            return None
        return str(created.dwHighDateTime << 32 | created.dwLowDateTime) if known else ""
    finally:
        kernel.CloseHandle(wintypes.HANDLE(handle))


@cache
def _kernel() -> Any:
    import ctypes

    return ctypes.WinDLL("kernel32", use_last_error=True)
