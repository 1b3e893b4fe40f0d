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
from septet.exchange.source import Record, Source, bounded_lines
from septet.model.drafts import MOST_CHARS

#: Delimiters to try on the header, the likeliest first.
DELIMITERS = ",;\t|"
#: Rows read at a time.
ROWS = 64

# Reentrant: the lines of a table may come from another table in the same thread.
_limit = threading.RLock()


class Table(Source):
    """The rows of a table as dicts of texts by header name, without empty cells.

    A table written by `septet export` yields the exported records.

    Args:
        delimiter: None for the most frequent one in the header.
    """

    json = False

    def __init__(self, source: Any, file: BinaryIO | None = None, *, delimiter: str | None = None) -> None:
        super().__init__(file)
        self._source = source
        self._delimiter = delimiter

    def __iter__(self) -> Iterator[Record]:
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
                cells = {name: cell for name, cell in zip(names, row) if cell}
                yield _exported(cells) if self.json else cells

    def _text(self, counter: Source) -> Iterator[str]:
        begun = False
        for line in bounded_lines(self._source, counter):
            # An invalid byte becomes a surrogate, which the checks of the entry refuse.
            text = line if isinstance(line, str) else line.decode("utf-8", "surrogateescape")
            yield text if begun else text.removeprefix("\ufeff")
            begun = True


class _Counter(Source):
    """Counts the lines read, which are ahead of the rows yielded."""

    def __iter__(self) -> Iterator[Record]:
        return iter(())


def _chained(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _rows(reader: Any, source: Source) -> Iterator[tuple[int, Any]]:
    """Yield each row, or its error, with its first line number."""
    while True:
        batch: list[tuple[int, Any]] = []
        with _long_cells():
            for _ in range(ROWS):
                line = reader.line_num + 1
                try:
                    row = next(reader, None)
                except csv.Error as fault:
                    row = EntryError(f"it is not a row of a table: {fault}")
                if row is None:
                    break
                batch.append((line, row))
        yield from batch
        if len(batch) < ROWS:
            return


@contextmanager
def _long_cells() -> Iterator[None]:
    """Raise the csv module's cell limit, which is global to the process, to the length of an entry's text."""
    with _limit:
        before = csv.field_size_limit(MOST_CHARS)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _delimiter(header: str) -> str:
    bare = header.split('"')[::2]
    counts = Counter("".join(bare))
    return max(DELIMITERS, key=lambda delimiter: counts[delimiter])


def _exported(row: dict[str, str]) -> Record:
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
