"""Files and processes of Linux and macOS. `septet.system.windows` has the same names, and `septet.system.host` chooses.

Searches load it: nothing large is imported here.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import IO, TYPE_CHECKING

assert sys.platform != "win32"

if TYPE_CHECKING:
    from socket import socket

#: True if a file can be replaced or removed while programs have it open, which keep the old one.
REPLACES_OPEN_FILES = True
#: Flags to open a file for reading, if it exists, without waiting for the other end of a pipe.
READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK
#: Flags to open a folder on the way to a file.
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


def holders(path: object) -> str:
    """Return the commands that list the programs that have a file open."""
    return f"`fuser {path}` or `lsof {path}` lists them"


def native(path: str) -> str:
    """Return a path with forward slashes as the system writes it."""
    return path


def slashed(path: str) -> str:
    """Return a path of the system with forward slashes."""
    return path


def relative(path: str, folder: str) -> str:
    """Return a path relative to a folder, with forward slashes."""
    return os.path.relpath(path, folder)


def sqlite_uri(path: str) -> str:
    """Return the URI of an absolute path for SQLite, without parameters."""
    escaped = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file://{escaped}"


def is_remote(path: str | os.PathLike[str]) -> bool:
    """Return False: `septet.system.filesystem` reads the table of mounts instead."""
    return False


def is_link(path: str) -> bool:
    """Return True for a symbolic link."""
    return os.path.islink(path)


def open_unlinked(path: str, flags: int, mode: int = 0o600) -> int:
    """Return the descriptor of a file; refuse a symbolic link (`OSError`)."""
    return os.open(path, flags | os.O_NOFOLLOW, mode)


def open_below(path: str) -> int:
    """Return the descriptor of a file for reading, of whose path no part is a link (`OSError`)."""
    flags = READ_FLAGS | os.O_NOFOLLOW
    if os.open not in os.supports_dir_fd or not path.startswith("/"):
        return os.open(path, flags)
    *above, name = path.split("/")[1:]
    folder = os.open("/", _STEP)
    try:
        for part in above:
            below = os.open(part, _STEP, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(name, flags, dir_fd=folder)
    finally:
        os.close(folder)


def lock_file(descriptor: int, *, wait: bool = False) -> bool:
    """Lock a file until it is closed, or its process ends; return False if another holds it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_bytes(file: IO[bytes], start: int, count: int) -> None:
    """Lock bytes of a file until it is closed, as SQLite locks them (`OSError` if another process holds one)."""
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, count, start)


def data_folder() -> str:
    """Return the folder of a user's data: ``$XDG_DATA_HOME/septet``; a relative path in it is ignored."""
    named = os.environ.get("XDG_DATA_HOME", "")
    return f"{named if os.path.isabs(named) else os.path.expanduser('~/.local/share')}/septet"


def runtime_folder() -> str | None:
    """Return the folder for sockets of the user: below ``$XDG_RUNTIME_DIR``, else below that for temporary files."""
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(named) and os.path.isdir(named):
        return f"{named}/septet"
    return f"{os.environ.get('TMPDIR', '').rstrip('/') or '/tmp'}/septet-{os.getuid()}"


def user_socket() -> socket:
    """Return a new socket for a path, which the modes of its folder protect."""
    from socket import AF_UNIX, SOCK_STREAM, socket

    return socket(AF_UNIX, SOCK_STREAM)


def is_private(folder: str) -> bool:
    """Return True for a folder, not a link, of this user that no other user can enter."""
    try:
        about = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077


def set_mode(descriptor: int, mode: int) -> None:
    """Set who may read and write an open file."""
    os.fchmod(descriptor, mode)


def others_read(path: str | os.PathLike[str]) -> bool:
    """Return True if a file's mode lets other users read or write it."""
    return bool(os.stat(path).st_mode & 0o077)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Sync the directory entries of a folder to disk, if the system supports it."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Rename a file to the name of another, which is replaced at once (`OSError`)."""
    os.replace(source, target)


def remove(path: str | os.PathLike[str]) -> None:
    """Remove a file, if it exists (`OSError`)."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def erase(path: str | os.PathLike[str]) -> None:
    """Remove a file for good, if it exists (`OSError`)."""
    remove(path)


def free_bytes(folder: str) -> int:
    """Return the free space of a disk in bytes (`OSError`)."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def most_file_bytes() -> int | None:
    """Return the largest size of a file that this process may write; None without a limit."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def most_connections() -> int | None:
    """Return the number of connections of a server: half of the files that a process may open; None without limit."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return None if limit == resource.RLIM_INFINITY else limit // 2


def is_readable(socket: int) -> bool:
    """Return True if a socket has something to read, or its other end has closed it."""
    import select

    # `select` refuses descriptors from 1,024 on.
    waiting = select.poll()
    waiting.register(socket, select.POLLIN)
    return bool(waiting.poll(0))


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_forks(before: Callable[[], object], in_parent: Callable[[], object], in_child: Callable[[], object]) -> None:
    """Call functions around every fork."""
    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)


def is_running(pid: int) -> bool:
    """Return False if no process has an id; True if one has, or it cannot be found out."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # The process exists and belongs to another user.
        return True
    return True


def started(pid: int) -> str:
    """Return the start time of a process in the system's units; ``?`` if unknown."""
    try:
        # The name, in brackets, may contain anything; the start is the twentieth field after it.
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as status:
            return status.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "?"


@cache
def machine(_process: int) -> str:
    """Return the scope of process ids: the boot of the machine, and the container."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{boot.read().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return os.uname().nodename
