"""Values of a field over all entries of a listing, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.listing.names import Names, Order, Value
from septet.sqlite.snapshot.arrays import Mask
from septet.sqlite.store.store import Reading
from septet.sqlite.tables import listings

__all__ = ["Column", "Moved", "Positions", "is_json", "loaded"]

Positions = NDArray[np.int64]


class Moved(NamedTuple):
    """How the entries of a listing follow from those of the one before.

    Attributes:
        sources: where each entry was, or behind all that were, its place among the fresh ones ``(n,)``.
        places: where each old entry is now, -1 for those that are gone or were written again ``(o,)``.
        fresh: where each fresh entry is now ``(f,)``.
    """

    sources: Positions
    places: Positions
    fresh: Positions


class Column(NamedTuple):
    """Which entries have which values.

    Attributes:
        owners: the position of an entry ``(m,)``, ascending; once for each of its values.
        numbers: the number of the value in ``names`` ``(m,)``.
    """

    owners: Positions
    numbers: NDArray[np.int32]
    names: Names

    def having(self, values: Iterable[Value], entries: int) -> Mask:
        """Return which of so many entries have at least one of the values."""
        found = np.zeros(entries, dtype=bool)
        wanted = self.names.found(values)
        if wanted:
            chosen = self.numbers == wanted[0] if len(wanted) == 1 else np.isin(self.numbers, wanted)
            found[self.owners[chosen]] = True
        return found

    def present(self, entries: int) -> Mask:
        """Return which of so many entries have a value."""
        found = np.zeros(entries, dtype=bool)
        found[self.owners] = True
        return found

    def counts(self, mask: Mask | None) -> NDArray[np.int64]:
        """Return how many of the entries in a mask have each value ``(v,)``."""
        numbers = self.numbers if mask is None else self.numbers[mask[self.owners]]
        return np.bincount(numbers, minlength=len(self.names.values))

    def places(self, entries: int, order: Order) -> NDArray[np.float64]:
        """Return what each of so many entries is sorted by, inf without a value; for fields with one value at most."""
        places = np.full(entries, np.inf)
        places[self.owners] = order.ordinals[self.numbers]
        return places

    def value(self, position: int) -> Value | None:
        """Return the value of an entry that has one at most."""
        at = int(np.searchsorted(self.owners, position))
        return self.names.values[self.numbers[at]] if at < len(self.owners) and self.owners[at] == position else None

    def moved(self, moved: Moved, fresh: Column) -> Column:
        """Return the column of the next listing.

        Args:
            fresh: the values of the fresh entries, whose owners are their new positions.
        """
        owners = moved.places[self.owners]
        kept = owners >= 0
        owners, numbers = (
            np.concatenate([owners[kept], fresh.owners]),
            np.concatenate([self.numbers[kept], fresh.numbers]),
        )
        order = np.argsort(owners, kind="stable")
        return Column(owners[order], numbers[order], self.names)


def is_json(field: str) -> bool:
    """Say whether a field may have several values."""
    return field == "tags" or field.startswith("attrs.")


def loaded(
    read: Reading,
    field: str,
    rows: NDArray[np.int64],
    *,
    names: Names | None = None,
    at: Positions | None = None,
    lists: bool = True,
) -> Column:
    """Return the values of a field.

    Args:
        rows: of every entry, ascending.
        names: numbers that are known already.
        at: the positions of those entries whose values are wanted; None for all.
        lists: look into lists in attrs; False leaves them out.
    """
    names = Names(field) if names is None else names
    wanted = None if at is None else rows[at].tolist()
    pairs = (
        listings.members(read, field, wanted, lists=lists) if is_json(field) else listings.values(read, field, wanted)
    )
    found = list(pairs)
    number: Callable[[Value], int] = names.number
    owners = np.searchsorted(rows, np.fromiter((row for row, _ in found), np.int64, len(found)))
    numbers = np.fromiter((number(value) for _, value in found), np.int32, len(found))
    # In order, and a value that an entry has twice counts once.
    both = np.unique(owners * np.int64(1 << 31) + numbers)
    return Column(both >> 31, (both & ((1 << 31) - 1)).astype(np.int32), names)
