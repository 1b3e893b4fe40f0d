"""The files of hooks, in a folder of the user: failures, ids per session, transcripts to sync.

Each of them can be deleted at any time. Without a writable folder hooks answer all the same.
"""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from septet.errors import printable
from septet.system.host import host

if TYPE_CHECKING:
    from pathlib import Path

#: Maximum bytes of the log; at this size its older half is dropped.
MOST_LOG_BYTES = 64_000
#: Maximum characters of a message in the log.
MOST_MESSAGE = 300
#: Age at which the ids of a session are deleted, in seconds.
FORGOTTEN_S = 14 * 86_400.0
#: Beginning of the line of a compaction among the ids of a session.
_COMPACTED = "\tcompacted "
_UNSAFE = re.compile(r"[^0-9A-Za-z_-]+")


def folder() -> str:
    """Return the folder: ``hooks`` in the folder of the user's data."""
    return os.path.join(host.data_folder(), "hooks")


def log_path() -> str:
    """Return the log of failures."""
    return os.path.join(folder(), "failures.log")


def log_failure(place: str, fault: BaseException | str) -> None:
    """Append a line to the log: time, program and event, message. A log that cannot be written is no failure."""
    text = fault if isinstance(fault, str) else f"{type(fault).__name__}: {fault}"
    text = printable(" ".join(text.split()))[:MOST_MESSAGE]
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {place}: {text}\n".encode("utf-8", "replace")
    with suppress(OSError):
        path = log_path()
        _make_parent(path)
        if os.path.exists(path) and os.path.getsize(path) + len(line) > MOST_LOG_BYTES:
            _drop_half(path)
        append(path, line)


def last_failures(most: int) -> list[str]:
    """Return the last lines of the log, oldest first."""
    try:
        lines = _read(log_path()).splitlines()
    except OSError:
        return []
    return lines[-most:]


def append(path: str | Path, line: bytes) -> None:
    """Append to a private file in one write, so that lines of several processes do not mix (`OSError`)."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # On a full disk the system writes a part, which is no error to it; of the rest it is.
        while line:
            line = line[os.write(descriptor, line) :]
    finally:
        os.close(descriptor)


def replace(path: str | Path, content: bytes) -> None:
    """Write a private file as a whole, by renaming (`OSError`)."""
    _make_parent(path)
    place, name = os.path.split(path)
    part = os.path.join(place, f".{name}-{os.urandom(6).hex()}")
    try:
        append(part, content)
        os.replace(part, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)


def safe_name(text: str) -> str:
    """Return a text as the name of a file."""
    return _UNSAFE.sub("_", text)[-100:] or "_"


def known_ids(session_id: str) -> set[str]:
    """Return the versions of entries that were printed in a session."""
    with suppress(OSError):
        return set(_read(_ids_path(session_id)).splitlines()) if session_id else set()
    return set()


def add_ids(session_id: str, ids: list[str]) -> None:
    """Remember versions of entries as printed in a session; ignore failures."""
    if not session_id or not ids:
        return
    with suppress(OSError):
        path = _ids_path(session_id)
        _make_parent(path)
        append(path, "".join(f"{id}\n" for id in ids).encode("utf-8", "replace"))


def note_compaction(session_id: str) -> None:
    """Remember that the context of a session is compacted now; ignore failures."""
    add_ids(session_id, [f"{_COMPACTED}{time.time():.3f}"])


def compacted_at(ids: set[str]) -> float:
    """Return the time of the last compaction in the ids of a session, epoch seconds; 0 without one."""
    times = [id.removeprefix(_COMPACTED) for id in ids if id.startswith(_COMPACTED)]
    return max((float(time) for time in times if time.replace(".", "", 1).isdecimal()), default=0.0)


def forget_ids(session_id: str, *, begins: bool) -> None:
    """Forget the ids of a session whose context was lost, and those of old sessions; ignore failures.

    Args:
        begins: True to forget its compactions as well.
    """
    with suppress(OSError):
        if session_id:
            compactions = [] if begins else [id for id in known_ids(session_id) if id.startswith(_COMPACTED)]
            with suppress(FileNotFoundError):
                os.unlink(_ids_path(session_id))
            add_ids(session_id, compactions)
        oldest = time.time() - FORGOTTEN_S
        for item in os.scandir(os.path.dirname(_ids_path("_"))):
            if item.stat().st_mtime < oldest:
                os.unlink(item.path)


def _ids_path(session_id: str) -> str:
    return os.path.join(folder(), "sessions", safe_name(session_id))


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _make_parent(path: str | Path) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)


def _drop_half(path: str) -> None:
    with open(path, "rb") as file:
        newest = file.read()[-MOST_LOG_BYTES // 2 :]
    replace(path, newest.partition(b"\n")[2])
