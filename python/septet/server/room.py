"""Room: a resource shared by the clients of a server, and the order in which they lose it when it is scarce.

A client that waits for the server keeps its share. A client that the server waits for loses it to one in need, the
slowest first: slow clients never displace fast ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable


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
