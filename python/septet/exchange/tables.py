"""Tables: comma- or tab-separated values with a header."""

from __future__ import annotations

import csv
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from septet.errors import EntryError
from septet.exchange.rows import is_exported, record_of
from septet.exchange.source import Found, Source, bounded_lines
from septet.model.drafts import MOST_CHARS

__all__ = ["Table"]

#: The delimiters that are looked for in the header, the likeliest first.
DELIMITERS = ",;\t|"
#: Rows that are read at a time.
ROWS = 64

# One and the same thread may read a table whose lines come from another one.
_limit = threading.RLock()


class Table(Source):
    """The rows of a table as dicts of texts by the names in its header; empty cells are left out.

    A table that `septet export` wrote has records as they were.

    Args:
        delimiter: None to take the one that the header has most of.
    """

    json = False

    def __init__(self, source: Any, file: BinaryIO | None = None, *, delimiter: str | None = None) -> None:
        super().__init__(file)
        self._source = source
        self._delimiter = delimiter

    def __iter__(self) -> Iterator[Found]:
        counter = _Counter()
        lines = self._text(counter)
        first = next((line for line in lines if line.strip()), None)
        if first is None:
            return
        before = counter.line - 1
        reader = csv.reader(_chained(first, lines), delimiter=self._delimiter or _delimiter(first), strict=True)
        names: list[str] | None = None
        for line, row in _rows(reader, self):
            self.line = before + line
            if names is None:
                names = _names(row)
                self.json = is_exported(names)
            elif isinstance(row, EntryError):
                yield row
            elif len(row) > len(names):
                yield EntryError(f"it has {len(row):,} fields, the header {len(names):,}: quote what holds a delimiter")
            elif row:
                given = {name: cell for name, cell in zip(names, row) if cell}
                yield _exported(given) if self.json else given

    def _text(self, counter: Source) -> Iterator[str]:
        begun = False
        for line in bounded_lines(self._source, counter):
            # A byte that is no UTF-8 becomes a surrogate, which the entry's own checks refuse.
            text = line if isinstance(line, str) else line.decode("utf-8", "surrogateescape")
            yield text if begun else text.removeprefix("\ufeff")
            begun = True


class _Counter(Source):
    """Counts the lines that are read, which are ahead of those that were given out."""

    def __iter__(self) -> Iterator[Found]:
        return iter(())


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _rows(reader: Any, source: Source) -> Iterator[tuple[int, Any]]:
    """Yield each row, or the error that it is, with the line that it begins in."""
    while True:
        found: list[tuple[int, Any]] = []
        with _long_cells():
            for _ in range(ROWS):
                line = reader.line_num + 1
                try:
                    row = next(reader, None)
                except csv.Error as fault:
                    row = EntryError(f"it is no row of a table: {fault}")
                if row is None:
                    break
                found.append((line, row))
        yield from found
        if len(found) < ROWS:
            return


@contextmanager
def _long_cells() -> Iterator[None]:
    """Let the csv module take cells as long as an entry's text; its own bound holds for the whole process."""
    with _limit:
        before = csv.field_size_limit(MOST_CHARS)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _delimiter(header: str) -> str:
    bare = header.split('"')[::2]
    counts = Counter("".join(bare))
    return max(DELIMITERS, key=lambda one: counts[one])


def _exported(row: dict[str, str]) -> Found:
    try:
        return record_of(row)
    except EntryError as fault:
        return fault


def _names(header: Any) -> list[str]:
    if isinstance(header, EntryError):
        raise header
    names = [name.strip() or f"column {number}" for number, name in enumerate(header, start=1)]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise EntryError(f"the header has {twice!r} twice: rename one")
    return names
