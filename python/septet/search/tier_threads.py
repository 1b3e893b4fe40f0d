"""Threads for the tiers of a search: used where a tier takes longer than handing it to a thread."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from septet.system.forks import renew_in_children

__all__ = ["TierThreads"]

_Answer = TypeVar("_Answer")

MOST_THREADS = 8
#: Tiers are searched side by side if that hides so many milliseconds or more. Handing a tier to a thread and taking
#: turns at the interpreter costs 0.3 ms: vaults of 50,000 entries, which take as long, were slower together.
LEAST_HIDDEN_MS = 1.0
#: Side by side tiers wait for each other, so what they take is measured in turn, at first and once in so many searches.
MEASURED = 16


class TierThreads:
    """Searches several tiers side by side or one after the other, whichever is faster by what they took before."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        #: Threads, none of which is started before it is needed.
        self.executor: Executor = _executor()
        #: By tier the milliseconds that a query took the last two times it was measured.
        self._measured: dict[str, tuple[float, float]] = {}
        self._until_measured = 0
        renew_in_children(self)

    def after_fork(self) -> None:
        """Begin with other threads in a forked child: the parent's are not there."""
        self.executor = _executor()

    def close(self) -> None:
        """Stop the threads; others start when they are needed again."""
        stopped, self.executor = self.executor, _executor()
        stopped.shutdown()

    def each(self, ask: Callable[[int], _Answer], names: Sequence[str], queries: int) -> list[_Answer]:
        """Return what ``ask`` answers for each place in a list of tiers, in its order.

        Args:
            names: of the tiers.
            queries: how many are asked at once.
        """
        # The shorter one: the first search of a process loads what later ones have.
        expected = [min(self._measured.get(name, (0.0,))) for name in names]
        longest = max(expected)
        self._until_measured -= 1
        if (sum(expected) - longest) * queries < LEAST_HIDDEN_MS or self._until_measured < 0:
            self._until_measured = MEASURED - 1
            return [self._timed(ask, place, name, queries) for place, name in enumerate(names)]
        # The longest stays here: it is not handed over and back.
        here, executor, others = expected.index(longest), self.executor, dict[int, Future[_Answer]]()
        try:
            others.update((place, executor.submit(ask, place)) for place in range(len(names)) if place != here)
            own = ask(here)
            return [own if place == here else others[place].result() for place in range(len(names))]
        finally:
            # After an interrupt, too, no thread may go on with what the caller closes.
            wait([one for one in others.values() if not one.cancel()])

    def _timed(self, ask: Callable[[int], _Answer], place: int, name: str, queries: int) -> _Answer:
        started = self._clock()
        answer = ask(place)
        took = (self._clock() - started) * 1e3 / queries
        self._measured[name] = took, self._measured.get(name, (0.0,))[0]
        return answer


def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="septet-tier")
