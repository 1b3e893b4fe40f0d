"""Streaming: bulk writes and exports as lines of JSON, in bounded memory, as fast as the client reads."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import aclosing, suppress
from functools import partial
from queue import Empty, Full, Queue
from typing import Any, cast

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from septet.errors import ReadOnly, SeptetError, StoreError
from septet.federation import Federation
from septet.server.admission import Admission
from septet.server.bodies import disconnected
from septet.server.bulk import Bulk
from septet.server.exchange import ClientDisconnected, Exchange, RequestError, break_off, failed
from septet.server.room import MOST_SPOOLED, Hold, Room, Spool
from septet.server.settings import Settings
from septet.service.faults import CallerFault
from septet.service.running import Memory
from septet.service.served import Served
from septet.system.threads import call_on_thread

LINES = b"application/x-ndjson"
#: Maximum concurrent exports; each has a thread and a read transaction.
MOST_EXPORTS = 4
#: Time after which a stalled export loses its place to another one, in seconds.
GIVE_WAY_S = 0.5
#: Maximum time that an export waits for a place, in seconds.
WAIT_S = 2.0
#: Interval of attempts to get a place, in seconds.
LOOK_S = 0.1


class Streams:
    """The routes with NDJSON bodies."""

    def __init__(self, served: Served, settings: Settings, admission: Admission) -> None:
        self._served, self._settings, self._admission = served, settings, admission
        self._exports, self._spools = Room(MOST_EXPORTS, GIVE_WAY_S), Room(MOST_SPOOLED)
        self._turns = asyncio.Lock()

    async def bulk(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        """Return the application that answers each line of a body while it is read.

        Raises:
            ReadOnly: the memory is read-only.
        """
        if not self._served.writable:
            raise ReadOnly("bulk: this memory is read-only")

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            spool = Spool(self._spools, partial(break_off, scope))
            bulk = Bulk(self._served, self._settings, self._admission, self._turns, spool)
            work = asyncio.ensure_future(bulk.run(scope, receive))
            # Not awaited here: a client may send all lines before it reads the first answer.
            work.add_done_callback(lambda _: spool.end())
            try:
                await spool.first()
                if bulk.error is not None:
                    await failed(bulk.error.fault, bulk.error.headers)(scope, receive, send)
                    return
                await _send(scope, send, spool.pieces(), work)
            finally:
                spool.close()
                work.cancel()
                with suppress(ClientDisconnected, asyncio.CancelledError):
                    await work

        return answer

    async def export(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        """Return the application that sends all entries.

        Raises:
            RequestError: too many exports are running (503).
            SeptetError: the memory cannot be read.
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
            raise RequestError(
                CallerFault("overloaded", f"{MOST_EXPORTS} exports are running: retry later", 503), {"Retry-After": "5"}
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
            task = asyncio.ensure_future(_send(scope, send, exporting.pieces(), hold=hold))
            disconnect = asyncio.ensure_future(disconnected(receive))
            # After a disconnect, uvicorn drops sent data silently: stop the export.
            disconnect.add_done_callback(lambda _: task.cancel())
            try:
                await task
            except asyncio.CancelledError:
                if not disconnect.done():
                    raise
            finally:
                task.cancel()
                disconnect.cancel()
                exporting.close()
                hold.release()

        return answer


async def _send(
    scope: Scope,
    send: Send,
    pieces: AsyncIterator[bytes],
    work: Awaitable[None] | None = None,
    hold: Hold | None = None,
) -> None:
    """Send pieces, then raise the error of the ``work`` that produced them; mark waits for the client in ``hold``."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", LINES)]})
    try:
        async with aclosing(pieces) as all_pieces:  # type: ignore[type-var]
            async for piece in all_pieces:
                if hold is not None:
                    hold.wait()
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if hold is not None:
                    hold.go_on()
        if work is not None:
            await work
    except ClientDisconnected:
        raise
    except Exception as error:
        # A partial answer must not look complete.
        if not break_off(scope):
            raise
        logging.getLogger("septet.server").error("an answer was aborted", exc_info=error)
        return
    await send({"type": "http.response.body", "body": b"", "more_body": False})


PIECE = 1 << 16
#: Maximum number of pieces that wait for the client.
MOST_PIECES = 8
#: Time after which an export is aborted if its client reads nothing, in seconds.
PATIENCE_S = 60.0
_PAGE = 500


class Exporting:
    """One export: that of `Vault.export`, or the entries of a federation, each once.

    Args:
        within_s: maximum time until the next piece, in seconds.
    """

    def __init__(self, memory: Memory, within_s: float) -> None:
        self._memory, self._within_s = memory, within_s
        self._pieces: Queue[bytes | BaseException | None] = Queue(MOST_PIECES)
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        self._closed = False
        self._first: bytes | None = None
        self._lines: list[str] = []
        self._size = 0

    async def begin(self) -> None:
        """Wait for the first piece (`SeptetError`)."""
        call_on_thread(self._run, "septet-export")
        self._first = await self._next()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the pieces; raise an error of the thread, so that a partial export does not look complete."""
        piece = self._first
        while piece is not None:
            yield piece
            with anyio.move_on_after(self._within_s) as waiting:
                piece = await self._next()
            if waiting.cancelled_caught:
                raise StoreError(f"the export stalled for {self._within_s:g} s")

    def close(self) -> None:
        """Have the thread end at its next line."""
        self._closed = True
        while True:
            try:
                self._pieces.get_nowait()
            except Empty:
                return

    def write(self, text: str) -> None:
        """Append a line, on the thread; block while the queue is full (`StoreError`)."""
        if self._closed:
            raise StoreError("the client disconnected")
        self._lines.append(text)
        self._size += len(text)
        if self._size >= PIECE:
            self._flush()

    def _flush(self) -> None:
        data = "".join(self._lines).encode("utf-8", "replace")
        self._lines, self._size = [], 0
        if data:
            self._put(data)

    def _put(self, piece: bytes | BaseException | None) -> None:
        try:
            self._pieces.put(piece, timeout=PATIENCE_S)
        except Full:
            raise StoreError("the client reads nothing") from None
        self._loop.call_soon_threadsafe(self._ready.set)

    async def _next(self) -> bytes | None:
        while True:
            try:
                piece = self._pieces.get_nowait()
            except Empty:
                await self._ready.wait()
                self._ready.clear()
                continue
            if isinstance(piece, BaseException):
                raise piece
            return piece

    def _run(self) -> None:
        try:
            if isinstance(self._memory, Federation):
                after, more = None, True
                while more:
                    page = self._memory.entries(limit=_PAGE, after=after)
                    for entry in page:
                        self.write(json.dumps({"record": "entry", **entry.to_dict()}, ensure_ascii=False) + "\n")
                    after, more = page.next, page.next is not None
            else:
                self._memory.export(cast("Any", self))
            self._flush()
            last: BaseException | None = None
        except BaseException as fault:  # noqa: BLE001 - raised in `_next`
            last = fault
        if not self._closed:
            self._put(last)
