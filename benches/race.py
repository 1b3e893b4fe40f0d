"""Competitors behind one interface, asked in turns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

Ask = Callable[[Any], Any]
Check = Callable[[Any, str, Any], None]


@dataclass(frozen=True)
class Competitor:
    """Someone who answers a question."""

    name: str
    ask: Ask


@dataclass(frozen=True)
class Run:
    """What is to be measured: all of it, a tenth of the sizes, or a million entries too; where files may lie."""

    folder: Path
    quick: bool = False
    large: bool = False
    only: str = ""
    #: The instructions to use, where a section measures several: a name of `kernels()`, or "" for the best.
    level: str = ""

    def entries(self, n: int) -> int:
        return n // 10 if self.quick else n

    def rounds(self, n: int) -> int:
        return max(3, n // 5) if self.quick else n


def race(
    who: Sequence[Competitor], questions: Sequence[Any], rounds: int, *, warm: int = 1, check: Check | None = None
) -> dict[str, list[float]]:
    """Return everyone's times in milliseconds.

    In each round all answer the same question, one after the other, so that a busy machine slows them alike. Each is
    asked ``warm`` other questions before: its caches hold what it left there itself. Who begins changes from round to
    round: the first to answer a question brings what is read for it into the caches of all. A first round does not
    count. After each round the answers go to ``check``, in the order of ``who``.
    """
    times: dict[str, list[float]] = {one.name: [] for one in who}
    for turn in range(-1, rounds):
        question = questions[turn % len(questions)]
        # Questions come again: each time another one begins with them.
        first = (turn + turn // len(questions)) % len(who)
        answers = {}
        for one in (*who[first:], *who[:first]):
            for other in range(warm):
                one.ask(questions[(turn + 1 + other) % len(questions)])
            took, answers[one.name] = timed(lambda one=one, question=question: one.ask(question))
            if turn >= 0:
                times[one.name].append(took)
        if check is not None:
            for one in who:
                check(question, one.name, answers[one.name])
    return times


def medians(times: dict[str, list[float]]) -> dict[str, float]:
    return {name: median(values) for name, values in times.items()}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the milliseconds a call takes, and its result."""
    start = time.perf_counter()
    result = work()
    return 1e3 * (time.perf_counter() - start), result


@contextmanager
def cores(n: int) -> Iterator[None]:
    """Pin this thread, and those it starts, to ``n`` cores."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(before)[:n])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
