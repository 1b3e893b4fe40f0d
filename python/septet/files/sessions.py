"""Reading sessions: only what is new since the last time, as if the whole file had been read anew."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from septet.errors import StoreError
from septet.files.pending import SessionFile
from septet.files.redaction import Redactor
from septet.files.steady import open_file
from septet.files.transcripts import Line, Speaker, hear
from septet.model.entry import json_of

if TYPE_CHECKING:
    from septet.files.chunking import Chunk, Chunking
    from septet.files.documents import ChunkDraft

__all__ = ["SESSION", "SessionDraft", "goes_on", "session_of"]

#: The type of the chunks of a session.
SESSION = "session"
#: Raised when the same lines become other text.
_VERSION = 2
#: Bytes of a line; a longer one is left out.
MOST_LINE_BYTES = 64 * 2**20
#: So many bytes at its beginning, and before the place where reading goes on, tell a file from another one.
_WITNESS_BYTES = 4096
#: So many problems are told one by one.
MOST_PROBLEMS = 5


class SessionDraft(NamedTuple):
    """The chunks that a session should have.

    Attributes:
        chunks: those behind the ones that stay.
        keep: so many leading chunks of before stay as they are; 0 when the file was read anew.
        stored: how many chunks there must be of before for that; None when the file was read anew.
        state: JSON, to be given at the next time.
        redacted: how many secrets each rule masked in what was read.
        problems: what could not be read.
        size: how many bytes were read.
    """

    chunks: list[ChunkDraft]
    keep: int
    stored: int | None
    state: str
    redacted: dict[str, int]
    problems: tuple[str, ...]
    size: int


class _State(NamedTuple):
    """Where reading goes on.

    Attributes:
        made_by: what made the chunks; under another one all are made anew.
        inode: of the file.
        offset: bytes that were read, whole lines only.
        line: how many lines that are.
        closed: whether the last of them has its end; one without is whole if it is JSON.
        head: digest of the first bytes.
        tail: digest of the last bytes before the offset.
        keep: how many chunks there are before the last one.
        stored: how many there are.
        last: the lines of the last chunk, and where they come from: what the next chunk may begin with.
        recalled: whether an answer would still be one to recalled memories.
    """

    made_by: str
    inode: int
    offset: int
    line: int
    closed: bool
    head: str
    tail: str
    keep: int
    stored: int
    last: list[Line]
    recalled: bool


def session_of(
    file: SessionFile,
    state: str | None,
    chunking: Chunking,
    redactor: Redactor | None,
    *,
    literal: bool = False,
) -> SessionDraft:
    """Return the chunks of a session, reading only what came since the state was made.

    The result equals that of reading the whole file. A file that was cut, replaced or made by other rules is read anew;
    one that was changed in the middle, at the same place on the disk, is not noticed.

    Args:
        file: which one.
        state: of the last time; None to read it anew.
        redactor: masks secrets, before anything else sees the text; None leaves them.
        literal: the text as first documented: no message is wrapped, and recalled memories stay.

    Raises:
        OSError: the file cannot be read.
    """
    from septet.files.chunking import chunk_markdown

    cut = partial(chunk_markdown, tokens=chunking.tokens, overlap=chunking.overlap, variant=chunking.variant)
    made_by = f"{_VERSION}:{chunking.identity}:{redactor.identity if redactor else ''}:{literal}"
    speaker = Speaker(redactor, literal)
    with open_file(file.real, -1) as opened:
        before = _usable(opened, state, made_by)
        reading = _Reading(opened, before, speaker)
        lines = [*(before.last if before else ()), *reading.new_lines()]
        chunks = [chunk for chunk in cut("\n".join(line.text for line in lines)) if chunk.text.strip()] if lines else []
        keep = before.keep if before else 0
        after = reading.state(made_by, keep, chunks, lines, cut)
        if before is None and not chunks and not reading.problems and reading.size:
            reading.problems.append("no line of it is a message that is understood: it has no chunk")
    drafts = [_draft(chunk, lines, file.path) for chunk in chunks]
    stored = before.stored if before else None
    return SessionDraft(drafts, keep, stored, after, reading.redacted, tuple(reading.problems), reading.size)


def goes_on(path: str, state: str) -> bool:
    """Say whether a file is the one that a state was made of, unchanged as far as it was read.

    Raises:
        OSError: the file cannot be read.
    """
    before = _loaded(state)
    if before is None:
        return False
    with open_file(path, -1) as opened:
        return _usable(opened, state, before.made_by) is not None


class _Reading:
    """One reading of a transcript, from a state on."""

    def __init__(self, opened: BinaryIO, before: _State | None, speaker: Speaker) -> None:
        self._opened = opened
        self._speaker = speaker
        self._line, self._offset, self._closed, self._recalled = 0, 0, True, False
        if before is not None:
            self._line, self._offset = before.line, before.offset
            self._closed, self._recalled = before.closed, before.recalled
        self._start = self._offset
        self.redacted: dict[str, int] = {}
        self.problems: list[str] = []
        self._wrong = 0

    def new_lines(self) -> Iterator[Line]:
        """Yield the lines of text that are new."""
        self._opened.seek(self._offset)
        if not self._closed:
            # The end of a line that was read already, if it has come.
            rest = self._opened.readline(MOST_LINE_BYTES)
            self._offset, self._closed = self._offset + len(rest), rest.endswith(b"\n")
        while raw := self._opened.readline(MOST_LINE_BYTES):
            size, ended = len(raw), raw.endswith(b"\n")
            whole = True
            while not ended and (more := self._opened.readline(MOST_LINE_BYTES)):
                # Too long for a message; what follows may be read.
                whole, size, ended, raw = False, size + len(more), more.endswith(b"\n"), b""
            if not whole and not ended:
                return
            if not whole:
                self._problem(f"line {self._line + 1} has more than {MOST_LINE_BYTES // 2**20} MB: it was left out")
            elif raw.strip():
                try:
                    heard = self._heard(raw)
                except ValueError as fault:
                    if not ended:
                        # Half of a line: it is read when the other half has come.
                        return
                    self._wrong += 1
                    if self._wrong == 1:
                        said = f"line {self._line + 1} is no JSON ({fault}): such lines were left out"
                        self._problem(said.replace(raw.decode("utf-8", "replace"), "…"))
                    heard = []
                yield from heard
            self._line, self._offset, self._closed = self._line + 1, self._offset + size, ended

    @property
    def size(self) -> int:
        """How many bytes were read."""
        return self._offset - self._start

    def _heard(self, raw: bytes) -> list[Line]:
        spoken = hear(raw, literal=self._speaker.literal)
        if spoken is None:
            return []
        if spoken.role == "user":
            self._recalled = spoken.recalled
        if self._recalled:
            return []
        texts, counts = self._speaker.lines(spoken)
        for name, count in counts.items():
            self.redacted[name] = self.redacted.get(name, 0) + count
        return [Line(text, self._line + 1, spoken.at) for text in texts]

    def state(
        self, made_by: str, keep: int, chunks: Sequence[Chunk], lines: Sequence[Line], cut: Callable[..., Any]
    ) -> str:
        """Return where reading goes on after the chunks, which begin behind those that were kept."""
        last = _lines_of(chunks[-1], lines) if chunks else list(lines)
        if last is None or (chunks and [chunk.text for chunk in cut(chunks[-1].text)] != [chunks[-1].text]):
            # Such a chunk does not come again from its own text: the next time begins at the first line.
            return "{}"
        state = _State(
            made_by,
            os.fstat(self._opened.fileno()).st_ino,
            self._offset,
            self._line,
            self._closed,
            *_witnesses(self._opened, self._offset),
            keep + max(0, len(chunks) - 1),
            keep + len(chunks),
            last,
            self._recalled,
        )
        return json.dumps(state._asdict(), ensure_ascii=False, separators=(",", ":"))

    def _problem(self, said: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(said)


def _usable(opened: BinaryIO, state: str | None, made_by: str) -> _State | None:
    """Return the state if the file goes on where it ends."""
    before = _loaded(state)
    if before is None or before.made_by != made_by:
        return None
    found = os.fstat(opened.fileno())
    if found.st_ino != before.inode or found.st_size < before.offset:
        return None
    if _witnesses(opened, before.offset) != (before.head, before.tail):
        return None
    if not before.closed:
        opened.seek(before.offset)
        if opened.readline(_WITNESS_BYTES).strip():
            return None
    return before


def _loaded(state: str | None) -> _State | None:
    if not state:
        return None
    try:
        given = json_of(state, dict)
        return _State(**{**given, "last": [Line(*line) for line in given["last"]]})
    except (KeyError, TypeError, StoreError):
        return None


def _witnesses(opened: BinaryIO, offset: int) -> tuple[str, str]:
    size = min(offset, _WITNESS_BYTES)
    found = []
    for start in (0, offset - size):
        opened.seek(start)
        found.append(hashlib.sha256(opened.read(size)).hexdigest()[:32])
    return found[0], found[1]


def _lines_of(chunk: Chunk, lines: Sequence[Line]) -> list[Line] | None:
    """Return the lines of a chunk at the end of a text, with where they come from; None if that cannot be told.

    A long line may be in several pieces, and only the end of the first line may be in the chunk: so from the end.
    """
    found: list[Line] = []
    at = chunk.last_line - 1
    rest = lines[at].text
    for piece in reversed(chunk.text.split("\n")):
        if not rest:
            at -= 1
            if at < chunk.first_line - 1:
                return None
            rest = lines[at].text
        if not rest.endswith(piece):
            return None
        rest = rest[: len(rest) - len(piece)]
        found.append(lines[at]._replace(text=piece))
    return found[::-1]


def _draft(chunk: Chunk, lines: Sequence[Line], path: str) -> ChunkDraft:
    from septet.files.documents import ChunkDraft

    own = lines[chunk.first_line - 1 : chunk.last_line]
    fields: dict[str, Any] = {
        "title": path.rpartition("/")[2],
        "type": SESSION,
        "description": chunk.text,
        "first_line": own[0].at,
        "last_line": own[-1].at,
    }
    said = [line.time for line in own if line.time is not None]
    if said:
        fields |= {"created_at": min(said), "updated_at": max(said)}
    return ChunkDraft(fields, ())
