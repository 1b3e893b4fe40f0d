"""Values of a field over all entries of a listing, as arrays, and filters evaluated on them.

The values are numbered in order of first occurrence.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.model.arrays import Mask
from septet.model.entry import SEVERITIES, TRUSTS
from septet.query.filters import AllOf, AnyOf, Compare, Filter, Not
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import listings

Value: TypeAlias = "str | int | float | bool"

#: Values with an order of their own, ascending: the most severe and the most trusted are last.
_RANKS: Mapping[str, Sequence[Value]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}


def sort_key(field: str) -> Callable[[Value], tuple[int, Value]]:
    """Return the sort key function for values of a field."""
    ranks = {word: place for place, word in enumerate(_RANKS.get(field, ()))}
    return (lambda value: (ranks.get(value, -1), value)) if ranks else _by_kind


def _by_kind(value: Value) -> tuple[int, Value]:
    """Sort numbers first, then texts by code point, then booleans."""
    return (2, value) if isinstance(value, bool) else (1 if isinstance(value, str) else 0, value)


class ValueOrder(NamedTuple):
    """The order of values at one moment.

    Attributes:
        numbers: the numbers of the values, in ascending order of value.
        ordinals: the rank of each number ``(v,)``.
    """

    numbers: list[int]
    ordinals: NDArray[np.float64]


class Names:
    """Numbers for values. Append-only, so successive listings share it."""

    def __init__(self, field: str) -> None:
        self.values: list[Value] = []
        # Most values are texts. In Python, True == 1, so the type is part of the key.
        self._texts: dict[str, int] = {}
        self._others: dict[tuple[bool, Value], int] = {}
        self._key = sort_key(field)
        self._order = ValueOrder([], np.empty(0))

    def number(self, value: Value) -> int:
        """Return the number of a value, adding it if new."""
        number = self.find(value)
        if number is None:
            number = len(self.values)
            if isinstance(value, str):
                self._texts[value] = number
            else:
                self._others[isinstance(value, bool), value] = number
            self.values.append(value)
        return number

    def find(self, value: Value) -> int | None:
        """Return the number of a value; None if unknown."""
        return self._texts.get(value) if isinstance(value, str) else self._others.get((isinstance(value, bool), value))

    def known(self, values: Iterable[Value]) -> list[int]:
        """Return the numbers of the known values."""
        return [number for value in values if (number := self.find(value)) is not None]

    def order(self) -> ValueOrder:
        """Return the order of the current values.

        Compare ranks of one order only: other threads may add values at any time.
        """
        order, count = self._order, len(self.values)
        if len(order.numbers) < count:
            added = range(len(order.numbers), count)
            numbers = sorted((*order.numbers, *added), key=lambda n: self._key(self.values[n]))
            ordinals = np.empty(count)
            ordinals[numbers] = np.arange(count)
            order = self._order = ValueOrder(numbers, ordinals)
        return order

    def place(self, value: Value, order: ValueOrder) -> float:
        """Return the rank of a value; for a value not in the order, 0.5 below the next greater rank."""
        numbers = order.numbers
        at = bisect_left(numbers, self._key(value), key=lambda n: self._key(self.values[n]))
        is_known = at < len(numbers) and numbers[at] == self.find(value)
        return float(at) if is_known else at - 0.5


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


def _is_json(field: str) -> bool:
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
        listings.members(read, field, only, lists=lists) if _is_json(field) else listings.values(read, field, only)
    )
    number: Callable[[Value], int] = names.number
    owners = np.searchsorted(rows, np.fromiter((row for row, _ in pairs), np.int64, len(pairs)))
    numbers = np.fromiter((number(value) for _, value in pairs), np.int32, len(pairs))
    # Sort, and count a value that an entry has twice once.
    both = np.unique(owners * np.int64(1 << 31) + numbers)
    return Column(both >> 31, (both & ((1 << 31) - 1)).astype(np.int32), names)


#: Fields with few distinct values, or that are filtered by value.
_BY_VALUE = frozenset(
    ["kind", "type", "domain", "severity", "source", "trust", "path", "parent", "first_line", "last_line", "tags"]
)
_ORDERED = {"$gt": np.greater, "$gte": np.greater_equal, "$lt": np.less, "$lte": np.less_equal}


class Arrays(NamedTuple):
    """The arrays that filters are evaluated on.

    Attributes:
        entries: number of entries, ``n``.
        times: by name, epoch seconds ``(n,)``, infinite if not set.
        column: returns the values of a field; None if the field is not worth reading.
    """

    entries: int
    times: Mapping[str, NDArray[np.float64]]
    column: Callable[[str], Column | None]


def passing(arrays: Arrays, item: Filter) -> Mask | None:
    """Return the mask of matching entries ``(n,)``; None if the arrays cannot answer the filter."""
    if isinstance(item, Compare):
        return _compared(arrays, item)
    if isinstance(item, Not):
        inner = passing(arrays, item.part)
        return None if inner is None else ~inner
    if not isinstance(item, (AllOf, AnyOf)):
        return None
    every = isinstance(item, AllOf)
    mask: Mask = np.full(arrays.entries, every)
    for part in item.parts:
        matches = passing(arrays, part)
        if matches is None:
            return None
        mask = mask & matches if every else mask | matches
    return mask


def _compared(arrays: Arrays, item: Compare) -> Mask | None:
    field, operator = item.field, item.operator
    if operator in ("$ne", "$nin"):
        equal = _compared(arrays, Compare(field, "$eq" if operator == "$ne" else "$in", item.value))
        return None if equal is None else ~equal
    if field in arrays.times:
        return _compared_times(arrays.times[field], operator, item.value)
    if not (field in _BY_VALUE or _is_json(field)) or operator not in ("$eq", "$in", "$all", "$exists"):
        return None
    values = item.value if isinstance(item.value, tuple) else (item.value,)
    if field.startswith("attrs.") and (operator == "$exists" or None in values):
        # Columns do not distinguish null, an empty list and a missing key.
        return None
    column = arrays.column(field)
    if column is None:
        return None
    n = arrays.entries
    if operator == "$exists":
        present = column.present(n)
        return present if item.value else ~present
    if operator != "$all":
        return _with(values, column.having((v for v in values if v is not None), n), column.present(n), field)
    mask = np.ones(n, dtype=bool)
    for value in values:
        mask &= _with((value,), column.having([] if value is None else [value], n), column.present(n), field)
    return mask


def _with(values: tuple[object, ...], having: Mask, present: Mask, field: str) -> Mask:
    """Add entries without a value if None is among the values; ``tags`` is never null."""
    return having | ~present if None in values and not _is_json(field) else having


def _compared_times(times: NDArray[np.float64], operator: str, value: Any) -> Mask:
    set_ = np.isfinite(times)
    if operator in _ORDERED:
        mask: Mask = set_ & _ORDERED[operator](times, value)
        return mask
    if operator == "$exists":
        return set_ if value else ~set_
    values = value if isinstance(value, tuple) else (value,)
    matches: Mask = np.full(len(times), operator == "$all")
    for moment in values:
        equal = ~set_ if moment is None else set_ & (times == moment)
        matches = matches & equal if operator == "$all" else matches | equal
    return matches
