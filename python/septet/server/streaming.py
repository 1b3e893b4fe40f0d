"""Streaming: many entries in, everything out, as lines of JSON, in bounded memory."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from septet.errors import ReadOnly, SeptetError
from septet.server.admission import Admission
from septet.server.bodies import Gone
from septet.server.breaking import break_off
from septet.server.bulk import Bulk
from septet.server.exchange import Exchange
from septet.server.exporting import Exporting
from septet.server.replies import failed
from septet.server.room import Hold, Room
from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.server.spool import MOST_SPOOLED, Spool
from septet.service.faults import Fault
from septet.service.served import Served

__all__ = ["Streams"]

LINES = b"application/x-ndjson"
#: Exports at a time; each has a thread and a read transaction.
MOST_EXPORTS = 4
#: Seconds an export waits for its client before it gives way to another one that wants its place.
GIVE_WAY_S = 0.5
#: Seconds an export waits for a place.
WAIT_S = 2.0
#: Seconds between two looks for a place.
LOOK_S = 0.1


class Streams:
    """The routes whose bodies are lines."""

    def __init__(self, served: Served, settings: Settings, admission: Admission) -> None:
        self._served, self._settings, self._admission = served, settings, admission
        self._exports, self._spools = Room(MOST_EXPORTS, GIVE_WAY_S), Room(MOST_SPOOLED)
        self._turns = asyncio.Lock()

    async def bulk(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        """Return what answers each line of a body with a line, while it is read.

        Raises:
            ReadOnly: nothing may be changed.
        """
        if not self._served.writable:
            raise ReadOnly("bulk: this memory is served for reading only")

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            spool = Spool(self._spools, partial(break_off, scope))
            bulk = Bulk(self._served, self._settings, self._admission, self._turns, spool)
            work = asyncio.ensure_future(bulk.run(scope, receive))
            # A client may send all of its lines before it reads the first answer.
            work.add_done_callback(lambda _: spool.end())
            try:
                await spool.first()
                if bulk.refused is not None:
                    await failed(bulk.refused.fault, bulk.refused.headers)(scope, receive, send)
                    return
                await _send(scope, send, _all(spool.pieces(), work))
            finally:
                spool.close()
                work.cancel()
                with suppress(Gone, asyncio.CancelledError):
                    await work

        return answer

    async def export(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        """Return what sends everything that is held.

        Raises:
            Refused: too many are at it (503).
            SeptetError: it cannot be read.
        """
        exporting = Exporting(self._served.blocking, self._settings.deadline_s)

        def give_way() -> None:
            exporting.close()
            break_off(scope)

        hold = self._exports.hold(give_way)
        for _ in range(round(WAIT_S / LOOK_S)):
            if hold.resize(1):
                break
            await asyncio.sleep(LOOK_S)
        else:
            raise Refused(
                Fault("overloaded", f"{MOST_EXPORTS} exports go on: ask again later", 503), {"Retry-After": "5"}
            )
        try:
            await exporting.begin()
        except BaseException as fault:
            exporting.close()
            hold.release()
            if isinstance(fault, SeptetError):
                self._served.hide_paths(fault)
            raise

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            async def sending() -> None:
                await _send(scope, send, _waited_for(hold, exporting.pieces()))

            task = asyncio.ensure_future(sending())
            gone = asyncio.ensure_future(_gone(receive))
            # What is sent to a client that went is taken by nobody, and told to nobody.
            gone.add_done_callback(lambda _: task.cancel())
            try:
                await task
            except asyncio.CancelledError:
                if not gone.done():
                    raise
            finally:
                task.cancel()
                gone.cancel()
                exporting.close()
                hold.release()

        return answer


async def _gone(receive: Receive) -> None:
    """Wait until the client went."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _waited_for(hold: Hold, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield pieces; between one and the next the client is waited for."""
    async with aclosing(pieces) as all_pieces:  # type: ignore[type-var]
        async for piece in all_pieces:
            hold.wait()
            yield piece
            hold.go_on()


async def _all(pieces: AsyncIterator[bytes], work: Awaitable[None]) -> AsyncIterator[bytes]:
    """Yield pieces, and raise what the work that made them did."""
    async with aclosing(pieces) as all_pieces:  # type: ignore[type-var]
        async for piece in all_pieces:
            yield piece
    await work


async def _send(scope: Scope, send: Send, pieces: AsyncIterator[bytes]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", LINES)]})
    try:
        async with aclosing(pieces) as all_pieces:  # type: ignore[type-var]
            async for piece in all_pieces:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    except Gone:
        raise
    except Exception as error:
        # Half of an answer must not look like a whole one.
        if not break_off(scope):
            raise
        logging.getLogger("septet.server").error("an answer broke off", exc_info=error)
        return
    await send({"type": "http.response.body", "body": b"", "more_body": False})
