"""Exporting: all entries of a memory, written by a thread as fast as the client reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from queue import Empty, Full, Queue
from typing import Any, cast

import anyio

from septet.errors import StoreError
from septet.federation import Federation
from septet.service.running import Memory
from septet.system.threads import call_on_thread

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
        """Wait for the first piece.

        Raises:
            SeptetError: the memory cannot be read.
        """
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
        """Append a line, on the thread; block while the queue is full.

        Raises:
            StoreError: the client disconnected, or reads nothing.
        """
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
                self._write_pages(self._memory)
            else:
                self._memory.export(cast("Any", self))
            self._flush()
            last: BaseException | None = None
        except BaseException as fault:  # noqa: BLE001 - raised in `_next`
            last = fault
        if not self._closed:
            self._put(last)

    def _write_pages(self, memory: Federation) -> None:
        after = None
        while True:
            page = memory.entries(limit=_PAGE, after=after)
            for entry in page:
                self.write(json.dumps({"record": "entry", **entry.to_dict()}, ensure_ascii=False) + "\n")
            after = page.next
            if after is None:
                return
