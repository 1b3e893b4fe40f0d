"""Admission: time limits for the parts of a request, and a limit on concurrent work, the same for every route.

Only work occupies a place, not the upload of a body or the download of an answer: slow clients cannot occupy all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

import anyio
from starlette.types import Receive

from septet.aio.workers import woken_by
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
            raise self._overloaded()
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
        task = asyncio.get_running_loop().create_task(work())
        faults: list[Exception] = []

        def end(fault: Exception) -> None:
            faults.append(fault)
            task.cancel()

        bounds = _Bounds(self._settings.deadline_s, receive, end)
        try:
            return await task
        except asyncio.CancelledError:
            if faults:
                raise faults[0] from None
            raise
        finally:
            bounds.close()

    async def on_thread(self, begin: Callable[[], Future[_Result]], receive: Receive) -> _Result:
        """Return the result of a thread's work, as `at_once`: ``begin`` starts it. Work that is queued is dropped.

        It needs no task: its end, the deadline and a disconnect each wake the request.
        """
        if self._places.locked():
            raise self._overloaded()
        async with self._places:
            self._at_work += 1
            self._quiet.clear()
            future = bounds = None
            try:
                future = begin()
                woken = woken_by(future)
                bounds = _Bounds(self._settings.deadline_s, receive, partial(_fail, woken))
                await woken
                return future.result()
            finally:
                if bounds is not None:
                    bounds.close()
                if future is not None:
                    future.cancel()
                # Break the cycle: the error's traceback references this frame, and the future references the error.
                del future
                self._at_work -= 1
                if not self._at_work:
                    self._quiet.set()

    def _overloaded(self) -> RequestError:
        message = f"{self._settings.most_requests} requests are running: retry later"
        return RequestError(CallerFault("overloaded", message, 503), AGAIN)

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


class _Bounds:
    """Ends work at the deadline, and when the client disconnects; one timer is all that short work costs.

    Args:
        receive: of a request whose body was read to its end.
        end: called with the error.
    """

    __slots__ = ("_deadline_s", "_end", "_receive", "_timer", "_watcher")

    def __init__(self, deadline_s: float, receive: Receive, end: Callable[[Exception], None]) -> None:
        self._deadline_s, self._receive, self._end = deadline_s, receive, end
        self._watcher: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(min(LOOK_AFTER_S, deadline_s), self._look)

    def close(self) -> None:
        """Leave the work alone."""
        self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()

    def _look(self) -> None:
        loop, left_s = asyncio.get_running_loop(), self._deadline_s - LOOK_AFTER_S
        self._watcher = loop.create_task(self._watch())
        self._timer = loop.call_later(max(0.0, left_s), self._pass)

    def _pass(self) -> None:
        self._end(_too_late(self._deadline_s))

    async def _watch(self) -> None:
        await disconnected(self._receive)
        self._end(ClientDisconnected())


def _fail(woken: asyncio.Future[None], fault: Exception) -> None:
    if not woken.done():
        woken.set_exception(fault)


def _too_late(deadline_s: float) -> RequestError:
    """Return the error of work that exceeds the deadline."""
    return RequestError(CallerFault("deadline", f"no answer within {deadline_s:g} s", 504))
