"""Tables: CSV as records, entries as rows, and data frames of other libraries."""

from __future__ import annotations

import csv
import json
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from septet.errors import EntryError
from septet.exchange.source import Record, Source, bounded_lines
from septet.inputs.arguments import shown
from septet.inputs.times import Times, iso_time
from septet.model.drafts import MOST_CHARS

#: Delimiters to try on the header, the likeliest first.
DELIMITERS = ",;\t|"
#: Rows read at a time.
ROWS = 64

# Reentrant: the lines of a table may come from another table in the same thread.
_limit = threading.RLock()
#: The header of an export; ``record`` identifies it, as in JSON.
COLUMNS = (
    "record", "id", "title", "kind", "type", "domain", "severity", "trust", "tags", "context", "description", "source",
    "parent", "created_at", "updated_at", "valid_from", "valid_until", "span", "attrs",
)  # fmt: skip
_TIMES = frozenset({"created_at", "updated_at", "valid_from", "valid_until"})
_OBJECTS = frozenset({"span", "attrs"})
#: Texts that a spreadsheet would evaluate as a formula, and those already escaped by an apostrophe.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = re.compile(r"'+[=+\-@\t\r]")
_FRACTION = re.compile(r"(.*:\d\d)(\.\d+)Z", re.ASCII)
#: Fractional digits of a time to try; the first exact representation is written.
_DIGITS = (3, 6, 7, 9)
#: Rows of a frame converted to dicts at a time.
FRAME_ROWS = 500


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
        reader = csv.reader(chain([first], lines), delimiter=self._delimiter or _delimiter(first), strict=True)
        names: list[str] | None = None
        for line, row in _rows(reader, self):
            self.line = before + line
            if names is None:
                names = _names(row)
                # The header of an export; columns may be missing and in any order.
                self.json = "record" in names and set(names) <= set(COLUMNS)
            elif isinstance(row, EntryError):
                yield row
            elif len(row) > len(names):
                yield EntryError(
                    f"the row has {len(row):,} fields, but the header has {len(names):,}: quote fields that contain a "
                    "delimiter"
                )
            elif row:
                cells = {name: cell for name, cell in zip(names, row) if cell}
                try:
                    yield record_of(cells) if self.json else cells
                except EntryError as fault:
                    yield fault

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


def _names(header: Any) -> list[str]:
    if isinstance(header, EntryError):
        raise header
    names = [name.strip() or f"column {number}" for number, name in enumerate(header, start=1)]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise EntryError(f"the header has {twice!r} twice: rename one")
    return names


def guarded_cell(text: str) -> str:
    """Return a text as a cell that no spreadsheet evaluates: formulas are escaped by an apostrophe."""
    return f"'{text}" if _FORMULA.match(text) else text


def row_of(record: Mapping[str, Any]) -> list[str]:
    """Return the cells of an exported record, one per column of `COLUMNS`."""
    return [guarded_cell(_cell(name, record.get(name))) for name in COLUMNS]


def record_of(row: Mapping[str, str]) -> dict[str, Any]:
    """Return the record of an exported row.

    Raises:
        EntryError: an invalid cell.
    """
    plain = {name: cell[1:] if _GUARDED.match(cell) else cell for name, cell in row.items()}
    return {name: _value(name, cell) for name, cell in plain.items()}


def tags_in(text: str) -> Any:
    """Return the tags of a text: a JSON list, or names separated by commas or semicolons.

    Raises:
        EntryError: the text begins like a JSON list but is invalid.
    """
    if text.lstrip().startswith("["):
        return _json(text, "tags")
    return [tag.strip() for tag in text.replace(";", ",").split(",") if tag.strip()]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in _TIMES:
        return _time(value)
    if name == "tags":
        text = ", ".join(value)
        if not text.startswith("[") and tags_in(text) == list(value):
            return text
    return json.dumps(value, ensure_ascii=False) if name in _OBJECTS or name == "tags" else str(value)


def _value(name: str, cell: str) -> Any:
    if name in _TIMES:
        return _epoch(cell, name)
    if name == "tags":
        return tags_in(cell)
    return _json(cell, name) if name in _OBJECTS else cell


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise EntryError(f"{name} is {text[:80]!r}: wanted JSON") from None


def _time(epoch: float) -> str:
    """Return a time as ISO text that is exact; as a number if no date is."""
    whole = math.floor(epoch)
    text, rest = iso_time(whole), epoch - whole
    if not text.endswith("Z"):
        return repr(float(epoch))
    if not rest:
        return text
    for digits in _DIGITS:
        fraction = f"{rest:.{digits}f}"
        if whole + float(fraction) == epoch and fraction[0] == "0":
            return f"{text[:-1]}{fraction[1:]}Z"
    return repr(float(epoch))


def _epoch(text: str, name: str) -> Any:
    try:
        return float(text)
    except ValueError:
        pass
    exact = _FRACTION.fullmatch(text.strip())
    when: Any = Times().epoch(f"{exact[1]}Z" if exact else text, name)
    return when if when is None else when.timestamp() + (float(exact[2]) if exact else 0.0)


class FrameRows:
    """The rows of a frame as dicts by column, sliced lazily; missing values are None.

    Args:
        columns: returns the rows ``start`` to ``stop`` as lists of Python values by column.
    """

    def __init__(self, count: int, columns: Callable[[int, int], dict[str, list[Any]]]) -> None:
        self._count = count
        self._columns = columns

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: slice) -> list[dict[str, Any]]:
        start, stop, _ = rows.indices(self._count)
        columns = self._columns(start, stop)
        names = list(columns)
        return [dict(zip(names, values)) for values in zip(*columns.values())]


def frame_rows(value: Any) -> FrameRows | None:
    """Return the rows of a frame; None if the value is not a frame.

    Raises:
        EntryError: duplicate column names, or a name that is not a text.
    """
    kind = type(value)
    if hasattr(kind, "to_pydict") and hasattr(kind, "slice"):
        names: Sequence[Any] = value.schema.names
        columns: Callable[[Any, int, int], dict[str, list[Any]]] = _arrow
    elif hasattr(kind, "get_columns") and hasattr(kind, "to_dict") and hasattr(kind, "slice"):
        names, columns = value.columns, _polars
    elif hasattr(kind, "iloc") and hasattr(kind, "columns") and hasattr(kind, "notna"):
        names, columns = list(value.columns), _pandas
    else:
        return None
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise EntryError(f"the frame has a column named {shown(odd)}: wanted names of type str; rename it")
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise EntryError(f"the frame has the column {shown(twice)} twice: rename one")
    return FrameRows(len(value), partial(columns, value))


class Frame(Source):
    """The rows of a frame as records."""

    counted = True
    json = False
    unit = "row"

    def __init__(self, rows: FrameRows) -> None:
        super().__init__(length=len(rows))
        self._rows = rows

    def __iter__(self) -> Iterator[Record]:
        for start in range(0, len(self._rows), FRAME_ROWS):
            for record in self._rows[start : start + FRAME_ROWS]:
                self.line += 1
                yield {name: value for name, value in record.items() if value is not None}


def _arrow(table: Any, start: int, stop: int) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = table.slice(start, stop - start).to_pydict()
    return values


def _polars(frame: Any, start: int, stop: int) -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = frame.slice(start, stop - start).to_dict(as_series=False)
    return values


def _pandas(frame: Any, start: int, stop: int) -> dict[str, list[Any]]:
    part = frame.iloc[start:stop]
    by_name = {}
    for name in part.columns:
        values = part[name].tolist()
        # NaN, NaT and NA all mean missing.
        if not (known := part[name].notna()).all():
            values = [value if present else None for value, present in zip(values, known.tolist())]
        by_name[name] = values
    return by_name
