"""Spool: bytes that wait for a reader, in memory and then in a temporary file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from tempfile import SpooledTemporaryFile

__all__ = ["Spool"]

#: More bytes than this wait in a file.
IN_MEMORY = 1 << 20
PIECE = 1 << 16


class Spool:
    """A queue of bytes, for one writer and one reader of one loop; the writer never waits."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - `close` closes it
        self._written = self._read = 0
        self._ended = False
        self._news = asyncio.Event()

    def write(self, data: bytes) -> None:
        """Append bytes."""
        if self._read == self._written:
            # What was read makes room.
            self._file.seek(0)
            self._file.truncate()
            self._written = self._read = 0
        self._file.seek(self._written)
        self._file.write(data)
        self._written += len(data)
        self._news.set()

    def end(self) -> None:
        """Say that nothing more comes."""
        self._ended = True
        self._news.set()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield what is written, until the end."""
        while True:
            self._news.clear()
            while self._read < self._written:
                self._file.seek(self._read)
                piece = self._file.read(min(PIECE, self._written - self._read))
                self._read += len(piece)
                yield piece
            if self._ended:
                return
            await self._news.wait()
