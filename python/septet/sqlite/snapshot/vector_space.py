"""The vectors of one space as growing arrays, shared by successive `VectorRows`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.model.arrays import AppendBuffer, Mask, Slots
from septet.model.vector import Space
from septet.sqlite.snapshot.snapshot import Snapshot, VectorRows
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import texts
from septet.sqlite.tables import vectors as stored

PAGE_ROWS = 5_000


class VectorLayer:
    """Unit rows, codes and slots of one space; only the manager appends, under its lock."""

    def __init__(self, space: Space) -> None:
        self.space = space
        #: Rows in a file; `_rows` are later ones.
        self._base: NDArray[np.float32] | _core.FileRows = np.empty((0, space.dimensions), dtype=np.float32)
        self._rows = AppendBuffer(np.float32, space.dimensions)
        self._slots = AppendBuffer(np.int64)
        self._codes = _core.Codes(space.dimensions)
        self._positions = AppendBuffer(np.int32)
        #: Sampling keys of the rows, and the latest sample.
        self._keys = AppendBuffer(np.uint32)
        self._sample: _core.Sample | None = None
        self._placed = 0

    @classmethod
    def of(cls, space: Space, rows: VectorRows, base: _core.FileRows) -> VectorLayer:
        """Start with rows in a file."""
        layer = cls(space)
        layer._base, layer._codes = base, rows.codes
        layer._slots, layer._positions = AppendBuffer.of(rows.slots), AppendBuffer.of(rows.positions)
        layer._keys, layer._sample = AppendBuffer.of(rows.keys), rows.sample
        layer._placed = len(rows.slots)
        return layer

    def replace_by_file(self, rows: VectorRows, base: _core.FileRows) -> None:
        """Replace rows and codes in memory by the same ones in a file."""
        first = len(self._base)
        rest = AppendBuffer(np.float32, self.space.dimensions)
        rest.append(self._rows.view()[len(base) - first :])
        rows.codes.append(rest.view())
        self._base, self._rows, self._codes = base, rest, rows.codes

    @property
    def added(self) -> int:
        """Number of rows in memory only."""
        return len(self._rows)

    def append(self, read: SqliteReading, rows: Slots, slots: Slots) -> None:
        """Append the vectors of entries, given the store's rows ``(m,)`` and their slots ``(m,)``."""
        for start in range(0, len(rows), PAGE_ROWS):
            part = slice(start, start + PAGE_ROWS)
            stored_rows = stored.of_rows(read, self.space, rows[part].tolist())
            self._append([row.vector for row in stored_rows], slots[part][[row.at for row in stored_rows]])

    def append_late(self, read: SqliteReading, snapshot: Snapshot, since: int) -> None:
        """Append the vectors written after a generation for entries whose slots had none."""
        if self.space.keyed_by != "text":
            return
        for page in texts.late_vectors(read, self.space, since):
            slots = snapshot.slots_of([row.at for row in page])
            # Slots beyond the positions are new: `append` has added their vectors.
            known = (slots >= 0) & (slots < len(self._positions))
            known[known] = self._positions.view()[slots[known]] < 0
            self._append([row.vector for row, is_new in zip(page, known) if is_new], slots[known])

    def view(self, sampled: Mask, dropped: Slots | None = None) -> VectorRows:
        """Return all rows.

        Args:
            sampled: mask of the snapshot's sampled slots ``(s,)``.
            dropped: slots that left the sample since the last view; None if unknown.
        """
        slots, known, placed = len(sampled), len(self._positions), self._slots.view()[self._placed :]
        numbers = np.arange(self._placed, len(self._slots), dtype=np.int32)
        fresh, is_late = np.full(slots - known, -1, dtype=np.int32), placed < known
        fresh[placed[~is_late] - known] = numbers[~is_late]
        self._positions.append(fresh)
        if is_late.any():
            # A copy, because an older snapshot reads the old array.
            positions = self._positions.view().copy()
            positions[placed[is_late]] = numbers[is_late]
            self._positions = AppendBuffer.of(positions)
        self._placed = len(self._slots)
        rows, row_slots = (self._base, self._rows.view()), self._slots.view()
        keys, sample = self._keys.view(), None
        if self._sample is not None and dropped is not None:
            fresh_rows = slice(self._placed - len(numbers), None)
            at = self._positions.view()[dropped]
            sample = self._sample.kept(keys[fresh_rows][sampled[row_slots[fresh_rows]]], keys[at[at >= 0]])
        self._sample = sample or _core.Sample(rows, keys, row_slots, sampled, self._sample)
        return VectorRows(rows, row_slots, self._codes, self._positions.view(), self._sample, keys)

    def write_first(self, count: int, to: _core.ArrayWriter, name: str) -> None:
        """Write the first rows ``(count, d)`` as a column."""
        base, more = self._base, self._rows.view()[: max(0, count - len(self._base))]
        if isinstance(base, _core.FileRows):
            to.rows(name, base, min(count, len(base)), more)
        else:
            to.column(name, 4, [more.reshape(-1).view(np.uint8)])

    def _append(self, blobs: Sequence[Any], slots: Slots) -> None:
        if len(blobs):
            matrix = np.frombuffer(b"".join(blobs), dtype="<f4").astype(np.float32, copy=False)
            unit = _core.unit_rows(matrix.reshape(len(blobs), self.space.dimensions))
            self._rows.append(unit)
            self._codes.append(unit)
            self._keys.append(_core.row_keys(unit))
            self._slots.append(slots)
