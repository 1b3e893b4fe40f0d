"""From values to places and to words."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Scale", "around", "marks", "rounded", "trimmed"]


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` lie between ``start`` and ``end``."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def marks(low: float, high: float, *steps: int) -> list[float]:
    """Return the marks of a logarithmic scale: ``steps`` (1, or 1, 2 and 5) times the powers of ten in it."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [mark for power in powers for step in steps if low * 0.9999 <= (mark := step * 10.0**power) <= high * 1.0001]


def around(low: float, high: float, *steps: int) -> tuple[float, float]:
    """Return the nearest marks of a logarithmic scale below and above."""
    wide = marks(low / 10, high * 10, *steps)
    return max(mark for mark in wide if mark <= low), min(mark for mark in wide if mark >= high)


def rounded(value: float) -> str:
    """Write a value with three digits that matter, as the tables do, and all those before the point."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"


def trimmed(value: float) -> str:
    """Write a mark of a scale: without noughts that say nothing."""
    written = f"{value:,.6f}"
    return written.rstrip("0").rstrip(".")
