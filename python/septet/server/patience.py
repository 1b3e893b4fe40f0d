"""Patience: how long work is waited for, and whether anybody still does."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from septet.server.bodies import Gone
from septet.server.routing import Refused
from septet.service.faults import Fault

__all__ = ["in_time", "too_late"]

Result = TypeVar("Result")

#: After so many seconds it is worth a task to see whether the client went.
LOOK_AFTER_S = 0.05


def too_late(deadline_s: float) -> Refused:
    """Return the error of work that takes longer than it may."""
    return Refused(Fault("deadline", f"no answer within {deadline_s:g} s", 504))


async def in_time(work: Coroutine[Any, Any, Result], receive: Receive, deadline_s: float) -> Result:
    """Return what work returns; it is cancelled when it takes too long, and when the client goes.

    Args:
        receive: of a request whose body was read to its end.

    Raises:
        Refused: it took longer than ``deadline_s`` (504).
        Gone: the client went.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    faults: list[Exception] = []
    looking: list[asyncio.Task[None]] = []

    def end(fault: Exception) -> None:
        faults.append(fault)
        task.cancel()

    async def look() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        end(Gone())

    timers = (
        loop.call_later(deadline_s, end, too_late(deadline_s)),
        loop.call_later(LOOK_AFTER_S, lambda: looking.append(loop.create_task(look()))),
    )
    try:
        return await task
    except asyncio.CancelledError:
        if faults:
            raise faults[0] from None
        raise
    finally:
        for timer in timers:
            timer.cancel()
        for one in looking:
            one.cancel()
