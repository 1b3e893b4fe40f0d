"""Source: records in turn, each a dict or the error that it is, and where they stand."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, TypeAlias

from septet.errors import EntryError
from septet.model.entry import Entry

__all__ = ["MAX_LINE_CHARS", "Found", "LeftOut", "Source", "bounded_lines"]

#: The text, the attrs and the vectors of an entry take less in any vault of sense.
MAX_LINE_CHARS = 64 * 2**20

#: A record, or what is wrong with it; the next one can be read all the same.
Found: TypeAlias = "Mapping[Any, Any] | Entry | EntryError"


class LeftOut(EntryError):
    """A file of a folder that holds no text: it is counted, but never stops an import."""


class Source(ABC):
    """Records in turn. What a source raises ends an import: nothing behind it can be read.

    Attributes:
        line: where the last record began, from 1.
        path: the file in a folder that it came from; otherwise empty.
        origin: `Entry.source` of what does not say its own.
        unit: what ``line`` counts.
        length: how many records there are, if that is known.
        counted: whether each record of ``length`` is an entry, numbered by ``line``.
        json: whether records are JSON, where an export marks links and feedback.
        notes: what there is to say about the source.
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
    def __iter__(self) -> Iterator[Found]: ...

    def total(self, stored: int) -> int | None:
        """Return how many records there are, of a file estimated from what is read of it; None if unknown."""
        if self.length is not None or self._file is None or self._file.closed:
            return self.length
        read = self._file.tell()
        return max(stored, round(stored * self._size / read)) if read and stored else None


def bounded_lines(source: Any, count: Source) -> Iterator[str | bytes]:
    """Yield the lines of a stream, or of lines, each of a bounded length, and count them.

    Raises:
        EntryError: a line is too long, or no text, or a stream of text cannot be decoded.
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
        raise EntryError(f"it, or one of the next, is not UTF-8 ({fault.reason}): convert the source first") from None
