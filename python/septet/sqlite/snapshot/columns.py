"""The table of columns: facts of every entry in a snapshot, by slot.

To add a fact for searches, add a line to `COLUMNS` (and a migration for a new column of ``entries``). The query of the
facts, the buffers, the snapshot and the sidecar are all driven by this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.model.arrays import AppendBuffer, ColumnArrays, NameTable, Slots
from septet.sqlite.snapshot.postings import PostingsBuffers
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.snapshot.vector_space import VectorLayer
from septet.sqlite.tables.fragments import FINDABLE, SEARCHABLE


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


class Buffers:
    """Growing arrays by slot; only the manager appends, under its lock.

    Args:
        table: the columns.
        columns: initial arrays, one per column; may be mapped from a file.
        names: names of the numbered columns.
    """

    def __init__(
        self,
        table: Sequence[FactColumn] = COLUMNS,
        columns: Mapping[str, NDArray[Any]] | None = None,
        names: NameTable | None = None,
    ) -> None:
        self.table = tuple(table)
        #: SQL expressions of the values that `facts` takes, in order.
        self.sources = [column.expression for column in table]
        self.names = NameTable() if names is None else names
        #: Arrays by column, with spare capacity after the slots in use. Not an `AppendBuffer` each: a change of one
        #: entry appends to all of them, one call each.
        self._arrays = {c.name: np.empty(0, dtype=c.dtype) if columns is None else columns[c.name] for c in table}
        self._slots = len(self._arrays["rows"])
        #: Slots with limited validity.
        self.bounded = AppendBuffer.of(_bounded(self._arrays))
        self.dead = self._slots - int(np.count_nonzero(self._arrays["alive"]))
        self.vectors: dict[int, VectorLayer] = {}
        self.postings: PostingsBuffers | None = None
        #: Sidecar that may back the arrays.
        self.file: _core.ArrayFile | None = None

    def __len__(self) -> int:
        return self._slots

    def facts(self, rows: Sequence[tuple[Any, ...]]) -> ColumnArrays:
        """Convert rows read with `sources` to one array per column."""
        return facts_of(self.table, rows, self.names)

    def append(self, facts: ColumnArrays) -> Slots:
        """Append a slot per live entry and return the new slots. Published snapshots do not change."""
        first = self._slots
        slots = first + len(facts["rows"])
        if slots > first:
            added = _bounded(facts)
            if len(added):
                self.bounded.append(added + first)
            for name, array in self._arrays.items():
                if slots > len(array):
                    # Growth by half makes appends amortized O(1); snapshots keep the old array.
                    grown = np.empty(max(slots, len(array) * 3 // 2, 64), dtype=array.dtype)
                    grown[:first] = array[:first]
                    self._arrays[name] = array = grown
                array[first:slots] = facts[name]
            self._slots = slots
        return np.arange(first, slots, dtype=np.int64)

    def kill(self, slots: Slots) -> None:
        """Mark slots as dead: their entries were updated or deleted."""
        if len(slots):
            # A copy, because older snapshots read the old array.
            alive = self._arrays["alive"].copy()
            alive[slots] = False
            self._arrays["alive"] = alive
            self.dead += len(slots)

    def publish(self, generation: int, hidden: int | None = None, writer: str = "") -> Snapshot:
        """Return a snapshot of all slots, without vectors and postings.

        Args:
            hidden: number of slots that are dead or not searchable; None to count them.
            writer: writer of the generation.
        """
        columns: dict[str, NDArray[Any]] = {}
        for name, array in self._arrays.items():
            columns[name] = view = array[: self._slots]
            view.flags.writeable = False
        if hidden is None:
            hidden = self._slots - int(np.count_nonzero(columns["alive"] & columns["searchable"]))
        bounded, names = self.bounded.view(), self.names
        return Snapshot(
            *(generation, MappingProxyType(columns), names.names, names.native, hidden, bounded),
            writer=writer,
            file=self.file,
        )


def _bounded(facts: ColumnArrays) -> Slots:
    slots: Slots = ((facts["valid_from"] != -np.inf) | (facts["valid_until"] != np.inf)).nonzero()[0]
    return slots
