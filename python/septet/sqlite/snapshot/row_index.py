"""Map a store's rows to slots: sorted arrays, and a small overlay of later changes.

A changed row updates the overlay without a copy of the sorted arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from septet.model.arrays import Mask, Slots

#: The overlay is merged into the sorted arrays if it exceeds this and 1/64 of all rows.
FEW = 1_024

_NONE: Slots = np.empty(0, dtype=np.int64)


class RowIndex(NamedTuple):
    """The slot of each row ``(r,)``, sorted by row, and an overlay of changed rows ``(c,)``, -1 if deleted."""

    rows: Slots
    slots: Slots
    late_rows: Slots
    late_slots: Slots

    @classmethod
    def of(cls, rows: Slots, alive: Mask) -> RowIndex:
        """Index the rows of live slots, given rows and mask by slot ``(s,)``."""
        slots = np.flatnonzero(alive)
        return cls(*_by_row(rows[slots], slots), _NONE, _NONE)

    def find(self, queried: Slots) -> Slots:
        """Return the slot of each row ``(m,)``, -1 for unknown rows."""
        slots = _find(self.rows, self.slots, queried, -1)
        return _find(self.late_rows, self.late_slots, queried, slots) if len(self.late_rows) else slots

    def moved(self, rows: Slots, slots: Slots) -> RowIndex:
        """Return the index with new slots ``(m,)`` for sorted rows ``(m,)``, -1 for deleted rows."""
        late = _merged((self.late_rows, self.late_slots), (rows, slots))
        if len(late[0]) <= max(FEW, len(self.rows) // 64):
            return RowIndex(self.rows, self.slots, *late)
        all_rows, all_slots = _merged((self.rows, self.slots), late)
        exists = all_slots >= 0
        return RowIndex(all_rows[exists], all_slots[exists], _NONE, _NONE)


def _find(rows: Slots, slots: Slots, queried: Slots, otherwise: Slots | int) -> Slots:
    if not len(rows):
        return np.full(len(queried), otherwise, dtype=np.int64)
    at = np.minimum(rows.searchsorted(queried), len(rows) - 1)
    values: Slots = np.where(rows[at] == queried, slots[at], otherwise)
    return values


def _merged(old: tuple[Slots, Slots], new: tuple[Slots, Slots]) -> tuple[Slots, Slots]:
    """Merge two sorted lists of rows and slots; a row in both keeps its new slot."""
    (rows, slots), (new_rows, new_slots) = old, new
    if len(rows) and len(new_rows) and new_rows[0] <= rows[-1]:
        # Usually skipped: rows of new entries come after all others.
        unchanged = ~np.isin(rows, new_rows)
        rows, slots = rows[unchanged], slots[unchanged]
    return _by_row(np.concatenate([rows, new_rows]), np.concatenate([slots, new_slots]))


def _by_row(rows: Slots, slots: Slots) -> tuple[Slots, Slots]:
    if (rows[1:] > rows[:-1]).all():
        return rows, slots
    order = np.argsort(rows, kind="stable")
    return rows[order], slots[order]
