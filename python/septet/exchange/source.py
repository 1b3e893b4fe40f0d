"""Iterators over records, each item a dict or the error of that record; and the result of an import."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias

from septet.errors import EntryError
from septet.model.entry import Entry

#: Maximum characters of a line: more than the text, attrs and vectors of any sensible entry.
MAX_LINE_CHARS = 64 * 2**20

#: A record, or its error; iteration continues after an error.
Record: TypeAlias = "Mapping[Any, Any] | Entry | EntryError"
#: Format of a source: JSON lines; a JSON array or concatenated objects; a table; texts.
Format: TypeAlias = Literal["jsonl", "json", "csv", "tsv", "text"]
#: Treatment of fields that an entry does not have.
Rest: TypeAlias = Literal["attrs", "drop", "error"]


class LeftOut(EntryError):
    """A skipped file of a folder: it is counted but never stops an import."""


class Source(ABC):
    """An iterator over records. An exception ends the import: the rest of the source is unreadable.

    Attributes:
        line: first line of the last record, from 1.
        path: path of its file in a folder; otherwise empty.
        origin: `Entry.source` of records without one.
        unit: unit of ``line``.
        length: number of records, if known.
        counted: True if each record of ``length`` is an entry, numbered by ``line``.
        json: True if records are JSON, in which an export marks links and feedback.
        notes: notes about the source.
    """

    counted = False
    json = True
    unit = "line"

    def __init__(self, file: BinaryIO | None = None, *, length: int | None = None) -> None:
        self.line = 0
        self.path = ""
        self.origin = "import"
        self.length = length
        self.notes: list[str] = []
        self._file = file
        self._size = 0 if file is None else os.fstat(file.fileno()).st_size

    @abstractmethod
    def __iter__(self) -> Iterator[Record]: ...

    def total(self, stored: int) -> int | None:
        """Return the number of records, for a file estimated from the part read so far; None if unknown."""
        if self.length is not None or self._file is None or self._file.closed:
            return self.length
        read = self._file.tell()
        return max(stored, round(stored * self._size / read)) if read and stored else None


def bounded_lines(source: Any, count: Source) -> Iterator[str | bytes]:
    """Yield and count the lines of a stream or an iterable, of bounded length.

    Raises:
        EntryError: a line is too long or not a text, or a text stream cannot be decoded.
    """
    readline = getattr(source, "readline", None)
    lines: Iterable[Any] = source if readline is None else iter(lambda: readline(MAX_LINE_CHARS + 1), None)
    try:
        for line in lines:
            if not line and readline is not None:
                return
            count.line += 1
            if not isinstance(line, (str, bytes, bytearray)):
                raise EntryError(f"it is {type(line).__name__}, not a line of text")
            if len(line) > MAX_LINE_CHARS:
                raise EntryError(f"it has more than {MAX_LINE_CHARS:,} characters: is that the right format?")
            yield line if isinstance(line, str) else bytes(line)
    except UnicodeDecodeError as fault:
        count.line += 1
        raise EntryError(
            f"this line or one of the next is not UTF-8 ({fault.reason}): convert the source to UTF-8 first"
        ) from None


class ImportFault(NamedTuple):
    """A record that was not stored.

    Attributes:
        line: number of its first line, from 1; for dicts and frames, of the record; 0 for a whole file.
        path: path of the file inside an imported folder; otherwise empty.
        message: the fault and its remedy.
    """

    line: int
    path: str
    message: str

    @property
    def place(self) -> str:
        """The location as shown in errors."""
        return self.path or f"line {self.line}"


#: Treatment of a record that cannot be stored: stop, skip it, or call a function, which may raise, and skip it.
OnError: TypeAlias = "Literal['stop', 'skip'] | Callable[[ImportFault], object]"


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        entries: number of stored entries of the source, unchanged ones included. The last of several records with the
            same id counts.
        links: number of stored links.
        feedback: number of stored rows of feedback.
        unchanged: number of entries that were already equal and were not written.
        skipped: number of records that were not stored.
        errors: the first 100 faults.
        notes: assumptions and oddities, such as dates without a time zone, names in ``map`` that no record has, and
            duplicate ids.
    """

    entries: int
    links: int
    feedback: int
    unchanged: int = 0
    skipped: int = 0
    errors: tuple[ImportFault, ...] = ()
    notes: tuple[str, ...] = ()
