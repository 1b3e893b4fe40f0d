"""The growing arrays behind successive snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.snapshot.append_buffer import AppendBuffer
from septet.snapshot.arrays import Slots
from septet.snapshot.columns import COLUMNS, Column, ColumnArrays, NameTable, facts_of
from septet.snapshot.postings import PostingsBuffers
from septet.snapshot.snapshot import Snapshot
from septet.snapshot.vector_space import VectorLayer

__all__ = ["Buffers"]


class Buffers:
    """Arrays by slot; only the manager appends, under its lock.

    Args:
        table: the columns to keep.
        columns: arrays to begin with, one per column; they may be mapped from a file.
        names: what their numbered columns point into.
    """

    def __init__(
        self,
        table: Sequence[Column] = COLUMNS,
        columns: Mapping[str, NDArray[Any]] | None = None,
        names: NameTable | None = None,
    ) -> None:
        self.table = tuple(table)
        if columns is None:
            self.columns = {column.name: AppendBuffer(column.dtype) for column in table}
        else:
            self.columns = {column.name: AppendBuffer.of(columns[column.name]) for column in table}
        self.names = NameTable() if names is None else names
        #: Slots whose validity has a limit.
        self.bounded = AppendBuffer.of(_bounded(self._views()))
        alive = self.columns["alive"].view()
        self.dead = len(alive) - int(np.count_nonzero(alive))
        self.vectors: dict[int, VectorLayer] = {}
        self.postings: PostingsBuffers | None = None

    def __len__(self) -> int:
        return len(self.columns["rows"])

    @property
    def sources(self) -> list[str]:
        """The SQL expressions whose values `facts` takes, in order."""
        return [column.source for column in self.table]

    def facts(self, rows: Sequence[tuple[Any, ...]]) -> ColumnArrays:
        """Return rows that were read with `sources` as one array per column."""
        return facts_of(self.table, rows, self.names)

    def append(self, facts: ColumnArrays) -> Slots:
        """Add a slot for every live entry and return the new slots."""
        first = len(self)
        self.bounded.append(_bounded(facts) + first)
        for name, buffer in self.columns.items():
            buffer.append(facts[name])
        return np.arange(first, len(self), dtype=np.int64)

    def kill(self, slots: Slots) -> None:
        """Mark slots as dead: their entries were written again or deleted."""
        if len(slots):
            # A new array, because older snapshots still read the old one.
            alive = self.columns["alive"].view().copy()
            alive[slots] = False
            self.columns["alive"] = AppendBuffer.of(alive)
            self.dead += len(slots)

    def publish(self, generation: int, hidden: int | None = None) -> Snapshot:
        """Return a snapshot of what was appended so far, without vectors and postings.

        Args:
            hidden: how many slots are dead or not searchable, if that is known.
        """
        columns = self._views()
        if hidden is None:
            hidden = len(self) - int(np.count_nonzero(columns["alive"] & columns["searchable"]))
        return Snapshot(generation, MappingProxyType(columns), self.names.names, hidden, self.bounded.view())

    def _views(self) -> dict[str, NDArray[Any]]:
        return {name: buffer.view() for name, buffer in self.columns.items()}


def _bounded(facts: ColumnArrays) -> Slots:
    return np.flatnonzero((facts["valid_from"] != -np.inf) | (facts["valid_until"] != np.inf))
