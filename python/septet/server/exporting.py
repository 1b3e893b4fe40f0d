"""Exporting: everything a memory holds, written on a thread as fast as the client reads."""

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

__all__ = ["Exporting"]

PIECE = 1 << 16
#: So many pieces wait for the client.
MOST_PIECES = 8
#: A client that takes none for so long is given up.
PATIENCE_S = 60.0
_PAGE = 500


class Exporting:
    """One export: of a vault what `Vault.export` writes, of a federation its entries, each once.

    Args:
        within_s: seconds until something comes, at the beginning and after each piece.
    """

    def __init__(self, memory: Memory, within_s: float) -> None:
        self._memory, self._within_s = memory, within_s
        self._pieces: Queue[bytes | BaseException | None] = Queue(MOST_PIECES)
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._closed = False
        self._first: bytes | None = None
        self._held: list[str] = []
        self._size = 0

    async def begin(self) -> None:
        """Wait until there is something to send.

        Raises:
            SeptetError: it cannot be read.
        """
        call_on_thread(self._run, "septet-export")
        self._first = await self._next()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the bytes; an error on the way is raised, so that no half of an export looks like a whole one."""
        piece = self._first
        while piece is not None:
            yield piece
            with anyio.move_on_after(self._within_s) as waiting:
                piece = await self._next()
            if waiting.cancelled_caught:
                raise StoreError(f"nothing came within {self._within_s:g} s")

    def close(self) -> None:
        """Let the thread end, at its next line."""
        self._closed = True
        while True:
            try:
                self._pieces.get_nowait()
            except Empty:
                return

    def write(self, text: str) -> None:
        """Take a line from the thread; it waits while too many wait for the client.

        Raises:
            StoreError: the client went, or takes nothing.
        """
        if self._closed:
            raise StoreError("the client went")
        self._held.append(text)
        self._size += len(text)
        if self._size >= PIECE:
            self._flush()

    def _flush(self) -> None:
        data = "".join(self._held).encode("utf-8", "replace")
        self._held, self._size = [], 0
        if data:
            self._put(data)

    def _put(self, piece: bytes | BaseException | None) -> None:
        try:
            self._pieces.put(piece, timeout=PATIENCE_S)
        except Full:
            raise StoreError("the client takes nothing") from None
        self._loop.call_soon_threadsafe(self._news.set)

    async def _next(self) -> bytes | None:
        while True:
            try:
                piece = self._pieces.get_nowait()
            except Empty:
                await self._news.wait()
                self._news.clear()
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
        except BaseException as fault:  # noqa: BLE001 - raised where the pieces are awaited
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
