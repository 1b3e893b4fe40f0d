"""Deadline: when a search answers with what it has."""

from __future__ import annotations

import time
from typing import NamedTuple

__all__ = ["Deadline", "deadline_of"]


class Deadline(NamedTuple):
    """A moment, by `time.monotonic`, and how many seconds there were before it."""

    at: float
    timeout_s: float

    @property
    def left_s(self) -> float:
        """How many seconds are left, 0 when it is over."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return time.monotonic() >= self.at


def deadline_of(timeout_s: float) -> Deadline:
    """Return the moment so many seconds from now."""
    return Deadline(time.monotonic() + timeout_s, timeout_s)
