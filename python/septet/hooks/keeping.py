"""Transcripts into the vault: masked, unverified, and none lost if a process ends in between.

An event only writes a small file that names the transcript. The process that syncs it
deletes that file afterwards; the next start of a session does those that are left.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from septet.errors import EntryError, SeptetError
from septet.hooks import state
from septet.inputs.session_log import hooks_folder, safe_name

if TYPE_CHECKING:
    from septet.vault import Vault

#: Suffix of transcripts, as `sync` reads them.
TRANSCRIPT = ".jsonl"
#: Folders in which programs keep the transcripts of all sessions, in folders by day or by session.
_SESSIONS = frozenset({"sessions", "agent-transcripts"})
#: Attempts after which a transcript is given up until it is named again.
MOST_ATTEMPTS = 5
#: Maximum bytes of a file that names a transcript.
_MOST_BYTES = 65_536


class Pending(NamedTuple):
    """A transcript to sync.

    Attributes:
        file: the file that names it.
        program: the program that wrote it.
        transcript: its absolute path.
        vault: the absolute path of the vault.
        attempts: number of failed attempts.
    """

    file: Path
    program: str
    transcript: str
    vault: str
    attempts: int


def add_pending(program: str, transcript: str, vault: str) -> bool:
    """Note a transcript as to be synced, and return True; False for a session without one.

    Raises:
        EntryError: it is not the path of a transcript.
        OSError: the note cannot be written.
    """
    if not transcript:
        # Sessions that are not stored have none.
        return False
    if not transcript.endswith(TRANSCRIPT) or not Path(transcript).is_absolute() or "\0" in transcript:
        raise EntryError(f"{transcript!r} is no transcript: wanted the absolute path of a *{TRANSCRIPT} file")
    _write(Pending(_file_of(transcript, vault), program, transcript, vault, 0))
    return True


def write_transcript(program: str, session: str, messages: list[Any]) -> str:
    """Write the messages of a session as a transcript, for a program that has no file of it; return its path.

    Secrets are masked. A conversation that goes on is appended to.

    Args:
        messages: objects with ``role`` (``user`` or ``assistant``), ``text`` and ``timestamp`` (ISO, or milliseconds).

    Raises:
        OSError: the transcript cannot be written.
    """
    from septet.files.redaction import Redactor

    redactor, lines = Redactor(), list[str]()
    for message in messages:
        if not isinstance(message, dict) or not isinstance(text := message.get("text"), str) or not text.strip():
            continue
        content = [{"type": "text", "text": redactor.redact(text)[0]}]
        line = {
            "type": "message",
            "timestamp": message.get("timestamp"),
            "message": {"role": message.get("role"), "content": content},
        }
        lines.append(json.dumps(line, ensure_ascii=True) + "\n")
    path = Path(hooks_folder(), "transcripts", program, f"{safe_name(session)}{TRANSCRIPT}")
    whole = "".join(lines).encode()
    before = path.read_bytes() if path.exists() else b""
    if before and whole.startswith(before):
        state.append(path, whole[len(before) :])
    else:
        state.replace(path, whole)
    return str(path)


def pending() -> Iterator[Pending]:
    """Yield the transcripts to sync, those that were named first at the beginning."""
    try:
        files = sorted(Path(state.pending_folder()).glob("*.json"), key=lambda file: file.stat().st_mtime)
    except OSError:
        return
    for file in files:
        with suppress(OSError, ValueError, TypeError, KeyError):
            with file.open("rb") as opened:
                fields = json.loads(opened.read(_MOST_BYTES))
            program, transcript, vault = (str(fields[name]) for name in ("program", "transcript", "vault"))
            yield Pending(file, program, transcript, vault, int(fields["attempts"]))


def sync_pending() -> int:
    """Sync all transcripts that are to be synced; return the number of those that failed, which are logged."""
    failed = 0
    for item in pending():
        before = _identity(item.file)
        try:
            if Path(item.transcript).exists():
                sync_transcript(item.vault, item.transcript)
        except (SeptetError, OSError) as fault:
            failed += 1
            state.log_failure(f"{item.program} sync", fault)
            with suppress(OSError):
                if item.attempts + 1 < MOST_ATTEMPTS:
                    _write(item._replace(attempts=item.attempts + 1))
                    continue
        # Named again since: its new lines may not have been read.
        if _identity(item.file) == before:
            with suppress(OSError):
                item.file.unlink()
    return failed


def sync_transcript(vault: str, transcript: str) -> None:
    """Sync a transcript into a vault, which is created if missing.

    Secrets are masked, the chunks are ``unverified``, and have the times of their messages. The vault follows the
    folder of the transcripts, but only this one is read now. That of a project follows this one alone: programs keep
    the conversations of other projects beside it.

    Raises:
        SeptetError: the vault or the transcript cannot be used.
    """
    from septet.service.places import PROJECT_VAULT, make_folder
    from septet.vault import Vault

    make_folder(Path(vault))
    with Vault(vault) as opened:
        report = sync_into(opened, transcript, alone=Path(vault).parts[-2:] == PROJECT_VAULT.parts)
    for problem in (*report.problems, *(file.reason for file in report.skipped if not file.taken)):
        state.log_failure("sync", f"{transcript}: {problem}")


def sync_into(opened: Vault, transcript: str, *, alone: bool = False) -> Any:
    """Sync a transcript into an open vault, and return the report; a folder with options of the user keeps them.

    Args:
        alone: True to follow the transcript rather than its folder.

    Raises:
        SeptetError: the vault or the transcript cannot be used.
    """
    from septet.files.report import roots_of

    followed = {known.path for known in roots_of(opened._store)}
    root = Path(os.path.realpath(root_of(transcript)))
    if alone and str(root) not in followed:
        root = Path(os.path.realpath(transcript))
    options: dict[str, Any] = {}
    if str(root) not in followed:
        from septet.files.chunking import Chunking

        options = {"name": _name(root), "include": [f"*{TRANSCRIPT}"], "trust": "unverified", "redact": "all"}
        # A chunk is of one turn, so that the profile `conversation` knows who speaks.
        options["chunking"] = Chunking(overlap=0, variant="entries")
    return opened.sync(root, paths=[transcript], **options)


def root_of(transcript: str) -> Path:
    """Return the folder of all transcripts of a program: the nearest one with such a name, else that of the file.

    A folder with the user's home in it has more than transcripts: then it is the file itself.
    """
    home = Path(os.path.realpath(Path.home()))
    folders = [folder for folder in Path(transcript).parents if not home.is_relative_to(os.path.realpath(folder))]
    return next((folder for folder in folders if folder.name in _SESSIONS), [*folders, Path(transcript)][0])


def _name(root: Path) -> str:
    """Return the path below the home folder, as several programs have a folder ``sessions``."""
    home = Path(os.path.realpath(Path.home()))
    below = root.relative_to(home) if root.is_relative_to(home) else root
    return below.as_posix().lstrip("./") or root.name


def _write(item: Pending) -> None:
    fields = {name: getattr(item, name) for name in ("program", "transcript", "vault", "attempts")}
    state.replace(item.file, json.dumps(fields).encode("utf-8", "backslashreplace"))


def _file_of(transcript: str, vault: str) -> Path:
    key = crc32(f"{vault}\0{transcript}".encode("utf-8", "surrogatepass"))
    return Path(state.pending_folder(), f"{safe_name(Path(transcript).stem)}-{key:08x}.json")


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_ino, about.st_mtime_ns
