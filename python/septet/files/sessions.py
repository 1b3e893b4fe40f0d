"""Read sessions incrementally, with the same chunks as a complete read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from septet.errors import StoreError
from septet.files.redaction import Redactor
from septet.files.steady import open_file
from septet.files.transcripts import Line, hear, lines_of
from septet.model.entry import json_of

if TYPE_CHECKING:
    from septet.files.chunking import Chunk, Chunking
    from septet.files.documents import ChunkDraft
    from septet.files.sources import RootFile

#: The type of the chunks of a session.
SESSION = "session"
#: Increment when the same lines give other chunks.
_VERSION = 3
#: Maximum bytes of a line; longer ones are skipped.
MOST_LINE_BYTES = 64 * 2**20
#: Bytes hashed at the start of a file, and before the offset, to recognise it.
_WITNESS_BYTES = 4096
#: Maximum reported problems.
MOST_PROBLEMS = 5


class SessionDraft(NamedTuple):
    """The new chunks of a session.

    Attributes:
        chunks: chunks after the ones that stay.
        keep: number of stored leading chunks that stay; 0 after a complete read.
        stored: required number of stored chunks; None after a complete read.
        state: JSON, to pass to the next read.
        redacted: number of masked secrets in the bytes read, by rule.
        problems: unreadable parts, as sentences.
        size: number of bytes read.
    """

    chunks: list[ChunkDraft]
    keep: int
    stored: int | None
    state: str
    redacted: dict[str, int]
    problems: tuple[str, ...]
    size: int


class _State(NamedTuple):
    """The position of an incremental read.

    Attributes:
        made_by: identity of the chunks; another identity requires a complete read.
        inode: inode of the file.
        offset: number of bytes read, in complete lines.
        line: number of lines read.
        closed: False if the last line has no line end yet (but is valid JSON).
        head: digest of the first bytes.
        tail: digest of the last bytes before the offset.
        keep: number of chunks before the last one.
        stored: number of chunks.
        last: lines of the last chunk with their line numbers, which the next chunk may begin with.
        recalled: True if the next answer responds to recalled memories.
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
    file: RootFile, state: str | None, chunking: Chunking, redactor: Redactor | None, *, literal: bool = False
) -> SessionDraft:
    """Return the chunks of a session, reading only the part after a state.

    The result equals that of a complete read, which is done for a truncated or replaced file or for other rules. An
    edit in the middle of the same inode is not detected.

    Args:
        file: the session.
        state: state of the last read; None for a complete read.
        redactor: masks secrets; None keeps them.
        literal: the text as first documented: messages are not wrapped, and recalled memories stay.

    Raises:
        OSError: the file cannot be read.
    """
    cut = partial(_cut, chunking=chunking)
    made_by = f"{_VERSION}:{chunking.identity}:{redactor.identity if redactor else ''}:{literal}"
    with open_file(file.real, -1) as opened:
        before = _usable(opened, state, made_by)
        reading = _TranscriptRead(opened, before, redactor, literal)
        lines = [*(before.last if before else ()), *reading.new_lines()]
        chunks = [chunk for chunk in cut(lines) if chunk.text.strip()] if lines else []
        keep = before.keep if before else 0
        after = reading.state(made_by, keep, chunks, lines, cut)
        if before is None and not chunks and not reading.problems and reading.size:
            reading.problems.append("no line is a known kind of message: it has no chunks")
    drafts = [_draft(chunk, lines, file.path) for chunk in chunks]
    stored = before.stored if before else None
    return SessionDraft(drafts, keep, stored, after, reading.redacted, tuple(reading.problems), reading.size)


def goes_on(path: str, state: str) -> bool:
    """Return True if a file is the one of a state, unchanged up to its offset.

    Raises:
        OSError: the file cannot be read.
    """
    before = _loaded(state)
    if before is None:
        return False
    with open_file(path, -1) as opened:
        return _usable(opened, state, before.made_by) is not None


class _TranscriptRead:
    """A read of a transcript from a state on."""

    def __init__(self, opened: BinaryIO, before: _State | None, redactor: Redactor | None, literal: bool) -> None:
        self._opened, self._redactor, self._literal = opened, redactor, literal
        self._line, self._offset, self._closed, self._recalled = 0, 0, True, False
        if before is not None:
            self._line, self._offset = before.line, before.offset
            self._closed, self._recalled = before.closed, before.recalled
        self._start = self._offset
        self.redacted: dict[str, int] = {}
        self.problems: list[str] = []
        self._wrong = 0

    def new_lines(self) -> Iterator[Line]:
        """Yield the new lines of text."""
        self._opened.seek(self._offset)
        if not self._closed:
            # The line end of the last line, if it has been written.
            rest = self._opened.readline(MOST_LINE_BYTES)
            self._offset, self._closed = self._offset + len(rest), rest.endswith(b"\n")
        while raw := self._opened.readline(MOST_LINE_BYTES):
            size, ended = len(raw), raw.endswith(b"\n")
            whole = True
            while not ended and (more := self._opened.readline(MOST_LINE_BYTES)):
                # Too long for a message: skip the line.
                whole, size, ended, raw = False, size + len(more), more.endswith(b"\n"), b""
            if not whole and not ended:
                return
            if not whole:
                self._problem(f"line {self._line + 1} has more than {MOST_LINE_BYTES // 2**20} MB: it was skipped")
            elif raw.strip():
                try:
                    texts = self._texts(raw)
                except ValueError as fault:
                    if not ended:
                        # An incomplete line: read it when the rest is written.
                        return
                    self._wrong += 1
                    if self._wrong == 1:
                        problem = f"line {self._line + 1} is not JSON ({fault}): such lines were skipped"
                        self._problem(problem.replace(raw.decode("utf-8", "replace"), "…"))
                    texts = []
                yield from texts
            self._line, self._offset, self._closed = self._line + 1, self._offset + size, ended

    @property
    def size(self) -> int:
        """Number of bytes read."""
        return self._offset - self._start

    def _texts(self, raw: bytes) -> list[Line]:
        spoken = hear(raw, literal=self._literal)
        if spoken is None:
            return []
        if spoken.role == "user":
            self._recalled = spoken.recalled
        if self._recalled:
            return []
        texts, counts = lines_of(spoken, self._redactor, literal=self._literal)
        for name, count in counts.items():
            self.redacted[name] = self.redacted.get(name, 0) + count
        return [Line(text, self._line + 1, spoken.at, spoken.role) for text in texts]

    def state(
        self, made_by: str, keep: int, chunks: Sequence[Chunk], lines: Sequence[Line], cut: Callable[..., Any]
    ) -> str:
        """Return the state after the new chunks, which follow the ``keep`` stored ones."""
        last = _lines_of(chunks[-1], lines) if chunks else list(lines)
        if last is None or (chunks and [chunk.text for chunk in cut(last)] != [chunks[-1].text]):
            # This chunk cannot be reproduced from its own text: the next read must be complete.
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

    def _problem(self, text: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(text)


def _usable(opened: BinaryIO, state: str | None, made_by: str) -> _State | None:
    """Return the state if the file continues it."""
    before, about = _loaded(state), os.fstat(opened.fileno())
    if before is None or before.made_by != made_by or about.st_ino != before.inode or about.st_size < before.offset:
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
        values = json_of(state, dict)
        return _State(**{**values, "last": [Line(*line) for line in values["last"]]})
    except (KeyError, TypeError, StoreError):
        return None


def _witnesses(opened: BinaryIO, offset: int) -> tuple[str, str]:
    size = min(offset, _WITNESS_BYTES)
    digests = []
    for start in (0, offset - size):
        opened.seek(start)
        digests.append(hashlib.sha256(opened.read(size)).hexdigest()[:32])
    return digests[0], digests[1]


def _lines_of(chunk: Chunk, lines: Sequence[Line]) -> list[Line] | None:
    """Return the lines of the last chunk with their line numbers; None if ambiguous.

    A long line may be in several pieces, and the chunk may begin in the middle of a line: so match from the end.
    """
    matched: list[Line] = []
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
        matched.append(lines[at]._replace(text=piece))
    return matched[::-1]


def _cut(lines: Sequence[Line], chunking: Chunking) -> list[Chunk]:
    """Return the chunks of lines; with ``entries`` none holds two speakers."""
    from septet.files.chunking import Chunk, cut

    if chunking.variant != "entries":
        return cut("\n".join(line.text for line in lines), chunking)
    chunks, at, capped = list[Chunk](), 0, replace(chunking, variant="capped")
    for _, turn in groupby(lines, key=lambda line: line.role):
        texts = [line.text for line in turn]
        for chunk in cut("\n".join(texts), capped):
            chunks.append(chunk._replace(first_line=at + chunk.first_line, last_line=at + chunk.last_line))
        at += len(texts)
    return chunks


def _draft(chunk: Chunk, lines: Sequence[Line], path: str) -> ChunkDraft:
    from septet.files.documents import ChunkDraft

    of_chunk = lines[chunk.first_line - 1 : chunk.last_line]
    fields: dict[str, Any] = {
        "title": path.rpartition("/")[2],
        "type": SESSION,
        "description": chunk.text,
        "first_line": of_chunk[0].at,
        "last_line": of_chunk[-1].at,
    }
    if len(roles := {line.role for line in of_chunk}) == 1:
        fields["attrs"] = {"role": roles.pop()}
    times = [line.time for line in of_chunk if line.time is not None]
    if times:
        fields |= {"created_at": min(times), "updated_at": max(times)}
    return ChunkDraft(fields, ())
