"""Deadline: the time at which a search returns partial results."""

from __future__ import annotations

import time
from typing import NamedTuple


class Deadline(NamedTuple):
    """A time by `time.monotonic`, and the timeout in seconds that set it."""

    at: float
    timeout_s: float

    @property
    def left_s(self) -> float:
        """Remaining seconds, 0 after the deadline."""
        return max(0.0, self.at - time.monotonic())

    @property
    def passed(self) -> bool:
        """True after the deadline."""
        return time.monotonic() >= self.at


def deadline_of(timeout_s: float) -> Deadline:
    """Return the deadline ``timeout_s`` seconds from now."""
    return Deadline(time.monotonic() + timeout_s, timeout_s)
