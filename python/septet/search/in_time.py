"""Search tiers until a deadline, each on its own thread; a late thread closes its session itself."""

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
from septet.tiers.protocol import Inspected, Likeness, Neighbours, Overrides, Recalled, Session, Tier, TierFacts

if TYPE_CHECKING:
    from septet.listing.counting import Counted
    from septet.query.facets import Faceted
    from septet.query.filters import Filter


class Outcome(NamedTuple):
    """Answer of a tier: its session, the candidates of each query, and the milliseconds taken."""

    session: Session
    recalled: Sequence[Recalled]
    took_ms: float


class LateSession(NamedTuple):
    """Empty session, used if no tier answered in time."""

    generation: int = 0

    def recovers(self, fault: Exception) -> bool:
        """Return False."""
        return False

    def standing(self) -> TierFacts:
        """Return an empty standing."""
        return TierFacts({}, False)

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

    def facets(self, query: int, fields: Sequence[Faceted]) -> Sequence[Counted]:
        """Return nothing."""
        return ()

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        """Return False for each filter."""
        return [False] * len(filters)

    def close(self) -> None:
        """Do nothing."""


LATE = LateSession()


def no_candidates(plans: Sequence[Plan]) -> Sequence[Recalled]:
    """Return an empty recall for each plan."""
    return [Recalled(EMPTY, 0, False, None, (), None, ())] * len(plans)


def recalled_until(
    tiers: Sequence[Tier], plans: Sequence[Plan], deadline: Deadline
) -> Sequence[tuple[int, Outcome | SeptetError | None]]:
    """Return the outcome or the error of each tier; None for one that missed the deadline.

    A late tier finishes its recall on its thread, then closes its session. A vault in memory must be searched on the
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
        _discard([task for place, task in tasks.items() if outcomes[place] is None])
        raise
    _discard([task for place, task in tasks.items() if outcomes[place] is None])
    return [*outcomes.items()]


def _outcome_of(ask: Callable[[], Outcome]) -> Outcome | SeptetError:
    try:
        return ask()
    except SeptetError as fault:
        return fault


def _ask(tier: Tier, plans: Sequence[Plan], place: int) -> Outcome:
    started = time.perf_counter()
    session = tier.open(plans, place)
    try:
        recalled = session.recall()
    except BaseException:
        session.close()
        raise
    return Outcome(session, recalled, (time.perf_counter() - started) * 1e3)


def _discard(tasks: Sequence[Future[Outcome]]) -> None:
    """Close the sessions of late tiers when their tasks end."""
    for task in tasks:
        task.add_done_callback(_close_session)


def _close_session(task: Future[Outcome]) -> None:
    if task.exception() is None:
        task.result().session.close()
