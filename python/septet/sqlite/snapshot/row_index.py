"""From a store's rows to slots: sorted arrays, and a few later changes beside them.

A changed row moves the index from generation to generation without a copy of the sorted arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from septet.sqlite.snapshot.arrays import Mask, Slots

__all__ = ["RowIndex"]

#: Later changes are merged into the sorted arrays when there are more than this, and more than a 64th of all rows.
FEW = 1_024

_NONE: Slots = np.empty(0, dtype=np.int64)


class RowIndex(NamedTuple):
    """The slot of each row ``(r,)``, sorted by row, and of rows that changed since ``(c,)``, -1 for deleted ones."""

    rows: Slots
    slots: Slots
    late_rows: Slots
    late_slots: Slots

    @classmethod
    def of(cls, rows: Slots, alive: Mask) -> RowIndex:
        """Index the rows of slots ``(s,)`` that are alive."""
        slots = np.flatnonzero(alive)
        return cls(*_by_row(rows[slots], slots), _NONE, _NONE)

    def find(self, queried: Slots) -> Slots:
        """Return the slot of each row ``(m,)``, -1 for rows that are not there."""
        found = _find(self.rows, self.slots, queried, -1)
        return _find(self.late_rows, self.late_slots, queried, found) if len(self.late_rows) else found

    def moved(self, rows: Slots, slots: Slots) -> RowIndex:
        """Return the index after rows ``(m,)``, sorted, got other slots ``(m,)``, -1 for rows that were deleted."""
        late = _merged((self.late_rows, self.late_slots), (rows, slots))
        if len(late[0]) <= max(FEW, len(self.rows) // 64):
            return RowIndex(self.rows, self.slots, *late)
        whole, at = _merged((self.rows, self.slots), late)
        there = at >= 0
        return RowIndex(whole[there], at[there], _NONE, _NONE)


def _find(rows: Slots, slots: Slots, queried: Slots, otherwise: Slots | int) -> Slots:
    if not len(rows):
        return np.full(len(queried), otherwise, dtype=np.int64)
    where = np.minimum(rows.searchsorted(queried), len(rows) - 1)
    found: Slots = np.where(rows[where] == queried, slots[where], otherwise)
    return found


def _merged(old: tuple[Slots, Slots], new: tuple[Slots, Slots]) -> tuple[Slots, Slots]:
    """Merge two sorted lists of rows and slots; a row in both keeps its new slot."""
    (rows, slots), (more, at) = old, new
    if len(rows) and len(more) and more[0] <= rows[-1]:
        # Most changes are new entries, whose rows come after all others.
        stays = ~np.isin(rows, more)
        rows, slots = rows[stays], slots[stays]
    return _by_row(np.concatenate([rows, more]), np.concatenate([slots, at]))


def _by_row(rows: Slots, slots: Slots) -> tuple[Slots, Slots]:
    if (rows[1:] > rows[:-1]).all():
        return rows, slots
    order = np.argsort(rows, kind="stable")
    return rows[order], slots[order]
