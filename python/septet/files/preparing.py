"""From files on the disk to drafts of chunks, while what was read before is being written."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.errors import SeptetError
from septet.files.mentions import stored_as
from septet.files.planning import Draft, file_id
from septet.files.steady import decoded, print_of, read_steadily
from septet.files.trees import extracted_ending
from septet.sqlite.tables.altered import ALTERED
from septet.sqlite.tables.files import FileRow

if TYPE_CHECKING:
    from septet.files.extracting import Extracted
    from septet.files.sources import Found
    from septet.files.tracking import Followed

__all__ = ["Prepared", "Preparer", "Task", "ahead"]

#: So many bytes of files wait for the thread that writes.
MOST_WAITING = 16 << 20
#: With fewer files a second thread costs more than it saves.
FEW = 8


class Task(NamedTuple):
    """A file to be read.

    Attributes:
        before: what the vault has of it, under this path or, for a renamed one, another; None for a new one.
        anew: read it into chunks although its bytes may be the same.
    """

    found: Found
    before: FileRow | None
    anew: bool


class Prepared(NamedTuple):
    """A file that was read.

    Attributes:
        after: the file as the vault should have it; None if it cannot be read, and ``reason`` says why.
        drafts: its chunks; None if its bytes are those that the vault has, so that only its time is noted.
        keep: so many leading chunks stay as they are, before the drafts.
        stored: how many chunks the vault must have for that; None if it may have any.
        problem: what there is to say of it.
    """

    task: Task
    after: FileRow | None
    drafts: list[Draft] | None
    keep: int = 0
    stored: int | None = None
    reason: str = ""
    size: int = 0
    problems: tuple[str, ...] = ()
    redacted: Mapping[str, int] = {}


class Preparer:
    """Reads the files of one root as its options say."""

    def __init__(self, followed: Followed, now: float) -> None:
        self._root, self._name, self._now = followed.number, followed.name, now
        self._chunking, self._redact_texts = followed.chunking, followed.redact == "all"
        self._redactor = followed.redactor() if followed.redact else None

    def __call__(self, task: Task) -> Prepared:
        """Return a file as drafts; nothing that is wrong with it raises."""
        try:
            return self._session(task) if task.found.kind == "session" else self._text(task)
        except (SeptetError, ValueError, RecursionError, OSError) as fault:
            return Prepared(task, None, None, reason=str(fault) or type(fault).__name__)
        except Exception as fault:  # noqa: BLE001 - one file never costs the others
            return Prepared(task, None, None, reason=f"{type(fault).__name__}: {fault}")

    def _text(self, task: Task) -> Prepared:
        found, before = task.found, task.before
        read = read_steadily(found.real)
        if isinstance(read, str):
            return Prepared(task, None, None, reason=read)
        digest, size = sha256(read.data).hexdigest(), len(read.data)
        after = self._file(task, read.size, read.mtime_ns, digest)
        if before is not None and not task.anew and before.hash == digest and before.path == found.path:
            known = () if before.problem is None else (before.problem,)
            return Prepared(task, after._replace(problem=before.problem), None, size=size, problems=known)
        made, text, odd = _text_of(read.data, found.path)
        if isinstance(made, str):
            return Prepared(task, after._replace(problem=made), [], size=size, problems=(made,))
        from septet.files.documents import document_of

        redacted: Mapping[str, int] = {}
        if self._redactor is not None and self._redact_texts:
            text, redacted = self._redactor.redact(text)
            if made is not None:
                made = made._replace(title=self._redactor.redact(made.title).text)
        document = document_of(text, found.path, read.mtime_ns / 1e9, self._chunking, made)
        problems = (*odd, *document.problems)
        drafts = drafts_of(document.chunks, found.path)
        after = after._replace(problem="; ".join(problems) or None)
        return Prepared(task, after, drafts, size=size, problems=problems, redacted=redacted)

    def _session(self, task: Task) -> Prepared:
        found, before = task.found, task.before
        seen = print_of(found.real)
        if isinstance(seen, str):
            return Prepared(task, None, None, reason=seen)
        renamed = before is not None and before.path != found.path
        after = self._file(task, seen.size, seen.mtime_ns, seen.digest)
        # One that was touched may have been changed in the middle, to take something out: it did not grow, so read it.
        anew = task.anew or renamed or (before is not None and before.size == seen.size)
        # So is one of which a chunk was changed in the vault: what is read on leaves that as it is.
        anew = anew or (before is not None and before.problem is not None and ALTERED in before.problem)
        if before is not None and not task.anew and before[3:8] == after[3:8]:
            known = () if before.problem is None else (before.problem,)
            return Prepared(task, after._replace(problem=before.problem), None, problems=known)
        from septet.files.sessions import session_of

        # Under another name all chunks have another title.
        state = None if before is None or anew else before.state
        literal = self._chunking.variant == "literal"
        draft = session_of(found, state, self._chunking, self._redactor, literal=literal)
        return Prepared(
            task,
            after._replace(state=draft.state, problem="; ".join(draft.problems) or None),
            drafts_of(draft.chunks, found.path),
            keep=draft.keep,
            stored=draft.stored,
            size=draft.size,
            problems=draft.problems,
            redacted=draft.redacted,
        )

    def _file(self, task: Task, size: int, mtime_ns: int, digest: str) -> FileRow:
        found, before = task.found, task.before
        number, own = (0, file_id(self._name, found.path, 0)) if before is None else (before.file, before.id)
        state = "{}" if before is None else before.state
        return FileRow(number, own, self._root, found.path, found.kind, size, mtime_ns, digest, state, self._now, None)


def _text_of(data: bytes, path: str) -> tuple[Extracted | str | None, str, tuple[str, ...]]:
    """Return the text of a file, what it was got from if it is none itself, and what is odd about it.

    Of one of which nothing can be read, the reason comes first, in one word.
    """
    ending = extracted_ending(path)
    if ending is None:
        text, said = decoded(data)
        return "binary" if "\0" in text else None, text, () if said is None else (said,)
    from septet.files.extracting import extracted

    made = extracted(data, ending)
    return (made, "", ()) if isinstance(made, str) else (made, made.text, made.problems)


def drafts_of(chunks: Iterable[Any], path: str) -> list[Draft]:
    """Return the chunks of a document as drafts, with their mentions as the table has them."""
    made = []
    for chunk in chunks:
        said = (stored_as(one.target, one.anchor, one.type, path) for one in chunk.mentions)
        made.append(Draft(chunk.fields, tuple(one for one in said if one is not None)))
    return made


def ahead(prepare: Callable[[Task], Prepared], tasks: Sequence[Task], late: Callable[[], bool]) -> Iterator[Prepared]:
    """Yield files as they were prepared, in order, until it is late; a thread reads ahead of the caller."""
    if len(tasks) <= FEW:
        for task in tasks:
            if late():
                return
            yield prepare(task)
        return
    stop, room = threading.Event(), _Room(MOST_WAITING)
    done: queue.SimpleQueue[Prepared | BaseException | None] = queue.SimpleQueue()

    def work() -> None:
        try:
            for task in tasks:
                if stop.is_set() or late():
                    break
                room.wait(task.found.size, stop)
                done.put(prepare(task))
            done.put(None)
        except BaseException as fault:  # noqa: BLE001 - raised where the file would have come
            done.put(fault)

    threading.Thread(target=work, name="septet-reader", daemon=True).start()
    try:
        while (one := done.get()) is not None:
            if isinstance(one, BaseException):
                raise one
            room.free(one.task.found.size)
            yield one
    finally:
        stop.set()


class _Room:
    """How many bytes wait; one file always has room."""

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
