"""How long each stage of a search takes, while somebody watches it."""

from __future__ import annotations

from contextvars import ContextVar
from time import perf_counter

__all__ = ["SLOW_MS", "STAGES", "Stages"]

#: A search of more milliseconds is logged as slow.
SLOW_MS = 1_000.0


class Stages:
    """The milliseconds of each stage of one search, by name, in the order in which the stages came.

    Attributes:
        ms: by stage; a stage that came several times counts as one.
        single: there is one query; of several, threads work on different stages at a time.
    """

    __slots__ = ("_at", "ms", "single")

    def __init__(self, *, single: bool = True) -> None:
        self.ms: dict[str, float] = {}
        self.single = single
        self._at = perf_counter()

    def mark(self, stage: str) -> None:
        """Count the time since the last mark for the stage that ends here."""
        now = perf_counter()
        self.ms[stage] = self.ms.get(stage, 0.0) + (now - self._at) * 1e3
        self._at = now


#: Those of the search that runs, in this thread or task; None while nobody watches.
STAGES: ContextVar[Stages | None] = ContextVar("septet_stages", default=None)
