"""Admission: how long the parts of a request may take, and how many are worked on: one rule for every route.

A body that comes holds no place, and neither does an answer that is taken; a place is for work alone. So clients that
are slow fill no place, however many they are.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import anyio
from starlette.types import Receive

from septet.server.bodies import MOST_READ, whole
from septet.server.patience import in_time, too_late
from septet.server.room import Room
from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.service.faults import Fault

__all__ = ["AGAIN", "IN_QUERY", "Admission"]

Result = TypeVar("Result")

#: Verbs whose request stands in the query of the address.
IN_QUERY = frozenset({"GET", "HEAD", "DELETE"})
#: Seconds that the lines of a body wait at a time for requests that are worked on.
GIVE_WAY_S = 0.005
#: Of an answer that a later request may have.
AGAIN = {"Retry-After": "1"}


class Admission:
    """Reads bodies, gives places, and ends what takes too long.

    Attributes:
        bodies: what bodies that come share.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.bodies = Room(max(MOST_READ, settings.max_body))
        self._places = asyncio.Semaphore(settings.most_requests)
        self._at_work = 0
        #: No client waits for work at once.
        self._quiet = asyncio.Event()
        self._quiet.set()

    async def body(self, scope: Any, receive: Receive, most: int | None) -> bytes:
        """Return the body of a request; none of one whose fields stand in the query of its address.

        Args:
            most: bytes; None for `Settings.max_body`.

        Raises:
            Refused: as `whole` does.
            Gone: the client went.
        """
        if scope["method"] in IN_QUERY:
            return b""
        return await whole(scope, receive, self._settings, self.bodies, most)

    async def at_once(self, work: Callable[[], Coroutine[Any, Any, Result]], receive: Receive) -> Result:
        """Return what work returns for a client that waits for it, with a place from now on.

        Args:
            receive: of a request whose body was read to its end.

        Raises:
            Refused: all places are taken (503), or the deadline is over (504).
            Gone: the client went.
        """
        if self._places.locked():
            said = f"{self._settings.most_requests} requests are worked on or wait: ask again later"
            raise Refused(Fault("overloaded", said, 503), AGAIN)
        async with self._places:
            self._at_work += 1
            self._quiet.clear()
            try:
                return await self.without_place(work, receive)
            finally:
                self._at_work -= 1
                if not self._at_work:
                    self._quiet.set()

    async def without_place(self, work: Callable[[], Coroutine[Any, Any, Result]], receive: Receive) -> Result:
        """Do what `at_once` does for what is always answered, such as whether the server lives."""
        return await in_time(work(), receive, self._settings.deadline_s)

    async def after_others(self) -> None:
        """Let what clients wait for go first, for `GIVE_WAY_S` at most."""
        if self._quiet.is_set():
            await asyncio.sleep(0)
            return
        with anyio.move_on_after(GIVE_WAY_S):
            await self._quiet.wait()

    async def in_turn(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return what work returns, when a place is free; the client cannot be sent away any more.

        Raises:
            Refused: the deadline is over (504).
        """
        with anyio.move_on_after(self._settings.deadline_s):
            async with self._places:
                return await work()
        raise too_late(self._settings.deadline_s)
