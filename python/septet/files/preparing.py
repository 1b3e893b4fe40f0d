"""Convert files on the disk to rows of chunks, on a thread ahead of the writer."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import SeptetError
from septet.files.planning import file_id, rows_of_chunks
from septet.files.roots import extracted_ending
from septet.files.steady import decoded, print_of, read_steadily
from septet.files.storing import stored_as
from septet.sqlite.tables.files import FileRow
from septet.sqlite.tables.marks import ALTERED

if TYPE_CHECKING:
    from septet.files.documents import ChunkDraft
    from septet.files.extracting import Extracted
    from septet.files.sources import RootFile
    from septet.files.tracking import Followed
    from septet.sqlite.tables.mentions import Mentioned
    from septet.store.rows import EntryRow

#: Maximum bytes of prepared files that wait for the writer.
MOST_WAITING = 16 << 20
#: With fewer files a second thread costs more than it saves.
FEW = 8
#: Maximum bytes, and seconds of gathering, per transaction: other writers wait only briefly.
MOST_BYTES = 32 << 20
MOST_S = 0.5


class Task(NamedTuple):
    """A file to be read.

    Attributes:
        before: its row in the vault, under its old path if it was renamed; None for a new file.
        rebuild: True to rebuild its chunks even if its bytes are unchanged.
    """

    file: RootFile
    before: FileRow | None
    rebuild: bool


class PreparedFile(NamedTuple):
    """A file that was read.

    Attributes:
        after: its new row; None if it cannot be read, with the cause in ``reason``.
        rows: its chunks, without ids; None if its bytes are unchanged, so that only its time is stored.
        mentions: mentions of each row.
        keep: number of leading chunks that stay, before the rows.
        stored: number of chunks that the vault must have for that; None for any.
        problems: remarks on its content.
    """

    task: Task
    after: FileRow | None
    rows: list[EntryRow] | None
    mentions: Sequence[Sequence[Mentioned]] = ()
    keep: int = 0
    stored: int | None = None
    reason: str = ""
    size: int = 0
    problems: tuple[str, ...] = ()
    redacted: Mapping[str, int] = {}


class Preparer:
    """Reads the files of one root with its options."""

    def __init__(self, followed: Followed, now: float) -> None:
        self._root, self._name, self._now = followed.number, followed.name, now
        self._fields = followed.fields
        self._chunking, self._redact_texts = followed.chunking, followed.redact == "all"
        self._redactor = followed.redactor() if followed.redact else None

    def __call__(self, task: Task) -> PreparedFile:
        """Return a file as rows; errors are returned as a reason."""
        try:
            return self._session(task) if task.file.kind == "session" else self._text(task)
        except (SeptetError, ValueError, RecursionError, OSError) as fault:
            return PreparedFile(task, None, None, reason=str(fault) or type(fault).__name__)
        except Exception as fault:  # noqa: BLE001 - one file never costs the others
            return PreparedFile(task, None, None, reason=f"{type(fault).__name__}: {fault}")

    def _text(self, task: Task) -> PreparedFile:
        file, before = task.file, task.before
        read = read_steadily(file.real)
        if isinstance(read, str):
            return PreparedFile(task, None, None, reason=read)
        digest, size = read.digest, len(read.data)
        after = self._file(task, read.size, read.mtime_ns, digest)
        if before is not None and not task.rebuild and before.hash == digest and before.path == file.path:
            known = () if before.problem is None else (before.problem,)
            return PreparedFile(task, after._replace(problem=before.problem), None, size=size, problems=known)
        extraction, text, remarks = _text_of(read.data, file.path)
        if isinstance(extraction, str):
            return PreparedFile(task, after._replace(problem=extraction), [], size=size, problems=(extraction,))
        from septet.files.documents import document_of

        redacted: Mapping[str, int] = {}
        if self._redactor is not None and self._redact_texts:
            text, redacted = self._redactor.redact(text)
            if extraction is not None:
                extraction = extraction._replace(title=self._redactor.redact(extraction.title).text)
        document = document_of(text, file.path, read.mtime_ns / 1e9, self._chunking, extraction)
        problems = (*remarks, *document.problems)
        after = after._replace(problem="; ".join(problems) or None)
        return PreparedFile(
            *(task, after, *self._rows(document.chunks, after)),
            size=size,
            problems=problems,
            redacted=redacted,
        )

    def _session(self, task: Task) -> PreparedFile:
        file, before = task.file, task.before
        fingerprint = print_of(file.real)
        if isinstance(fingerprint, str):
            return PreparedFile(task, None, None, reason=fingerprint)
        renamed = before is not None and before.path != file.path
        after = self._file(task, fingerprint.size, fingerprint.mtime_ns, fingerprint.digest)
        # A transcript with a new time but the same size may have been edited, to remove a secret: read all of it.
        rebuild = task.rebuild or renamed or (before is not None and before.size == fingerprint.size)
        # Read all of it too if a chunk was altered in the vault: appending would keep the altered chunk.
        rebuild = rebuild or (before is not None and before.problem is not None and ALTERED in before.problem)
        if before is not None and not task.rebuild and before[3:8] == after[3:8]:
            known = () if before.problem is None else (before.problem,)
            return PreparedFile(task, after._replace(problem=before.problem), None, problems=known)
        from septet.files.sessions import session_of

        # A new name gives all chunks a new title.
        state = None if before is None or rebuild else before.state
        literal = self._chunking.variant == "literal"
        draft = session_of(file, state, self._chunking, self._redactor, literal=literal)
        after = after._replace(state=draft.state, problem="; ".join(draft.problems) or None)
        return PreparedFile(
            *(task, after, *self._rows(draft.chunks, after)),
            keep=draft.keep,
            stored=draft.stored,
            size=draft.size,
            problems=draft.problems,
            redacted=draft.redacted,
        )

    def _rows(self, chunks: Sequence[ChunkDraft], file: FileRow) -> tuple[list[EntryRow], list[tuple[Mentioned, ...]]]:
        """Return the chunks of a file as rows, here rather than in the writer's thread, and the mentions of each."""
        mentions = [
            tuple(
                row
                for target, anchor, type in chunk.mentions
                if (row := stored_as(target, anchor, type, file.path)) is not None
            )
            for chunk in chunks
        ]
        return rows_of_chunks((chunk.fields for chunk in chunks), self._fields(file.kind), file), mentions

    def _file(self, task: Task, size: int, mtime_ns: int, digest: str) -> FileRow:
        file, before = task.file, task.before
        number, id = (0, file_id(self._name, file.path, 0)) if before is None else (before.file, before.id)
        state = "{}" if before is None else before.state
        return FileRow(number, id, self._root, file.path, file.kind, size, mtime_ns, digest, state, self._now, None)


def _text_of(data: bytes, path: str) -> tuple[Extracted | str | None, str, tuple[str, ...]]:
    """Return the extraction of a PDF or HTML file (None for text), the text of the file, and remarks.

    For an unreadable file the first item is the reason, in one word.
    """
    ending = extracted_ending(path)
    if ending is None:
        text, remark = decoded(data)
        return "binary" if "\0" in text else None, text, () if remark is None else (remark,)
    from septet.files.extracting import extracted

    extraction = extracted(data, ending)
    return (extraction, "", ()) if isinstance(extraction, str) else (extraction, extraction.text, extraction.problems)


def ahead(
    prepare: Callable[[Task], PreparedFile], tasks: Sequence[Task], late: Callable[[], bool]
) -> Iterator[PreparedFile]:
    """Yield prepared files in order until ``late``; a thread reads ahead of the caller."""
    if len(tasks) <= FEW:
        for task in tasks:
            if late():
                return
            yield prepare(task)
        return
    stop, room = threading.Event(), _Room(MOST_WAITING)
    done: queue.SimpleQueue[PreparedFile | BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            for task in tasks:
                if stop.is_set() or late():
                    break
                room.wait(task.file.size, stop)
                done.put(prepare(task))
            done.put(None)
        except BaseException as fault:  # noqa: BLE001 - raised in the caller's thread, in order
            done.put(fault)

    threading.Thread(target=work, name="septet-reader", daemon=True).start()
    try:
        while (file := done.get()) is not None:
            if isinstance(file, BaseException):
                raise file
            room.free(file.task.file.size)
            yield file
    finally:
        stop.set()


def batches(prepared: Iterable[PreparedFile], most_chunks: int) -> Iterator[list[PreparedFile]]:
    """Yield prepared files in batches of one transaction; a file is never split."""
    batch: list[PreparedFile] = []
    chunks, size, since = 0, 0, time.monotonic()
    for file in prepared:
        batch.append(file)
        chunks += len(file.rows or ())
        size += file.size
        if chunks >= most_chunks or size >= MOST_BYTES or time.monotonic() - since >= MOST_S:
            yield batch
            batch, chunks, size, since = [], 0, 0, time.monotonic()
    if batch:
        yield batch


class _Room:
    """Limits the waiting bytes; a single file always has room."""

    def __init__(self, most: int) -> None:
        self._most, self._used, self._freed = most, 0, threading.Condition()

    def wait(self, size: int, stop: threading.Event) -> None:
        with self._freed:
            while self._used and self._used + size > self._most and not stop.is_set():
                self._freed.wait(0.1)
            self._used += size

    def free(self, size: int) -> None:
        with self._freed:
            self._used -= size
            self._freed.notify_all()
