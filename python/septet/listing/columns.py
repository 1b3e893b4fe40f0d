"""Values of a field over all entries of a listing, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.listing.names import Names, Value, ValueOrder
from septet.model.arrays import Mask
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import listings

Positions = NDArray[np.int64]


class Moved(NamedTuple):
    """The mapping from the ``o`` entries of a listing to the ``n`` of the next, ``f`` of them fresh.

    Attributes:
        sources: the old position of each entry; for fresh ones ``o`` plus their place among them ``(n,)``.
        places: the new position of each old entry, -1 if deleted or rewritten ``(o,)``.
        fresh: the new position of each fresh entry ``(f,)``.
    """

    sources: Positions
    places: Positions
    fresh: Positions


class Column(NamedTuple):
    """The values of a field, as pairs of entry and value.

    Attributes:
        owners: the position of the entry, ascending ``(m,)``.
        numbers: the number of the value in ``names`` ``(m,)``.
    """

    owners: Positions
    numbers: NDArray[np.int32]
    names: Names

    def having(self, values: Iterable[Value], entries: int) -> Mask:
        """Return a mask ``(entries,)`` of the entries with at least one of the values."""
        mask = np.zeros(entries, dtype=bool)
        numbers = self.names.known(values)
        if numbers:
            matches = self.numbers == numbers[0] if len(numbers) == 1 else np.isin(self.numbers, numbers)
            mask[self.owners[matches]] = True
        return mask

    def present(self, entries: int) -> Mask:
        """Return a mask ``(entries,)`` of the entries with a value."""
        mask = np.zeros(entries, dtype=bool)
        mask[self.owners] = True
        return mask

    def counts(self, mask: Mask | None) -> NDArray[np.int64]:
        """Return the number of entries in a mask per value ``(v,)``."""
        numbers = self.numbers if mask is None else self.numbers[mask[self.owners]]
        return np.bincount(numbers, minlength=len(self.names.values))

    def places(self, entries: int, order: ValueOrder) -> NDArray[np.float64]:
        """Return the sort key of each entry ``(entries,)``, inf without a value; for single-valued fields."""
        places = np.full(entries, np.inf)
        places[self.owners] = order.ordinals[self.numbers]
        return places

    def value(self, position: int) -> Value | None:
        """Return the value of an entry of a single-valued field, or None."""
        at = int(np.searchsorted(self.owners, position))
        return self.names.values[self.numbers[at]] if at < len(self.owners) and self.owners[at] == position else None

    def moved(self, moved: Moved, fresh: Column) -> Column:
        """Return the column of the next listing.

        Args:
            fresh: the values of the fresh entries, with new positions as owners.
        """
        owners = moved.places[self.owners]
        live = owners >= 0
        owners = np.concatenate([owners[live], fresh.owners])
        numbers = np.concatenate([self.numbers[live], fresh.numbers])
        order = np.argsort(owners, kind="stable")
        return Column(owners[order], numbers[order], self.names)


def is_json(field: str) -> bool:
    """Return True if a field may have several values."""
    return field == "tags" or field.startswith("attrs.")


def loaded(
    read: SqliteReading,
    field: str,
    rows: NDArray[np.int64],
    *,
    names: Names | None = None,
    at: Positions | None = None,
    lists: bool = True,
) -> Column:
    """Read the values of a field.

    Args:
        rows: the row of every entry, ascending.
        names: the numbering to extend; None for a new one.
        at: the positions of the entries to read; None for all.
        lists: include the items of lists in attrs.
    """
    names = Names(field) if names is None else names
    only = None if at is None else rows[at].tolist()
    pairs = list(
        listings.members(read, field, only, lists=lists) if is_json(field) else listings.values(read, field, only)
    )
    number: Callable[[Value], int] = names.number
    owners = np.searchsorted(rows, np.fromiter((row for row, _ in pairs), np.int64, len(pairs)))
    numbers = np.fromiter((number(value) for _, value in pairs), np.int32, len(pairs))
    # Sort, and count a value that an entry has twice once.
    both = np.unique(owners * np.int64(1 << 31) + numbers)
    return Column(both >> 31, (both & ((1 << 31) - 1)).astype(np.int32), names)
