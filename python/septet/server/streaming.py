"""Streaming: many entries in, everything out, as lines of JSON, in bounded memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from septet.errors import ReadOnly, SeptetError
from septet.server.bodies import Gone
from septet.server.bulk import Bulk
from septet.server.exchange import Exchange
from septet.server.exporting import Exporting
from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.server.spool import Spool
from septet.service.faults import Fault
from septet.service.served import Served

__all__ = ["Streams"]

LINES = b"application/x-ndjson"
#: So many exports go on at a time; each has a thread and a read transaction.
MOST_EXPORTS = 4


class Streams:
    """The routes whose bodies are lines."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served, self._settings = served, settings
        self._exports = 0

    async def bulk(self, scope: Any, receive: Receive, exchange: Exchange) -> ASGIApp:
        """Return what answers each line of a body with a line, while it is read.

        Raises:
            ReadOnly: nothing may be changed.
        """
        if not self._served.writable:
            raise ReadOnly("bulk: this memory is served for reading only")

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            spool = Spool()
            work = asyncio.ensure_future(Bulk(self._served, self._settings, spool).run(scope, receive))
            # A client may send all of its lines before it reads the first answer.
            work.add_done_callback(lambda _: spool.end())
            try:
                await _send(send, spool.pieces())
                await work
            except Gone:
                pass
            finally:
                work.cancel()
                spool.close()

        return answer

    async def export(self, scope: Any, receive: Receive, exchange: Exchange) -> ASGIApp:
        """Return what sends everything that is held.

        Raises:
            Refused: too many are at it (503).
            SeptetError: it cannot be read.
        """
        if self._exports >= MOST_EXPORTS:
            raise Refused(
                Fault("overloaded", f"{MOST_EXPORTS} exports go on: ask again later", 503), {"Retry-After": "5"}
            )
        self._exports += 1
        exporting = Exporting(self._served.blocking)
        try:
            await exporting.begin()
        except BaseException as fault:
            self._exports -= 1
            if isinstance(fault, SeptetError):
                self._served.hide_paths(fault)
            raise

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            sending = asyncio.ensure_future(_send(send, exporting.pieces()))
            gone = asyncio.ensure_future(_gone(receive))
            # What is sent to a client that went is taken by nobody, and told to nobody.
            gone.add_done_callback(lambda _: sending.cancel())
            try:
                await sending
            except asyncio.CancelledError:
                if not gone.done():
                    raise
            finally:
                sending.cancel()
                gone.cancel()
                exporting.close()
                self._exports -= 1

        return answer


async def _gone(receive: Receive) -> None:
    """Wait until the client went."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, pieces: AsyncIterator[bytes]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", LINES)]})
    async with aclosing(pieces) as all_pieces:  # type: ignore[type-var]
        async for piece in all_pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
