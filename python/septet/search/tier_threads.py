"""Threads for the tiers of a search, used if the time saved exceeds the cost of a handover."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from septet.system.forks import renew_in_children

_Answer = TypeVar("_Answer")

MOST_THREADS = 8
#: Minimum milliseconds that parallel search must save. Handing a tier to a thread and switching threads costs 0.3 ms:
#: vaults of 50,000 entries, which take as long, were slower in parallel.
LEAST_HIDDEN_MS = 1.0
#: Searches per sequential search, which measures the tiers: parallel ones wait for each other.
MEASURED = 16


class TierThreads:
    """Searches tiers in parallel or sequentially, whichever is faster by earlier measurements."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        #: Starts threads lazily.
        self.executor: Executor = _executor()
        #: Milliseconds per query in the last two measurements, by tier.
        self._measured: dict[str, tuple[float, float]] = {}
        self._until_measured = 0
        renew_in_children(self)

    def after_fork(self) -> None:
        """Replace the executor in a forked child, which does not inherit threads."""
        self.executor = _executor()

    def close(self) -> None:
        """Stop the threads; a later search starts new ones."""
        stopped, self.executor = self.executor, _executor()
        stopped.shutdown()

    def each(self, ask: Callable[[int], _Answer], names: Sequence[str], queries: int) -> list[_Answer]:
        """Return ``ask(place)`` for each tier, in order.

        Args:
            names: names of the tiers.
            queries: number of queries in the batch.
        """
        # The minimum of two: the first search of a process also loads data.
        expected = [min(self._measured.get(name, (0.0,))) for name in names]
        longest = max(expected)
        self._until_measured -= 1
        if (sum(expected) - longest) * queries < LEAST_HIDDEN_MS or self._until_measured < 0:
            self._until_measured = MEASURED - 1
            return [self._timed(ask, place, name, queries) for place, name in enumerate(names)]
        # The slowest tier runs on this thread, which saves a handover.
        here, executor, others = expected.index(longest), self.executor, dict[int, Future[_Answer]]()
        try:
            others.update((place, executor.submit(ask, place)) for place in range(len(names)) if place != here)
            answer = ask(here)
            return [answer if place == here else others[place].result() for place in range(len(names))]
        finally:
            # The caller closes the sessions, also after an interrupt: no thread may still use them.
            wait([task for task in others.values() if not task.cancel()])

    def _timed(self, ask: Callable[[int], _Answer], place: int, name: str, queries: int) -> _Answer:
        started = self._clock()
        answer = ask(place)
        took = (self._clock() - started) * 1e3 / queries
        self._measured[name] = took, self._measured.get(name, (0.0,))[0]
        return answer


def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="septet-tier")
