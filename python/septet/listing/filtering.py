"""Filters evaluated on the arrays of a listing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.listing.columns import Column, is_json
from septet.model.arrays import Mask
from septet.query.filters import AllOf, AnyOf, Compare, Filter, Not

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
    if not (field in _BY_VALUE or is_json(field)) or operator not in ("$eq", "$in", "$all", "$exists"):
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
    return having | ~present if None in values and not is_json(field) else having


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
