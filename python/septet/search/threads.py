"""Threads of a search: tiers side by side, tiers until a deadline, and a batch of queries in parts.

The tiers of a search with a deadline have a thread each; a late one closes its session itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet.errors import SeptetError
from septet.query.plan import SearchPlan
from septet.query.refine import Deadline
from septet.ranking.pool import EMPTY, Pool
from septet.system.contexts import without_context
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread
from septet.tiers.protocol import Neighbours, Overrides, Session, Tier, TierCandidates, TierFacts

if TYPE_CHECKING:
    from septet.query.filters import Filter

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
            others.update(
                (place, executor.submit(without_context(ask), place)) for place in range(len(names)) if place != here
            )
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


class Outcome(NamedTuple):
    """Answer of a tier: its session, the candidates of each query, and the milliseconds taken."""

    session: Session
    candidates: Sequence[TierCandidates]
    took_ms: float


class LateSession:
    """Session without candidates, used if no tier answered in time."""

    generation = 0

    def _nothing(self, *_: Any, **__: Any) -> tuple[()]:
        return ()

    candidates = ids = groups = read = places = facets = _nothing

    def _none(self, *_: Any, **__: Any) -> None:
        return None

    inspect = likeness = close = _none

    def recovers(self, fault: Exception) -> bool:
        return False

    def standing(self) -> TierFacts:
        return TierFacts({}, False)

    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        return Neighbours((), EMPTY, ())

    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        return Overrides(frozenset(), EMPTY)

    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        return [np.empty(0)] * len(paths)

    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        return "", None

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        return [False] * len(filters)


LATE = LateSession()


def candidates_until(
    tiers: Sequence[Tier], plans: Sequence[SearchPlan], deadline: Deadline
) -> Sequence[tuple[int, Outcome | SeptetError | None]]:
    """Return the outcome or the error of each tier; None for one that missed the deadline.

    A late tier finishes on its thread, then closes its session. A vault in memory must be searched on the
    caller's thread: once started, it is waited for.

    Raises:
        SearchAgain: a tier requires a restart of the search.
    """
    tasks: dict[int, Future[Outcome]] = {}
    outcomes: dict[int, Outcome | SeptetError | None] = dict.fromkeys(range(len(tiers)))
    try:
        for place, tier in enumerate(tiers):
            if tier.crosses_threads:
                # If no thread can be started, the tier is searched on this one.
                with suppress(RuntimeError):
                    tasks[place] = call_on_thread(partial(_ask, tier, plans, place), "septet-tier")
        for place, tier in enumerate(tiers):
            if place not in tasks and not deadline.passed:
                outcomes[place] = _outcome_of(partial(_ask, tier, plans, place))
        done = wait(tasks.values(), deadline.left_s).done
        for place, task in tasks.items():
            if task in done:
                outcomes[place] = _outcome_of(task.result)
    except BaseException:
        for outcome in outcomes.values():
            if isinstance(outcome, Outcome):
                outcome.session.close()
        raise
    finally:
        # A late tier's session is closed when its task ends.
        for place, task in tasks.items():
            if outcomes[place] is None:
                task.add_done_callback(_close_session)
    return [*outcomes.items()]


def _outcome_of(ask: Callable[[], Outcome]) -> Outcome | SeptetError:
    try:
        return ask()
    except SeptetError as fault:
        return fault


def _ask(tier: Tier, plans: Sequence[SearchPlan], place: int) -> Outcome:
    started = time.perf_counter()
    session = tier.open(plans, place)
    try:
        candidates = session.candidates()
    except BaseException:
        session.close()
        raise
    return Outcome(session, candidates, (time.perf_counter() - started) * 1e3)


def _close_session(task: Future[Outcome]) -> None:
    if task.exception() is None:
        task.result().session.close()


#: Queries per native call and read transaction; below the minimum each costs more.
MOST_AT_ONCE, LEAST_AT_ONCE = 64, 16
#: Minimum parts per thread, for small batches.
PARTS_A_THREAD = 3
#: Share of the remaining queries in the next part, divided by the number of threads.
SHARE = 3 / 5


def parts_of(plans: Sequence[SearchPlan], workers: int) -> list[list[int]]:
    """Split queries into parts; all vectors of a part have one dimension, or all are missing."""
    by_kind: dict[object, list[int]] = {}
    for i, plan in enumerate(plans):
        by_kind.setdefault((None if plan.vector is None else plan.vector.scan.size, bool(plan.embeddings)), []).append(
            i
        )
    parts = []
    for indexes in by_kind.values():
        # Hits of one part are built while candidates of another are searched. The last parts are small, because
        # other threads are idle while their hits are built.
        minimum = min(LEAST_AT_ONCE, -(-len(indexes) // (PARTS_A_THREAD * workers)))
        start = 0
        while remaining := len(indexes) - start:
            share = remaining if workers == 1 else max(minimum, round(remaining * SHARE / workers))
            size = min(MOST_AT_ONCE, share, remaining)
            parts.append(indexes[start : start + size])
            start += size
    return parts
