"""Timing of the stages of a watched search."""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter

#: Searches slower than this, in milliseconds, are logged.
SLOW_MS = 1_000.0


class Stages:
    """The duration of each stage of a search.

    Attributes:
        ms: milliseconds by stage, in order of first appearance; repeated stages are summed.
        single: False for several queries, whose stages overlap in threads.
    """

    __slots__ = ("_at", "ms", "single")

    def __init__(self, *, single: bool = True) -> None:
        self.ms: dict[str, float] = {}
        self.single = single
        self._at = perf_counter()

    def mark(self, stage: str) -> None:
        """Add the time since the last mark to the stage that ends now."""
        now = perf_counter()
        self.ms[stage] = self.ms.get(stage, 0.0) + (now - self._at) * 1e3
        self._at = now


#: Stages of the search running in this thread or task; None if it is not watched.
STAGES: ContextVar[Stages | None] = ContextVar("septet_stages", default=None)
