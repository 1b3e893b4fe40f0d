"""Dictionary encoding: numbers for the values of a field, in order of first occurrence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.model.entry import SEVERITIES, TRUSTS

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
