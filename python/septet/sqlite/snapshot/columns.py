"""The table of columns: facts of every entry in a snapshot, by slot.

To add a fact for searches, add a line to `COLUMNS` (and a migration for a new column of ``entries``). The query of the
facts, the buffers, the snapshot and the sidecar are all driven by this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.model.arrays import NameTable
from septet.sqlite.tables.fragments import FINDABLE, SEARCHABLE

#: One array per column, all of the same length.
ColumnArrays: TypeAlias = Mapping[str, NDArray[Any]]


class FactColumn(NamedTuple):
    """One fact of every entry.

    Attributes:
        name: name in snapshots and sidecars.
        dtype: dtype of the array.
        source: SQL expression over ``entries e``.
        fill: value for NULL; None if the source is never NULL.
        numbered: True if the source is text; the array contains indexes into the snapshot's `names`.
        saved: True if sidecars contain it; otherwise it is read from the store when the sidecar is opened.
    """

    name: str
    dtype: type[np.generic]
    source: str
    fill: float | str | None = None
    numbered: bool = False
    saved: bool = True

    @property
    def expression(self) -> str:
        """The SQL expression with NULL replaced."""
        if self.fill is None:
            return self.source
        text = f"'{self.fill}'" if isinstance(self.fill, str) else repr(self.fill).replace("inf", "9e999")
        return f"coalesce({self.source}, {text})"


COLUMNS: tuple[FactColumn, ...] = (
    FactColumn("rows", np.int64, "e.row"),
    # Searches may return the entry, and the slot is its current one: buffers clear it when the entry is updated.
    FactColumn("alive", np.bool_, FINDABLE),
    FactColumn("searchable", np.bool_, SEARCHABLE),
    FactColumn("valid_from", np.float64, "e.valid_from", fill=-np.inf),
    FactColumn("valid_until", np.float64, "e.valid_until", fill=np.inf),
    FactColumn("created_at", np.float64, "e.created_at"),
    FactColumn("updated_at", np.float64, "e.updated_at"),
    FactColumn("kind", np.int32, "e.kind", numbered=True),
    FactColumn("severity", np.int32, "e.severity", numbered=True),
    FactColumn("domain", np.int32, "e.domain", numbered=True),
)


def facts_of(
    columns: Sequence[FactColumn], rows: Sequence[tuple[Any, ...]], names: NameTable
) -> dict[str, NDArray[Any]]:
    """Convert rows read with the columns' expressions to one array per column."""
    values: Iterable[Sequence[Any]] = zip(*rows) if rows else ((),) * len(columns)
    arrays: dict[str, NDArray[Any]] = {}
    for column, column_values in zip(columns, values):
        arrays[column.name] = np.array(
            names.numbers(column_values) if column.numbered else column_values, dtype=column.dtype
        )
    return arrays
