"""Reading a file as it was at one moment."""

from __future__ import annotations

import codecs
import os
import stat
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple, cast

__all__ = ["Print", "ReadBytes", "decoded", "mtime_ns_of", "open_file", "print_of", "read_steadily"]

#: A file that is written all the time is left to the next sync after so many attempts.
ATTEMPTS = 3
#: Bytes of a text, which is read as a whole; reading takes about four times as much memory.
MOST_FILE_BYTES = 256 << 20
#: So many bytes at both ends of a transcript tell it from others: it may be large, and grows at its end.
ENDS = 4096


class ReadBytes(NamedTuple):
    """What a file held, and its size and time of change then."""

    data: bytes
    size: int
    mtime_ns: int


#: Marks at the beginning of texts that are not UTF-8, the longer ones first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MOST_NS = 2**63 - 1


#: Opens a folder only to go on from it.
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


def open_file(path: str | os.PathLike[str], buffering: int = 0) -> BinaryIO:
    """Open a file by its real path for reading.

    Between a look at a folder and this, the file, or a folder above it, may have become a link, which is not followed,
    or the file a pipe, which is not waited for.

    Raises:
        OSError: it is no regular file, or cannot be read.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    file: Any = open(_opened(os.fspath(path), flags), "rb", buffering)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is no regular file")
    return cast(BinaryIO, file)


def _opened(path: str, flags: int) -> int:
    """Return the descriptor of a file, opened step by step, so that no part of its path is a link."""
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


def mtime_ns_of(about: os.stat_result) -> int:
    """Return when a file was changed, nanoseconds since 1970; times past year 2262 are the last there is."""
    return max(-_MOST_NS - 1, min(about.st_mtime_ns, _MOST_NS))


def read_steadily(path: str) -> ReadBytes | str:
    """Return what a file holds, or why that is not known: ``vanished``, ``unreadable``, ``changing``, or its size.

    Size and time of change are compared before and after. A change in the same tick of the file system's clock that
    leaves the size is not seen here, but by the next sync (`matching.NEAR_S`).
    """
    for _ in range(ATTEMPTS):
        try:
            with open_file(path) as file:
                before = os.fstat(file.fileno())
                if before.st_size > MOST_FILE_BYTES:
                    return f"larger than {MOST_FILE_BYTES >> 20} MiB: split it, or exclude it"
                data = file.read(before.st_size + 1) if before.st_size else file.read()
                while len(data) < before.st_size and (more := file.read(before.st_size - len(data))):
                    data += more
                after = os.stat(path)
        except FileNotFoundError:
            return "vanished"
        except OSError:
            return "unreadable"
        same = before.st_size == after.st_size == len(data) and before.st_mtime_ns == after.st_mtime_ns
        if same and before.st_ino == after.st_ino:
            return ReadBytes(data, after.st_size, mtime_ns_of(after))
    return "changing"


class Print(NamedTuple):
    """What tells a transcript from others without reading it all: a digest of its size and its ends."""

    digest: str
    size: int
    mtime_ns: int


def print_of(path: str) -> Print | str:
    """Return what tells a transcript from others, or why it cannot be read: ``vanished``, ``unreadable``."""
    try:
        with open_file(path) as file:
            found = os.fstat(file.fileno())
            head = file.read(ENDS)
            file.seek(max(0, found.st_size - ENDS))
            digest = sha256(b"%d\n" % found.st_size + head + b"\n" + file.read(ENDS)).hexdigest()
    except FileNotFoundError:
        return "vanished"
    except OSError:
        return "unreadable"
    return Print(digest, found.st_size, mtime_ns_of(found))


def decoded(data: bytes) -> tuple[str, str | None]:
    """Return a text, with U+FFFD for what is not UTF-8, and what there is to say of that.

    A mark at its beginning may say that it is UTF-16 or UTF-32.
    """
    for mark, codec in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(codec), None
            except UnicodeDecodeError:
                break
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as fault:
        said = f"not UTF-8 from byte {fault.start:,} on: what cannot be read stands as U+FFFD"
        return data.decode("utf-8-sig", "replace"), said
