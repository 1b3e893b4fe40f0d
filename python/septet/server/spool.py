"""Spool: bytes that wait for a reader, in memory and then in a temporary file, so many at most."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from tempfile import SpooledTemporaryFile

from septet.server.bodies import Gone
from septet.server.room import Room

__all__ = ["MOST_SPOOLED", "MOST_WAITING", "Spool"]

#: More bytes than this wait in a file.
IN_MEMORY = 1 << 20
#: Bytes of the answers to one body of lines that wait for its client; then no further line is read.
MOST_WAITING = 32 * 2**20
#: Bytes of such answers for all clients; of more, the client that has taken nothing for longest is disconnected.
MOST_SPOOLED = 256 * 2**20
PIECE = 1 << 16


class Spool:
    """A queue of bytes, for one writer and one reader of one loop; the writer waits when it is full.

    Args:
        room: what the spools of a server share.
        give_way: called when another one needs what this one has: its reader is the slowest.
    """

    def __init__(self, room: Room, give_way: Callable[[], object]) -> None:
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - `close` closes it
        #: Bytes so far; they lie in a ring, so that a reader who is always a little behind lets it grow no further.
        self._written = self._read = 0
        self._ended = self._closed = False
        self._news, self._taken = asyncio.Event(), asyncio.Event()
        self._give_way = give_way
        self._hold = room.hold(self._lose)

    async def write(self, data: bytes) -> None:
        """Append bytes; wait while too many wait for the reader."""
        for at in range(0, len(data), PIECE):
            await self._write(data[at : at + PIECE])

    async def _write(self, piece: bytes) -> None:
        while not (self._closed or self._fits(len(piece))):
            self._taken.clear()
            await self._taken.wait()
        if self._closed:
            return
        at = self._written % MOST_WAITING
        first = piece[: MOST_WAITING - at]
        for begin, part in ((at, first), (0, piece[len(first) :])):
            if part:
                self._file.seek(begin)
                self._file.write(part)
        self._written += len(piece)
        self._news.set()

    def _fits(self, size: int) -> bool:
        if self._read == self._written:
            # What was read makes room.
            self._file.seek(0)
            self._file.truncate()
            self._written = self._read = 0
            self._hold.resize(0)
        if self._written - self._read + size > MOST_WAITING:
            return False
        return self._hold.resize(min(self._written + size, MOST_WAITING)) or self._read == self._written

    def end(self) -> None:
        """Say that nothing more comes."""
        self._ended = True
        self._news.set()

    def close(self) -> None:
        """Let go of the file, and of who waits to write."""
        self._closed = self._ended = True
        self._hold.release()
        self._file.close()
        self._taken.set()
        self._news.set()

    def _lose(self) -> None:
        self.close()
        self._give_way()

    async def first(self) -> None:
        """Wait until there is something to read, or nothing more will be."""
        while self._read == self._written and not self._ended:
            self._news.clear()
            await self._news.wait()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield what is written, until the end; who asks for the next piece has taken the one before.

        Raises:
            Gone: another client needed the room.
        """
        while True:
            await self.first()
            if self._hold.gave_way:
                raise Gone
            if self._read == self._written:
                return
            at = self._read % MOST_WAITING
            self._file.seek(at)
            piece = self._file.read(min(PIECE, self._written - self._read, MOST_WAITING - at))
            self._read += len(piece)
            self._taken.set()
            self._hold.wait()
            yield piece
            self._hold.go_on()
