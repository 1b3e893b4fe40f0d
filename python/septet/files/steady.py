"""Read files consistently: the content at one moment."""

from __future__ import annotations

import codecs
import os
import stat
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple, cast

from septet.system.host import host

#: Maximum attempts to read a file that is being written; then it is left to the next sync.
ATTEMPTS = 3
#: Maximum bytes of a text, which is read as a whole and takes about four times as much memory.
MOST_FILE_BYTES = 256 << 20
#: Bytes hashed at both ends of a transcript, which may be large and grows at its end.
ENDS = 4096


class ReadBytes(NamedTuple):
    """The content of a file with its size and modification time."""

    data: bytes
    size: int
    mtime_ns: int

    @property
    def digest(self) -> str:
        """SHA-256 of the content, hexadecimal."""
        return sha256(self.data).hexdigest()


#: Byte order marks other than UTF-8's, the longer ones first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MOST_NS = 2**63 - 1


def open_file(path: str | os.PathLike[str], buffering: int = 0) -> BinaryIO:
    """Open a file by its real path for reading.

    Since the scan the file, or a folder above it, may have been replaced by a link, which is not followed, or the file
    by a pipe, on which opening does not block.

    Raises:
        OSError: it is not a regular file, or cannot be read.
    """
    file: Any = open(host.open_below(os.fspath(path)), "rb", buffering)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path} is not a regular file")
    return cast(BinaryIO, file)


def mtime_ns_of(about: os.stat_result) -> int:
    """Return the modification time in nanoseconds since 1970, clamped to 64 bits (year 2262)."""
    return max(-_MOST_NS - 1, min(about.st_mtime_ns, _MOST_NS))


def read_steadily(path: str) -> ReadBytes | str:
    """Return the content of a file, or the reason: ``vanished``, ``unreadable``, ``changing``, or that it is too large.

    Size and modification time are compared before and after. A change of the same size within one clock tick is missed
    here and found by the next sync (`matching.NEAR_S`).
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


class Fingerprint(NamedTuple):
    """Identity of a transcript without reading all of it: a digest of its size and both ends."""

    digest: str
    size: int
    mtime_ns: int


def print_of(path: str) -> Fingerprint | str:
    """Return the fingerprint of a transcript, or why it cannot be read: ``vanished``, ``unreadable``."""
    try:
        with open_file(path) as file:
            about = os.fstat(file.fileno())
            head = file.read(ENDS)
            file.seek(max(0, about.st_size - ENDS))
            digest = sha256(b"%d\n" % about.st_size + head + b"\n" + file.read(ENDS)).hexdigest()
    except FileNotFoundError:
        return "vanished"
    except OSError:
        return "unreadable"
    return Fingerprint(digest, about.st_size, mtime_ns_of(about))


def decoded(data: bytes) -> tuple[str, str | None]:
    """Return a text, with U+FFFD for invalid UTF-8, and a remark about that or None.

    A byte order mark selects UTF-16 or UTF-32.
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
        return data.decode("utf-8-sig", "replace"), f"not UTF-8 from byte {fault.start:,} on: invalid bytes are U+FFFD"
