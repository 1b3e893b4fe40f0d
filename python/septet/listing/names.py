"""Values by number, in order of first sight."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.model.entry import SEVERITIES, TRUSTS

__all__ = ["Names", "Order", "Value", "sort_key"]

Value: TypeAlias = "str | int | float | bool"


#: The order of words that have one: the most severe and the most trusted are last.
_RANKS: Mapping[str, Sequence[Value]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}


def sort_key(field: str) -> Callable[[Value], tuple[int, Value]]:
    """Return what gives the key that values of a field are sorted by."""
    ranks = {word: place for place, word in enumerate(_RANKS.get(field, ()))}
    return (lambda value: (ranks.get(value, -1), value)) if ranks else _by_kind


def _by_kind(value: Value) -> tuple[int, Value]:
    """Order numbers, then texts by their characters, then False and True."""
    return (2, value) if isinstance(value, bool) else (1 if isinstance(value, str) else 0, value)


class Order(NamedTuple):
    """The order of values at one moment.

    Attributes:
        numbers: the numbers of the values, the least value first.
        ordinals: the place of each number in it ``(v,)``.
    """

    numbers: list[int]
    ordinals: NDArray[np.float64]


class Names:
    """Values by number. It only grows, so successive listings share it."""

    def __init__(self, field: str) -> None:
        self.values: list[Value] = []
        # Most are texts. True and 1 are equal to Python.
        self._texts: dict[str, int] = {}
        self._others: dict[tuple[bool, Value], int] = {}
        self._key = sort_key(field)
        self._order = Order([], np.empty(0))

    def number(self, value: Value) -> int:
        """Return the number of a value, a new one the first time."""
        known = self.find(value)
        if known is None:
            known = len(self.values)
            if isinstance(value, str):
                self._texts[value] = known
            else:
                self._others[isinstance(value, bool), value] = known
            self.values.append(value)
        return known

    def find(self, value: Value) -> int | None:
        """Return the number of a value; None if no entry ever had it."""
        return self._texts.get(value) if isinstance(value, str) else self._others.get((isinstance(value, bool), value))

    def found(self, values: Iterable[Value]) -> list[int]:
        """Return the numbers of those values that there are."""
        return [number for value in values if (number := self.find(value)) is not None]

    def order(self) -> Order:
        """Return the order of the values that there are now.

        Another thread may add values at any moment, so whatever is compared with each other is to be of one order.
        """
        known, many = self._order, len(self.values)
        if len(known.numbers) < many:
            numbers = sorted(
                (*known.numbers, *range(len(known.numbers), many)), key=lambda n: self._key(self.values[n])
            )
            ordinals = np.empty(many)
            ordinals[numbers] = np.arange(many)
            known = self._order = Order(numbers, ordinals)
        return known

    def place(self, value: Value, order: Order) -> float:
        """Return where a value stands among the ordinals; half a step before the next one, if it is not there."""
        numbers = order.numbers
        at = bisect_left(numbers, self._key(value), key=lambda n: self._key(self.values[n]))
        there = at < len(numbers) and numbers[at] == self.find(value)
        return float(at) if there else at - 0.5
