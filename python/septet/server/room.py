"""Room: what the clients of a server share, and who gives way when it is scarce.

Who waits for the server keeps its room. Who is waited for gives way to who needs it, the one waited for longest first:
a client that sends or takes slowly never takes the place of one that does not.
"""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Hold", "Room"]


class Room:
    """So much of something, held by clients.

    Args:
        most: bytes or places that all hold together.
        patience_s: seconds for which a client is waited for before it has to give way.
    """

    def __init__(self, most: int, patience_s: float = 0.0) -> None:
        self.most, self.taken = most, 0
        self._patience_s = patience_s
        #: Who is waited for, and since when, the longest first.
        self._waited_for: dict[Hold, float] = {}

    def hold(self, give_way: Callable[[], object]) -> Hold:
        """Return what a client holds, nothing yet.

        Args:
            give_way: called when it has lost all that it held, as another needed it.
        """
        return Hold(self, give_way)

    def _longest(self, needs: Hold) -> Hold | None:
        """Return who has to give way to another one; None if everybody else works, or has not been waited for long."""
        latest = time.monotonic() - self._patience_s
        for hold, since in self._waited_for.items():
            if since > latest:
                return None
            if hold is not needs and hold.size:
                return hold
        return None


class Hold:
    """What one client holds of a `Room`.

    Attributes:
        size: how much.
        gave_way: another one needed it.
    """

    __slots__ = ("_give_way", "_room", "gave_way", "size")

    def __init__(self, room: Room, give_way: Callable[[], object]) -> None:
        self._room, self._give_way = room, give_way
        self.size, self.gave_way = 0, False

    def resize(self, size: int) -> bool:
        """Hold so much, more or less than before; return whether there is room for it, else all stays as it was."""
        room = self._room
        while size > self.size and room.taken - self.size + size > room.most:
            longest = room._longest(self)
            if longest is None:
                return False
            longest.release()
            longest.gave_way = True
            longest._give_way()
        room.taken += size - self.size
        self.size = size
        return True

    def wait(self) -> None:
        """Say that the client is waited for, from now on."""
        self._room._waited_for.pop(self, None)
        self._room._waited_for[self] = time.monotonic()

    def go_on(self) -> None:
        """Say that the client has done its part."""
        self._room._waited_for.pop(self, None)

    def release(self) -> None:
        """Hold nothing any more."""
        self.go_on()
        self._room.taken -= self.size
        self.size = 0
