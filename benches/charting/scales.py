"""From values to places: straight or by logarithm."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Scale", "around", "told", "trimmed"]


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` lie between ``start`` and ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, *steps: float) -> list[float]:
        """Return the marks of a logarithmic scale: ``steps`` (1, or 1, 2 and 5) times the powers of ten in it."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        marks = [step * 10.0**power for power in powers for step in steps or (1,)]
        return [mark for mark in marks if self.low * 0.9999 <= mark <= self.high * 1.0001]


def around(low: float, high: float, *steps: float) -> tuple[float, float]:
    """Return the nearest marks of a logarithmic scale below and above."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    marks = [step * 10.0**power for power in powers for step in steps or (1,)]
    return max(mark for mark in marks if mark <= low), min(mark for mark in marks if mark >= high)


def told(value: float) -> str:
    """Write a value with three digits that matter, as the tables do, and all those before the point."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 - math.floor(math.log10(abs(value)))}f}"


def trimmed(value: float) -> str:
    """Write a mark of a scale: without noughts that say nothing."""
    written = f"{value:,.6f}"
    return written.rstrip("0").rstrip(".")
