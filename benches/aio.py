"""A vault in asyncio: what its calls cost, and how long they keep the loop; what hooks, logging and spans cost."""

from __future__ import annotations

import asyncio
import logging
import time
from asyncio import Handle
from collections.abc import Iterator
from statistics import median
from typing import Any

from race import Competitor, Run, medians, race
from septet import AsyncVault, Vault
from table import Row, at_most, plain
from vaults import Asked, prepared, questions, warm

TITLE = "asyncio, hooks"
ABOUT = (
    "The longest step is the processor time of one callback on the loop's thread while 18 tasks search and 2 write. "
    "How late a sleeping task wakes includes the wait for the interpreter's lock and for a core."
)
ENTRIES, SEARCHES, ROUNDS = 20_000, 2_000, 200
#: Tasks that search, and that write.
READERS, WRITERS = 18, 2
#: How long the loop may be kept, in milliseconds.
LONGEST_MS = 1.0


def sizes(run: Run) -> list[int]:
    return [run.entries(ENTRIES)]


def rows(run: Run) -> Iterator[Row]:
    n = run.entries(ENTRIES)
    path = prepared(run.folder, n)
    asked = questions(path)
    steps, late = asyncio.run(crowded(path, asked, run.rounds(SEARCHES)))
    name = f"{n:,} entries, {READERS} tasks search and {WRITERS} write"
    yield at_most(f"{name}, longest step of the loop", max(steps), LONGEST_MS)
    yield plain(f"{name}, a task wakes late by, p50", median(late))
    yield plain(f"{name}, a task wakes late by, p99", sorted(late)[int(0.99 * len(late))])
    yield from overheads(path, asked, run.rounds(ROUNDS), n)


async def crowded(path: Any, asked: list[Asked], searches: int) -> tuple[list[float], list[float]]:
    """Return the processor time of each step of the loop, and how late a task woke each time, in milliseconds."""
    steps: list[float] = []
    late: list[float] = []
    async with AsyncVault(path) as vault:
        await vault.search(asked[0].text, query_vector=asked[0].vector)
        left = searches
        plain_run = Handle._run

        def timed(handle: Handle) -> None:
            start = time.thread_time()
            plain_run(handle)
            steps.append((time.thread_time() - start) * 1e3)

        async def read(task: int) -> None:
            nonlocal left
            while left > 0:
                left -= 1
                question = asked[(left + task) % len(asked)]
                await vault.search(question.text, query_vector=question.vector)

        async def write(task: int) -> None:
            while left > 0:
                await vault.add(id=f"new{task}-{left}", title=asked[left % len(asked)].text)

        async def wake() -> None:
            while left > 0:
                start = time.perf_counter()
                await asyncio.sleep(0.001)
                late.append((time.perf_counter() - start) * 1e3 - 1)

        Handle._run = timed  # type: ignore[method-assign]
        try:
            tasks = [read(i) for i in range(READERS)] + [write(i) for i in range(WRITERS)]
            await asyncio.gather(wake(), *tasks)
        finally:
            Handle._run = plain_run  # type: ignore[method-assign]
    return steps, late


def overheads(path: Any, asked: list[Asked], rounds: int, n: int) -> Iterator[Row]:
    """The same search awaited, watched by a hook, and logged."""
    loop = asyncio.new_event_loop()
    told: list[object] = []
    quiet = logging.getLogger("septet")
    with Vault(path) as vault, Vault(path, on_search=told.append, telemetry=False) as hooked:
        wrapped = AsyncVault.of(vault)
        for one in (vault, hooked):
            warm(one, asked[0])

        def logged(question: Asked) -> Any:
            quiet.setLevel(logging.DEBUG)
            try:
                return vault.search(question.text, query_vector=question.vector)
            finally:
                quiet.setLevel(logging.NOTSET)

        who = [
            Competitor("plain", lambda q: vault.search(q.text, query_vector=q.vector)),
            Competitor("async", lambda q: loop.run_until_complete(wrapped.search(q.text, query_vector=q.vector))),
            Competitor("hook", lambda q: hooked.search(q.text, query_vector=q.vector)),
            Competitor("logged", logged),
        ]
        times = medians(race(who, asked, rounds))
        loop.run_until_complete(wrapped.close())
        loop.close()
    yield plain(f"{n:,} entries, hybrid search, p50", times["plain"])
    for name, said in (("async", "awaited"), ("hook", "with a hook"), ("logged", "logged at DEBUG")):
        yield plain(f"{n:,} entries, {said}, beside a plain search", (times[name] - times["plain"]) * 1e3, "µs")
