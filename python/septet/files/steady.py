"""Reading a file as it was at one moment."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import NamedTuple

__all__ = ["Print", "ReadBytes", "decoded", "print_of", "read_steadily"]

#: A file that is written all the time is left to the next sync after so many attempts.
ATTEMPTS = 3
#: So many bytes at both ends of a transcript tell it from others: it may be large, and grows at its end.
ENDS = 4096


class ReadBytes(NamedTuple):
    """What a file held, and its size and time of change then."""

    data: bytes
    size: int
    mtime_ns: int


def read_steadily(path: str) -> ReadBytes | str:
    """Return what a file holds, or why that is not known: ``vanished``, ``unreadable``, ``changing``.

    Size and time of change are compared before and after. A change in the same tick of the file system's clock that
    leaves the size is not seen here, but by the next sync (`syncing.NEAR_S`).
    """
    for _ in range(ATTEMPTS):
        try:
            with open(path, "rb", buffering=0) as file:
                before = os.fstat(file.fileno())
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
            return ReadBytes(data, after.st_size, after.st_mtime_ns)
    return "changing"


class Print(NamedTuple):
    """What tells a transcript from others without reading it all: a digest of its size and its ends."""

    digest: str
    size: int
    mtime_ns: int


def print_of(path: str) -> Print | str:
    """Return what tells a transcript from others, or why it cannot be read: ``vanished``, ``unreadable``."""
    try:
        with open(path, "rb", buffering=0) as file:
            found = os.fstat(file.fileno())
            head = file.read(ENDS)
            file.seek(max(0, found.st_size - ENDS))
            digest = sha256(b"%d\n" % found.st_size + head + b"\n" + file.read(ENDS)).hexdigest()
    except FileNotFoundError:
        return "vanished"
    except OSError:
        return "unreadable"
    return Print(digest, found.st_size, found.st_mtime_ns)


def decoded(data: bytes) -> tuple[str, str | None]:
    """Return a text, with U+FFFD for what is not UTF-8, and what there is to say of that."""
    try:
        return data.decode("utf-8-sig"), None
    except UnicodeDecodeError as fault:
        said = f"not UTF-8 from byte {fault.start:,} on: what cannot be read stands as U+FFFD"
        return data.decode("utf-8-sig", "replace"), said
