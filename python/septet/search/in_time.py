"""Tiers searched until a deadline, each on a thread of its own, which cleans up after itself when nobody waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.errors import SeptetError
from septet.query.deadline import Deadline
from septet.query.plan import Plan
from septet.ranking.pool import EMPTY, Candidate, Pool
from septet.system.threads import call_on_thread
from septet.tiers.protocol import Inspected, Likeness, Neighbours, Overrides, Recalled, Session, Standing, Tier

if TYPE_CHECKING:
    from septet.listing.counting import Counted
    from septet.query.facets import Faceted
    from septet.query.filters import Filter

__all__ = ["LATE", "Outcome", "nothing_found", "recalled_until"]


class Outcome(NamedTuple):
    """What a tier answered in time: the session, what was found for each query, and the milliseconds that it took."""

    session: Session
    found: Sequence[Recalled]
    took_ms: float


class LateSession(NamedTuple):
    """Stands for tiers none of which has answered: it holds nothing."""

    generation: int = 0

    def recovers(self, fault: Exception) -> bool:
        """Say that an error stays."""
        return False

    def standing(self) -> Standing:
        """Return that nothing is known."""
        return Standing({}, False)

    def recall(self) -> Sequence[Recalled]:
        """Return nothing."""
        return ()

    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return nothing."""
        return ()

    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        """Return nothing."""
        return ()

    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        """Return nothing."""
        return Neighbours((), EMPTY, ())

    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        """Return nothing."""
        return Overrides(frozenset(), EMPTY)

    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return nothing."""
        return ()

    def inspect(self, entry_id: str) -> Inspected | None:
        """Return nothing."""
        return None

    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        """Return nothing."""
        return [np.empty(0)] * len(paths)

    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        """Return nothing."""
        return ()

    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        """Return nothing."""
        return "", None

    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        """Return nothing."""
        return None

    def facets(self, query: int, asked: Sequence[Faceted]) -> Sequence[Counted]:
        """Return nothing."""
        return ()

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        """Return that nothing passes."""
        return [False] * len(filters)

    def close(self) -> None:
        """End nothing."""


LATE = LateSession()


def nothing_found(plans: Sequence[Plan]) -> Sequence[Recalled]:
    """Return no candidates for each of the plans."""
    return [Recalled(EMPTY, 0, False, None, (), None, ())] * len(plans)


def recalled_until(
    tiers: Sequence[Tier], plans: Sequence[Plan], deadline: Deadline
) -> Sequence[tuple[int, Outcome | SeptetError | None]]:
    """Return for each tier what it answered, or its error; None for one that is not done at the deadline.

    A tier that is late goes on to the end of its recall, on its thread, and then closes its session. A vault in memory
    has to be searched by the caller's thread: once begun, it is waited for.

    Raises:
        SearchAgain: a tier wants the search to begin again.
    """
    tasks: dict[int, Future[Outcome]] = {}
    outcomes: dict[int, Outcome | SeptetError | None] = dict.fromkeys(range(len(tiers)))
    try:
        for place, tier in enumerate(tiers):
            if tier.crosses_threads:
                # Where no thread can be started, the tier is searched here.
                with suppress(RuntimeError):
                    tasks[place] = call_on_thread(partial(_ask, tier, plans, place), "septet-tier")
        for place, tier in enumerate(tiers):
            if place not in tasks and not deadline.passed:
                outcomes[place] = _answered(partial(_ask, tier, plans, place))
        done = wait(tasks.values(), deadline.left_s).done
        for place, task in tasks.items():
            if task in done:
                outcomes[place] = _answered(task.result)
    except BaseException:
        for outcome in outcomes.values():
            if isinstance(outcome, Outcome):
                outcome.session.close()
        _discard([task for place, task in tasks.items() if outcomes[place] is None])
        raise
    _discard([task for place, task in tasks.items() if outcomes[place] is None])
    return [*outcomes.items()]


def _answered(ask: Callable[[], Outcome]) -> Outcome | SeptetError:
    try:
        return ask()
    except SeptetError as fault:
        return fault


def _ask(tier: Tier, plans: Sequence[Plan], place: int) -> Outcome:
    started = time.perf_counter()
    session = tier.open(plans, place)
    try:
        found = session.recall()
    except BaseException:
        session.close()
        raise
    return Outcome(session, found, (time.perf_counter() - started) * 1e3)


def _discard(tasks: Sequence[Future[Outcome]]) -> None:
    """End the sessions of tiers that nobody waits for, as soon as they have one."""
    for task in tasks:
        task.add_done_callback(_end)


def _end(task: Future[Outcome]) -> None:
    if task.exception() is None:
        task.result().session.close()
