"""Admission: time limits for the parts of a request, and a limit on concurrent work, the same for every route.

Only work occupies a place, not the upload of a body or the download of an answer: slow clients cannot occupy all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
from starlette.types import Receive

from septet.server.bodies import MOST_READ, disconnected
from septet.server.exchange import ClientDisconnected, RequestError
from septet.server.room import Room
from septet.server.settings import Settings
from septet.service.faults import CallerFault

_Result = TypeVar("_Result")

#: Maximum time that a line of a body waits for other requests, in seconds.
GIVE_WAY_S = 0.005
#: Delay before a task watches for a disconnect, in seconds: short requests do without.
LOOK_AFTER_S = 0.05
#: Headers of an answer to retry later.
AGAIN = {"Retry-After": "1"}


class Admission:
    """Assigns places, and enforces deadlines.

    Attributes:
        bodies: the room shared by incoming bodies.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.bodies = Room(max(MOST_READ, settings.max_body))
        self._places = asyncio.Semaphore(settings.most_requests)
        self._at_work = 0
        #: Set while no client waits for immediate work.
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def at_once(self, work: Callable[[], Coroutine[Any, Any, _Result]], receive: Receive) -> _Result:
        """Return the result of work for which a client waits, occupying a place; as `without_place`.

        Raises:
            RequestError: all places are taken (503), too.
        """
        if self._places.locked():
            message = f"{self._settings.most_requests} requests are running: retry later"
            raise RequestError(CallerFault("overloaded", message, 503), AGAIN)
        async with self._places:
            self._at_work += 1
            self._quiet.clear()
            try:
                return await self.without_place(work, receive)
            finally:
                self._at_work -= 1
                if not self._at_work:
                    self._quiet.set()

    async def without_place(self, work: Callable[[], Coroutine[Any, Any, _Result]], receive: Receive) -> _Result:
        """Return the result of work without a place; cancel it at the deadline, and when the client disconnects.

        Args:
            receive: of a request whose body was read to its end.

        Raises:
            RequestError: the deadline has passed (504).
            ClientDisconnected: the client disconnected.
        """
        loop, deadline_s = asyncio.get_running_loop(), self._settings.deadline_s
        task = loop.create_task(work())
        faults: list[Exception] = []
        watchers: list[asyncio.Task[None]] = []

        def end(fault: Exception) -> None:
            faults.append(fault)
            task.cancel()

        async def watch() -> None:
            await disconnected(receive)
            end(ClientDisconnected())

        timers = (
            loop.call_later(deadline_s, end, _too_late(deadline_s)),
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

    async def after_others(self) -> None:
        """Let waiting requests run first, for at most `GIVE_WAY_S`."""
        if self._quiet.is_set():
            await asyncio.sleep(0)
            return
        with anyio.move_on_after(GIVE_WAY_S):
            await self._quiet.wait()

    async def in_turn(self, work: Callable[[], Coroutine[Any, Any, _Result]]) -> _Result:
        """Return the result of work, waiting for a place; used once an answer has begun.

        Raises:
            RequestError: the deadline has passed (504).
        """
        with anyio.move_on_after(self._settings.deadline_s):
            async with self._places:
                return await work()
        raise _too_late(self._settings.deadline_s)


def _too_late(deadline_s: float) -> RequestError:
    """Return the error of work that exceeds the deadline."""
    return RequestError(CallerFault("deadline", f"no answer within {deadline_s:g} s", 504))
