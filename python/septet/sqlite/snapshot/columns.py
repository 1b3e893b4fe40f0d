"""The one table of columns: what a snapshot knows of every entry, by slot.

To add a fact that searches can use, add a line to `COLUMNS` (and, for a new column of ``entries``, a migration). The
query that reads the facts, the buffers, the snapshot and the sidecar all follow this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.sqlite.tables.fragments import FINDABLE, SEARCHABLE

__all__ = ["COLUMNS", "Column", "ColumnArrays", "NameTable", "facts_of"]

#: One array per column, all of the same length.
ColumnArrays: TypeAlias = Mapping[str, NDArray[Any]]


class Column(NamedTuple):
    """One fact about every entry.

    Attributes:
        name: what snapshots and sidecars call it.
        dtype: of the array.
        source: the SQL expression over ``entries e`` that gives it.
        fill: stands in for NULL; None when the source is never NULL.
        numbered: the source is text; the array holds numbers into the snapshot's `names`.
        saved: a sidecar holds it. A column that it lacks is read from the store when the sidecar is opened.
    """

    name: str
    dtype: type[np.generic]
    source: str
    fill: float | str | None = None
    numbered: bool = False
    saved: bool = True

    @property
    def expression(self) -> str:
        """The SQL expression that is never NULL."""
        if self.fill is None:
            return self.source
        text = f"'{self.fill}'" if isinstance(self.fill, str) else repr(self.fill).replace("inf", "9e999")
        return f"coalesce({self.source}, {text})"


COLUMNS: tuple[Column, ...] = (
    Column("rows", np.int64, "e.row"),
    # Whether searches may find the slot's entry, and the slot is its current one: buffers clear it when the entry is
    # written again.
    Column("alive", np.bool_, FINDABLE),
    Column("searchable", np.bool_, SEARCHABLE),
    Column("valid_from", np.float64, "e.valid_from", fill=-np.inf),
    Column("valid_until", np.float64, "e.valid_until", fill=np.inf),
    Column("created_at", np.float64, "e.created_at"),
    Column("updated_at", np.float64, "e.updated_at"),
    Column("kind", np.int32, "e.kind", numbered=True),
    Column("severity", np.int32, "e.severity", numbered=True),
    Column("domain", np.int32, "e.domain", numbered=True),
)


class NameTable:
    """Texts by number, in order of first sight. It only grows, so successive snapshots share it."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = list(names)
        #: The same names, as searches read them.
        self.native = _core.NameTable()
        self.native.extend(self.names)
        self._numbers = {name: number for number, name in enumerate(self.names)}

    def numbers(self, names: Iterable[str]) -> list[int]:
        """Return the number of each text, a new one the first time."""
        known, names = self._numbers, list(names)
        for name in dict.fromkeys(names):
            if name not in known:
                known[name] = len(self.names)
                self.names.append(name)
                self.native.extend([name])
        return [known[name] for name in names]


def facts_of(columns: Sequence[Column], rows: Sequence[tuple[Any, ...]], names: NameTable) -> dict[str, NDArray[Any]]:
    """Return rows that were read with the columns' expressions as one array per column."""
    values: Iterable[Sequence[Any]] = zip(*rows) if rows else ((),) * len(columns)
    found: dict[str, NDArray[Any]] = {}
    for column, own in zip(columns, values):
        found[column.name] = np.array(names.numbers(own) if column.numbered else own, dtype=column.dtype)
    return found
