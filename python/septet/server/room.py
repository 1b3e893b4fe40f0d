"""Room: a resource shared by the clients of a server, and the order in which they lose it when it is scarce; spools.

A client that waits for the server keeps its share. A client that the server waits for loses it to one in need, the
slowest first: slow clients never displace fast ones.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from tempfile import SpooledTemporaryFile

from septet.server.exchange import ClientDisconnected

#: Maximum bytes in memory; more go to the file.
IN_MEMORY = 1 << 20
#: Maximum bytes of undelivered answers per NDJSON body; beyond it, no further line is read.
MOST_WAITING = 32 * 2**20
#: Maximum bytes of such answers for all clients; beyond it, the slowest client is disconnected.
MOST_SPOOLED = 256 * 2**20
PIECE = 1 << 16


class Room:
    """A limited amount of a resource, held by clients.

    Args:
        most: total bytes or places.
        patience_s: time that the server waits for a client before it may lose its share, in seconds.
    """

    def __init__(self, most: int, patience_s: float = 0.0) -> None:
        self.most, self.taken = most, 0
        self._patience_s = patience_s
        #: Clients that the server waits for, by the start of the wait, the longest first.
        self._waiting: dict[Hold, float] = {}

    def hold(self, give_way: Callable[[], object]) -> Hold:
        """Return an empty share for a client.

        Args:
            give_way: called after the client has lost its share to another.
        """
        return Hold(self, give_way)

    def _slowest(self, requester: Hold) -> Hold | None:
        """Return the client that must give way; None if all others work, or were waited for only briefly."""
        latest = time.monotonic() - self._patience_s
        for hold, since in self._waiting.items():
            if since > latest:
                return None
            if hold is not requester and hold.size:
                return hold
        return None


class Hold:
    """The share of one client in a `Room`.

    Attributes:
        size: its amount.
        gave_way: True if it was lost to another client.
    """

    __slots__ = ("_give_way", "_room", "gave_way", "size")

    def __init__(self, room: Room, give_way: Callable[[], object]) -> None:
        self._room, self._give_way = room, give_way
        self.size, self.gave_way = 0, False

    def resize(self, size: int) -> bool:
        """Change the share to ``size``; return False, without a change, if there is no room."""
        room = self._room
        while size > self.size and room.taken - self.size + size > room.most:
            slowest = room._slowest(self)
            if slowest is None:
                return False
            slowest.release()
            slowest.gave_way = True
            slowest._give_way()
        room.taken += size - self.size
        self.size = size
        return True

    def wait(self) -> None:
        """Start a wait for the client."""
        self._room._waiting.pop(self, None)
        self._room._waiting[self] = time.monotonic()

    def go_on(self) -> None:
        """End the wait for the client."""
        self._room._waiting.pop(self, None)

    def release(self) -> None:
        """Release the share."""
        self.go_on()
        self._room.taken -= self.size
        self.size = 0


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
