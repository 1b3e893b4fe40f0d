"""The tiers of one search: opened together, asked in parallel, passed over when they fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

from septet.errors import SeptetError
from septet.query.plan import Plan
from septet.results import Note, TierReport
from septet.tiers.protocol import Recalled, Session, Tier

if TYPE_CHECKING:
    from concurrent.futures import Executor

__all__ = ["FederatedSearch", "open_search", "or_degrade", "recall"]

_Answer = TypeVar("_Answer")
_Nothing = TypeVar("_Nothing")


class FederatedSearch:
    """The tiers of one search, from the highest priority to the lowest, with what they answered.

    Attributes:
        sessions: by tier; None for one that failed.
        recalled: by tier; None for one that failed.
    """

    def __init__(self, tiers: Sequence[Tier], plan: Plan) -> None:
        self.tiers, self.plan = tiers, plan
        self.sessions: list[Session | None] = []
        self.recalled: list[Recalled | None] = []
        self.took_ms: list[float] = []
        self.failures: list[SeptetError] = []
        self.errors: dict[int, str] = {}
        self.notes: list[Note] = []

    @property
    def answers(self) -> list[tuple[int, Session, Recalled]]:
        """Place, session and answer of every tier that gave one."""
        both = zip(self.sessions, self.recalled)
        return [(i, s, r) for i, (s, r) in enumerate(both) if s is not None and r is not None]

    def fail(self, place: int, fault: SeptetError) -> None:
        """Go on without a tier."""
        self.failures.append(fault)
        self.errors[place] = str(fault)
        self.notes.append(Note("tier_failed", str(fault), "the other tiers answered", self.tiers[place].name))

    def reports(self) -> tuple[TierReport, ...]:
        """Return what each tier did."""
        out = []
        for i, (tier, session, recalled) in enumerate(zip(self.tiers, self.sessions, self.recalled)):
            found = 0 if recalled is None else len(recalled.pool)
            generation = 0 if session is None else session.generation
            report = TierReport(tier.name, tier.priority, found, generation, self.took_ms[i], self.errors.get(i, ""))
            out.append(report)
        return tuple(out)


@contextmanager
def open_search(tiers: Sequence[Tier], plan: Plan) -> Iterator[FederatedSearch]:
    """Begin a search in every tier; all that is read of one is of one generation.

    Raises:
        SeptetError: every tier failed.
    """
    several = len(tiers) > 1
    plan = plan._replace(comparable=several and plan.asks_text and "bm25" in plan.fill, asks_ids=several)
    asked = FederatedSearch(tiers, plan)
    with ExitStack() as stack:
        for place, tier in enumerate(tiers):
            try:
                asked.sessions.append(stack.enter_context(tier.open(plan, place)))
            except SeptetError as fault:
                asked.sessions.append(None)
                asked.fail(place, fault)
        yield asked


def recall(asked: FederatedSearch, pool: Executor | None) -> None:
    """Ask the tiers, each for itself.

    Raises:
        SeptetError: none answered.
    """

    def timed(session: Session | None) -> tuple[Recalled | SeptetError | None, float]:
        started = time.perf_counter()
        answer: Recalled | SeptetError | None = None
        try:
            answer = None if session is None else session.recall()
        except SeptetError as fault:
            answer = fault
        return answer, (time.perf_counter() - started) * 1e3

    alone = pool is None or len(asked.sessions) == 1
    timings = map(timed, asked.sessions) if alone or pool is None else pool.map(timed, asked.sessions)
    for place, (answer, took_ms) in enumerate(timings):
        asked.took_ms.append(took_ms)
        if isinstance(answer, SeptetError):
            asked.fail(place, answer)
            answer = None
        asked.recalled.append(answer)
        if answer is not None:
            asked.notes += answer.notes
    if not asked.answers:
        raise asked.failures[0]


def or_degrade(asked: FederatedSearch, place: int, ask: Callable[[], _Answer], nothing: _Nothing) -> _Answer | _Nothing:
    """Ask a tier that answered before; if it fails now, that is a note, and its answer is nothing."""
    try:
        return ask()
    except SeptetError as fault:
        asked.fail(place, fault)
        return nothing
