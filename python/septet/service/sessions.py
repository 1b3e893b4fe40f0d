"""The operation `sessions`: entries that hooks printed to sessions of agents from the served vault.

The records are files of the user whose process this is (`septet.inputs.session_log`). They are read as foreign ones:
in part, without following links, and what is malformed is omitted.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from typing_extensions import TypedDict

from septet.errors import QueryError
from septet.federation import Federation
from septet.inputs import session_log
from septet.inputs.arguments import shown
from septet.inputs.session_log import SessionCall
from septet.vault import Vault

if TYPE_CHECKING:
    from septet.model.entry import Entry
    from septet.service.running import Memory

#: Maximum files of the folder that are looked at, and records read by one call.
MOST_FILES, MOST_READ = 20_000, 500
#: Maximum versions of a session in an answer: the newest.
MOST_VERSIONS = 200
#: Minimum characters of an id that is known by the end of the name of a transcript.
LEAST_ENDING = 8
#: Maximum characters of the text of a part of a file.
MOST_TEXT = 200

#: An entry since it was printed: as it was, changed, past its validity, or deleted.
EntryState = Literal["current", "changed", "expired", "gone"]


class PrintedAnswer(TypedDict):
    """An entry that was printed, with the time of its last change then; without text and kind if it is gone.

    ``text`` is its title, or the beginning of its description if it is a part of a file with the name as title.
    """

    id: str
    text: str | None
    kind: str | None
    version: float
    state: EntryState


class SessionCallAnswer(TypedDict):
    """A call of a hook that printed entries."""

    at: float
    program: str
    entries: list[PrintedAnswer]


class SessionAnswer(TypedDict):
    """A session: its calls, oldest first, without the ``left_out`` earliest entries; times of its compactions."""

    session: str
    calls: list[SessionCallAnswer]
    compacted: list[float]
    left_out: int


class SessionsAnswer(TypedDict):
    """Sessions, last called first; ``recorded`` is False if no vault in a file is served. ``next`` leads to more."""

    recorded: bool
    kept_days: int
    sessions: list[SessionAnswer]
    next: str | None


class _RecordPlace(NamedTuple):
    """The place of a record in the order of all: last change in nanoseconds, and name."""

    changed: int
    name: str


class _SessionRecord(NamedTuple):
    place: _RecordPlace
    calls: list[SessionCall]
    compacted: list[float]


def sessions(
    memory: Memory, *, limit: int = 10, after: str | None = None, session: str | None = None
) -> dict[str, Any]:
    """Return the sessions to which hooks printed entries of the served vaults, last called first.

    Args:
        memory: the vault or federation.
        limit: maximum number of sessions.
        after: ``next`` of the page before.
        session: the id of a session, or the name of its transcript, which may end with the id; to see that alone.

    Raises:
        QueryError: ``after`` is malformed.
        StoreError: the vault cannot be read.
    """
    vaults = _vaults(memory)
    records: list[_SessionRecord] = []
    last = following = None
    start = None if after is None else _place_of(after)
    places = _places() if vaults else iter(())
    if session is not None:
        wanted = session_log.safe_name(session)
        places = (place for place in places if _is_of(place.name, wanted))
    for number, place in enumerate(place for place in places if start is None or place < start):
        if last is not None and (len(records) == limit or number == MOST_READ):
            following = f"{last.changed}-{last.name}"
            break
        last = place
        if (record := _record(place, vaults)) is not None:
            records.append(record)
    entries = _entries(vaults, records)
    return {
        "recorded": bool(vaults),
        "kept_days": int(session_log.KEPT_S // 86_400),
        "sessions": [_answer(record, entries) for record in records],
        "next": following,
    }


def _vaults(memory: Memory) -> dict[str, Vault]:
    """Return the served vaults in files by their real paths."""
    tiers = [memory.tier(name) for name in memory.tiers()] if isinstance(memory, Federation) else [memory]
    return {_real(vault.path): vault for vault in tiers if isinstance(vault, Vault) and not vault._store.in_memory}


def _real(path: str) -> str:
    return os.path.normcase(os.path.realpath(path))


def _places() -> Iterator[_RecordPlace]:
    """Return the places of the records, last changed first."""
    places: list[_RecordPlace] = []
    # Hooks delete them when the next session begins.
    oldest = int((time.time() - session_log.KEPT_S) * 1e9)
    with suppress(OSError), os.scandir(session_log.sessions_folder()) as items:
        for item in islice(items, MOST_FILES):
            # Another process may have deleted it.
            with suppress(OSError):
                if session_log.is_safe(item.name) and item.is_file(follow_symlinks=False):
                    places.append(_RecordPlace(item.stat(follow_symlinks=False).st_mtime_ns, item.name))
    return iter(sorted((place for place in places if place.changed >= oldest), reverse=True))


def _is_of(name: str, wanted: str) -> bool:
    """Return True if a record is that of a session: a transcript may have a date before the id in its name."""
    return name == wanted or (len(name) >= LEAST_ENDING and wanted.endswith((f"-{name}", f"_{name}")))


def _place_of(after: str) -> _RecordPlace:
    if (parts := re.fullmatch(r"(-?\d{1,20})-([0-9A-Za-z_-]{1,100})", after)) is None:
        raise QueryError(f"after is {shown(after)}: wanted `next` of the page before")
    return _RecordPlace(int(parts[1]), parts[2])


def _record(place: _RecordPlace, vaults: Mapping[str, Vault]) -> _SessionRecord | None:
    """Return the record of a session with its calls of the vaults, by their real paths; None if there are none."""
    from septet.files.steady import open_file

    try:
        with open_file(Path(os.path.realpath(session_log.sessions_folder()), place.name)) as file:
            lines = session_log.lines_of(file)
    except OSError:
        return None

    @lru_cache
    def real(vault: str) -> str:
        with suppress(OSError, ValueError):
            return _real(vault)
        return ""

    calls = [call._replace(vault=real(call.vault)) for call in session_log.calls_of(lines)]
    calls = [call for call in calls if call.vault in vaults]
    return _SessionRecord(place, calls, session_log.compactions(lines)) if calls else None


def _entries(vaults: Mapping[str, Vault], records: list[_SessionRecord]) -> dict[tuple[str, str], Entry]:
    """Return the entries by vault and id: another tier may have another one of the same id."""
    ids: dict[str, set[str]] = {}
    for call in (call for record in records for call in _newest(record)[0]):
        ids.setdefault(call.vault, set()).update(id for id, _ in call.versions)
    return {(path, entry.id): entry for path, own in ids.items() for entry in vaults[path].load(sorted(own))}


def _newest(record: _SessionRecord) -> tuple[list[SessionCall], int]:
    """Return the newest calls of a session, oldest first, and the number of versions that are left out."""
    kept: list[SessionCall] = []
    room = MOST_VERSIONS
    for call in reversed(record.calls):
        if room:
            kept.append(call._replace(versions=call.versions[-room:]))
            room -= len(kept[-1].versions)
    return kept[::-1], sum(len(call.versions) for call in record.calls) - MOST_VERSIONS + room


def _answer(record: _SessionRecord, entries: Mapping[tuple[str, str], Entry]) -> dict[str, Any]:
    calls, left_out = _newest(record)
    return {
        "session": record.place.name,
        "calls": [
            {
                "at": call.at,
                "program": call.program,
                "entries": [_printed(id, version, entries.get((call.vault, id))) for id, version in call.versions],
            }
            for call in calls
        ],
        "compacted": record.compacted[-MOST_VERSIONS:],
        "left_out": left_out,
    }


def _text_of(entry: Entry) -> str:
    is_part = entry.span is not None and entry.title == entry.span.path.rpartition("/")[2] and entry.description
    return entry.description[:MOST_TEXT] if is_part else entry.title


def _printed(id: str, version: float, entry: Entry | None) -> dict[str, Any]:
    state: EntryState = "gone"
    if entry is not None:
        # Lines have milliseconds.
        changed = f"{entry.updated_at:.3f}" != f"{version:.3f}"
        expired = entry.valid_until is not None and entry.valid_until <= time.time()
        state = "expired" if expired else "changed" if changed else "current"
    text, kind = (None, None) if entry is None else (_text_of(entry), entry.kind)
    return {"id": id, "text": text, "kind": kind, "version": version, "state": state}
