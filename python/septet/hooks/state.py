"""The files of hooks, in a folder of the user: failures, records of sessions, transcripts to sync.

Each of them can be deleted at any time. Without a writable folder hooks answer all the same.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from septet.errors import printable
from septet.inputs import session_log

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

#: Maximum bytes of the log; at this size its older half is dropped.
MOST_LOG_BYTES = 64_000
#: Maximum characters of a message in the log.
MOST_MESSAGE = 300


def log_path() -> str:
    """Return the log of failures."""
    return os.path.join(session_log.hooks_folder(), "failures.log")


def log_failure(place: str, fault: BaseException | str) -> None:
    """Append a line to the log: time, program and event, message. A log that cannot be written is no failure."""
    text = fault if isinstance(fault, str) else f"{type(fault).__name__}: {fault}"
    text = printable(" ".join(text.split()))[:MOST_MESSAGE]
    line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {place}: {text}\n".encode("utf-8", "replace")
    with suppress(OSError):
        path = log_path()
        _make_parent(path)
        if os.path.exists(path) and os.path.getsize(path) + len(line) > MOST_LOG_BYTES:
            _drop_half(path, MOST_LOG_BYTES)
        append(path, line)


def last_failures(most: int) -> list[str]:
    """Return the last lines of the log, oldest first."""
    try:
        with open(log_path(), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()[-most:]
    except OSError:
        return []


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


def known_ids(session_id: str) -> set[str]:
    """Return the versions of entries, and the compactions, that the context of a session has."""
    path = _path_of(session_id)
    # A pipe would be waited for.
    if session_id and os.path.isfile(path):
        with suppress(OSError), open(path, "rb") as file:
            return session_log.known_lines(session_log.lines_of(file))
    return set()


def add_lines(session_id: str, lines: Sequence[str]) -> None:
    """Append lines to the record of a session in one write; ignore failures."""
    if not (session_id and lines):
        return
    with suppress(OSError):
        path = _path_of(session_id)
        if os.path.exists(path) and not os.path.isfile(path):
            # A pipe would be waited for.
            return
        _make_parent(path)
        append(path, "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))


def pending_folder() -> str:
    """Return the folder of the files that name transcripts to sync; see `septet.hooks.keeping`."""
    return os.path.join(session_log.hooks_folder(), "pending")


def has_pending() -> bool:
    """Return True if there are files that name transcripts to sync."""
    try:
        return any(name.endswith(".json") for name in os.listdir(pending_folder()))
    except OSError:
        return False


def note_compaction(session_id: str) -> None:
    """Remember that the context of a session is compacted now; ignore failures."""
    add_lines(session_id, [_event(session_log.COMPACTED)])


def compacted_at(ids: set[str]) -> float:
    """Return the time of the last compaction in the ids of a session, epoch seconds; 0 without one."""
    return max(session_log.compactions(ids), default=0.0)


def forget_ids(session_id: str, *, begins: bool) -> None:
    """Forget the ids of a session whose context was lost, and those of old sessions; ignore failures.

    The record stays for its owner, but what was printed before is printed again.

    Args:
        begins: True to forget its compactions as well.
    """
    with suppress(OSError):
        path = _path_of(session_id)
        if session_id and os.path.exists(path):
            if os.path.getsize(path) > session_log.MOST_BYTES:
                _drop_half(path, session_log.MOST_BYTES)
            add_lines(session_id, [_event(session_log.BEGUN if begins else session_log.LOST)])
        oldest = time.time() - session_log.KEPT_S
        for item in os.scandir(session_log.sessions_folder()):
            # A folder, or a record that another hook has deleted, does not keep the rest.
            with suppress(OSError):
                if item.stat(follow_symlinks=False).st_mtime < oldest:
                    os.unlink(item.path)


def _event(beginning: str) -> str:
    return f"{beginning}{time.time():.3f}"


def _path_of(session_id: str) -> str:
    return os.path.join(session_log.sessions_folder(), session_log.safe_name(session_id))


def _make_parent(path: str | Path) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)


def _drop_half(path: str, most: int) -> None:
    with open(path, "rb") as file:
        newest = file.read()[-most // 2 :]
    replace(path, newest.partition(b"\n")[2])
