"""Work that a test holds on its thread."""

import asyncio
import threading


class Gate:
    """A clock that stops whoever asks it, while it is shut: work can be held on its thread."""

    def __init__(self):
        self.reached, self.open = threading.Event(), threading.Event()
        self.open.set()

    def __call__(self):
        self.reached.set()
        assert self.open.wait(20)
        return 1_000.0

    def shut(self):
        self.reached.clear()
        self.open.clear()

    async def held(self):
        """Wait until somebody stands before the gate."""
        while not self.reached.is_set():
            await asyncio.sleep(0.001)
