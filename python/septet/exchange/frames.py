"""Data frames of pandas, polars and Arrow, recognised by their methods without importing these libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from septet.errors import EntryError
from septet.exchange.source import Record, Source
from septet.inputs.arguments import shown

#: Rows converted to dicts at a time.
ROWS = 500


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
        make: Callable[[Any], Callable[[int, int], dict[str, list[Any]]]] = _arrow
    elif hasattr(kind, "get_columns") and hasattr(kind, "to_dict") and hasattr(kind, "slice"):
        names, make = value.columns, _polars
    elif hasattr(kind, "iloc") and hasattr(kind, "columns") and hasattr(kind, "notna"):
        names, make = list(value.columns), _pandas
    else:
        return None
    odd = next((name for name in names if not isinstance(name, str)), None)
    if odd is not None:
        raise EntryError(f"the frame has a column named {shown(odd)}: wanted names of type str; rename it")
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise EntryError(f"the frame has the column {shown(twice)} twice: rename one")
    return FrameRows(len(value), make(value))


class Frame(Source):
    """The rows of a frame as records."""

    counted = True
    json = False
    unit = "row"

    def __init__(self, rows: FrameRows) -> None:
        super().__init__(length=len(rows))
        self._rows = rows

    def __iter__(self) -> Iterator[Record]:
        for start in range(0, len(self._rows), ROWS):
            for record in self._rows[start : start + ROWS]:
                self.line += 1
                yield {name: value for name, value in record.items() if value is not None}


def _arrow(table: Any) -> Callable[[int, int], dict[str, list[Any]]]:
    def columns(start: int, stop: int) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = table.slice(start, stop - start).to_pydict()
        return values

    return columns


def _polars(frame: Any) -> Callable[[int, int], dict[str, list[Any]]]:
    def columns(start: int, stop: int) -> dict[str, list[Any]]:
        values: dict[str, list[Any]] = frame.slice(start, stop - start).to_dict(as_series=False)
        return values

    return columns


def _pandas(frame: Any) -> Callable[[int, int], dict[str, list[Any]]]:
    def columns(start: int, stop: int) -> dict[str, list[Any]]:
        part = frame.iloc[start:stop]
        by_name = {}
        for name in part.columns:
            column = part[name]
            values = column.tolist()
            # NaN, NaT and NA all mean missing.
            if not (known := column.notna()).all():
                values = [value if present else None for value, present in zip(values, known.tolist())]
            by_name[name] = values
        return by_name

    return columns
