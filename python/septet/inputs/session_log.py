"""The lines of the record of a session: versions of entries that hooks printed, and events between them.

A version is a line, ``id time``, of the entry's id and the time of its last change. Lines that begin with a tab are
events: a call with its time, program and vault before the versions that it printed; a compaction; the loss of a
context. Every hook loads this module, so nothing large is imported here.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import BinaryIO

from septet.system.host import host
from septet.system.records import NamedTuple

#: Age at which the record of a session is deleted, in seconds since its last line.
KEPT_S = 14 * 86_400.0
#: Maximum bytes of a record that are read; a larger one is halved when a context begins.
MOST_BYTES = 262_144
#: Beginnings of the lines of events.
CALLED, COMPACTED, BEGUN, LOST = "\tprinted ", "\tcompacted ", "\tbegun ", "\tlost "
#: Latest time that is read, epoch seconds: some systems have no date for later ones.
_LATEST = 3e10
#: Maximum characters of the name of a program.
_MOST_PROGRAM = 100
#: Beginning of an id in JSON.
_QUOTE = '"'
_UNSAFE = re.compile(r"[^0-9A-Za-z_-]+")


class SessionCall(NamedTuple):
    """A call of a hook that printed entries.

    Attributes:
        at: its time, epoch seconds.
        program: the program that called.
        vault: the path of the vault that was read.
        versions: id and time of the last change of each printed entry.
    """

    at: float
    program: str
    vault: str
    versions: list[tuple[str, float]]


def hooks_folder() -> str:
    """Return the folder of the files of hooks, in the folder of the user's data."""
    return os.path.join(host.data_folder(), "hooks")


def sessions_folder() -> str:
    """Return the folder of the records, a file a session."""
    return os.path.join(hooks_folder(), "sessions")


def safe_name(text: str) -> str:
    """Return a text as the name of a file."""
    return _UNSAFE.sub("_", text)[-100:] or "_"


def is_safe(name: str) -> bool:
    """Return True for a name that `safe_name` could have returned."""
    return safe_name(name) == name


def call_line(at: float, program: str, vault: str) -> str:
    """Return the line of a call, without its end."""
    return CALLED + json.dumps([round(at, 3), program, vault])


def version_line(id: str, changed: float) -> str:
    """Return the line of a version of an entry, without its end; an id that could end or begin a line as JSON."""
    return f"{id if id.isprintable() and id[:1] != _QUOTE else json.dumps(id)} {changed:.3f}"


def lines_of(file: BinaryIO) -> list[str]:
    """Return the lines in the last `MOST_BYTES` of a record, without half a first one (`OSError`)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST_BYTES))
    raw = file.read(MOST_BYTES)
    return (raw.partition(b"\n")[2] if size > MOST_BYTES else raw).decode("utf-8", "replace").splitlines()


def known_lines(lines: Iterable[str]) -> set[str]:
    """Return the versions and compactions that the context of a session still has."""
    known: set[str] = set()
    for line in lines:
        if line.startswith(BEGUN):
            known.clear()
        elif line.startswith(LOST):
            known = {kept for kept in known if kept.startswith(COMPACTED)}
        elif not line.startswith(CALLED):
            known.add(line)
    return known


def compactions(lines: Iterable[str]) -> list[float]:
    """Return the times of compactions, epoch seconds, in the order of the lines."""
    texts = (line.removeprefix(COMPACTED) for line in lines if line.startswith(COMPACTED))
    return [time for text in texts if (time := _time(text)) is not None]


def calls_of(lines: Iterable[str]) -> Iterator[SessionCall]:
    """Yield the calls, oldest first; versions without one, of earlier releases, are omitted."""
    call: SessionCall | None = None
    for line in lines:
        if line.startswith("\t"):
            if call is not None and call.versions:
                yield call
            call = _call(line)
        elif call is not None:
            text, _, changed = line.rpartition(" ")
            id, time = _id(text), _time(changed)
            if id and time is not None:
                call.versions.append((id, time))
    if call is not None and call.versions:
        yield call


def _call(line: str) -> SessionCall | None:
    """Return the call of a line, without versions; None for another event, or if it is malformed."""
    if not line.startswith(CALLED):
        return None
    with suppress(ValueError, RecursionError):
        match json.loads(line.removeprefix(CALLED)):
            case [int() | float() as at, str(program), str(vault)] if _is_time(at) and len(program) <= _MOST_PROGRAM:
                return SessionCall(float(at), program, vault, [])
    return None


def _id(text: str) -> str:
    """Return the id in the line of a version; empty if it is malformed."""
    if text[:1] != _QUOTE:
        return text
    with suppress(ValueError, RecursionError):
        if isinstance(id := json.loads(text), str):
            return id
    return ""


def _time(text: str) -> float | None:
    with suppress(ValueError):
        if _is_time(time := float(text)):
            return time
    return None


def _is_time(value: float) -> bool:
    return not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= _LATEST
