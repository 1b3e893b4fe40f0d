"""Patience: the deadline of work, and its cancellation when the client disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from septet.server.bodies import ClientDisconnected
from septet.server.routing import RequestError
from septet.service.faults import Fault

__all__ = ["in_time", "too_late"]

_Result = TypeVar("_Result")

#: Delay before a task watches for a disconnect, in seconds: short requests do without.
LOOK_AFTER_S = 0.05


def too_late(deadline_s: float) -> RequestError:
    """Return the error of work that exceeds the deadline."""
    return RequestError(Fault("deadline", f"no answer within {deadline_s:g} s", 504))


async def in_time(work: Coroutine[Any, Any, _Result], receive: Receive, deadline_s: float) -> _Result:
    """Return the result of work; cancel it at the deadline, and when the client disconnects.

    Args:
        receive: of a request whose body was read to its end.

    Raises:
        RequestError: it took longer than ``deadline_s`` (504).
        ClientDisconnected: the client disconnected.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    faults: list[Exception] = []
    watchers: list[asyncio.Task[None]] = []

    def end(fault: Exception) -> None:
        faults.append(fault)
        task.cancel()

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        end(ClientDisconnected())

    timers = (
        loop.call_later(deadline_s, end, too_late(deadline_s)),
        loop.call_later(LOOK_AFTER_S, lambda: watchers.append(loop.create_task(watch()))),
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
        for watcher in watchers:
            watcher.cancel()
