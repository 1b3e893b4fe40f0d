"""The growing arrays shared by successive snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.model.arrays import NameTable, Slots
from septet.sqlite.snapshot.append_buffer import AppendBuffer
from septet.sqlite.snapshot.columns import COLUMNS, ColumnArrays, FactColumn, facts_of
from septet.sqlite.snapshot.postings import PostingsBuffers
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.snapshot.vector_space import VectorLayer


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
