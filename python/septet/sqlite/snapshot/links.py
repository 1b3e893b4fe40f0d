"""The links of a store as arrays: loaded by the first search that follows links, updated by later changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import links


def loaded(read: SqliteReading) -> _core.Links:
    """Read the links of the store."""
    return _core.Links(*_columns(links.row_links(read), 3))


def moved(old: _core.Links, read: SqliteReading, since: int) -> _core.Links:
    """Update the links of an earlier generation to the store's current ones."""
    changed = links.changed_row_links(read, since)
    if not changed:
        return old
    source, target, age, exists = _columns(changed, 4)
    return old.moved(source, target, age, exists.astype(np.bool_))


def _columns(rows: Sequence[tuple[int, ...]], width: int) -> list[NDArray[np.int64]]:
    matrix = np.array(rows, dtype=np.int64).reshape(-1, width)
    return [np.ascontiguousarray(matrix[:, column]) for column in range(width)]
