"""Spool: a bounded byte queue, in memory and then in a temporary file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from tempfile import SpooledTemporaryFile

from septet.server.bodies import ClientDisconnected
from septet.server.room import Room

#: Maximum bytes in memory; more go to the file.
IN_MEMORY = 1 << 20
#: Maximum bytes of undelivered answers per NDJSON body; beyond it, no further line is read.
MOST_WAITING = 32 * 2**20
#: Maximum bytes of such answers for all clients; beyond it, the slowest client is disconnected.
MOST_SPOOLED = 256 * 2**20
PIECE = 1 << 16


class Spool:
    """A byte queue for one writer and one reader of one event loop; the writer waits while it is full.

    Args:
        room: the room shared by the spools of a server.
        give_way: called when another spool takes the share of this one, whose reader is the slowest.
    """

    def __init__(self, room: Room, give_way: Callable[[], object]) -> None:
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - `close` closes it
        #: Total bytes written and read; the file is a ring, so that a slow reader does not let it grow.
        self._written = self._read = 0
        self._ended = self._closed = False
        self._ready, self._drained = asyncio.Event(), asyncio.Event()
        self._give_way = give_way
        self._hold = room.hold(self._give_up)

    async def write(self, data: bytes) -> None:
        """Append bytes; wait while the queue is full."""
        for at in range(0, len(data), PIECE):
            await self._write(data[at : at + PIECE])

    async def _write(self, piece: bytes) -> None:
        while not (self._closed or self._fits(len(piece))):
            self._drained.clear()
            await self._drained.wait()
        if self._closed:
            return
        at = self._written % MOST_WAITING
        first = piece[: MOST_WAITING - at]
        for begin, part in ((at, first), (0, piece[len(first) :])):
            if part:
                self._file.seek(begin)
                self._file.write(part)
        self._written += len(piece)
        self._ready.set()

    def _fits(self, size: int) -> bool:
        if self._read == self._written:
            # Everything was read: release the room.
            self._file.seek(0)
            self._file.truncate()
            self._written = self._read = 0
            self._hold.resize(0)
        if self._written - self._read + size > MOST_WAITING:
            return False
        return self._hold.resize(min(self._written + size, MOST_WAITING)) or self._read == self._written

    def end(self) -> None:
        """Mark the end of the data."""
        self._ended = True
        self._ready.set()

    def close(self) -> None:
        """Close the file, and release a waiting writer."""
        self._closed = self._ended = True
        self._hold.release()
        self._file.close()
        self._drained.set()
        self._ready.set()

    def _give_up(self) -> None:
        self.close()
        self._give_way()

    async def first(self) -> None:
        """Wait for data or for the end."""
        while self._read == self._written and not self._ended:
            self._ready.clear()
            await self._ready.wait()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the data until the end; a request for the next piece acknowledges the previous one.

        Raises:
            ClientDisconnected: another client needed the room.
        """
        while True:
            await self.first()
            if self._hold.gave_way:
                raise ClientDisconnected
            if self._read == self._written:
                return
            at = self._read % MOST_WAITING
            self._file.seek(at)
            piece = self._file.read(min(PIECE, self._written - self._read, MOST_WAITING - at))
            self._read += len(piece)
            self._drained.set()
            self._hold.wait()
            yield piece
            self._hold.go_on()
