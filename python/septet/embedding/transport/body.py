"""Body: the answer of a provider as it comes in, within its time and its size, compressed or not."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from septet.embedding.transport.calls import Answer, TransportError
from septet.embedding.transport.exchange import Send

if TYPE_CHECKING:
    import httpx

__all__ = ["ENCODINGS", "Body", "GaveUp", "late"]

#: What answers may be compressed with. Other ways cannot be undone up to a bound with Python's own means.
ENCODINGS = ("gzip", "x-gzip")
_PLAIN = ("", "identity")
_GZIP = 16 + zlib.MAX_WBITS


class GaveUp(Exception):
    """Reading a body ended before the body did."""

    def __init__(self, error: TransportError) -> None:
        self.error = error


class Body:
    """A body as it comes in, chunk by chunk, within its time and its size.

    The timeout of httpx limits silence only, so a body that trickles would never end. A body that is complete is
    accepted even when it is late: it is paid for. What is compressed counts as what it becomes, and becomes no more
    than the bound.

    Args:
        response: its status and headers are there already, its body is not read.
        clock: monotonic seconds.
        ends_at: the deadline, on that clock.

    Raises:
        GaveUp: it is compressed in a way that was not asked for.
    """

    def __init__(self, response: httpx.Response, step: Send, clock: Callable[[], float], ends_at: float) -> None:
        self._response = response
        self._step = step
        self._clock = clock
        self._ends_at = ends_at
        self._late = False
        self._read = bytearray()
        # A test's transport may have read, and expanded, the whole body.
        encoding = "" if response.is_stream_consumed else response.headers.get("content-encoding", "").strip().lower()
        if encoding not in (*_PLAIN, *ENCODINGS):
            raise GaveUp(TransportError(f"sent a body in the encoding {encoding[:80]!r}, which was not asked for"))
        self._inflating = None if encoding in _PLAIN else zlib.decompressobj(_GZIP)

    def add(self, chunk: bytes) -> None:
        """Append a chunk, as it came over the wire.

        Raises:
            GaveUp: the time is over, the body is larger than `max_bytes`, or not compressed as it says.
        """
        if self._late:
            raise GaveUp(late(self._step.timeout_s))
        room = self._step.max_bytes - len(self._read)
        self._read += chunk if self._inflating is None else self._inflated(chunk, room + 1)
        if len(self._read) > self._step.max_bytes:
            said = f"sent more than {self._step.max_bytes:,} bytes, which no answer to this request takes"
            raise GaveUp(TransportError(f"{said}: is the address (baseUrl) right?", too_large=True))
        self._late = self._clock() > self._ends_at

    def answer(self) -> Answer:
        """Return the answer whose body this is.

        Raises:
            GaveUp: a compressed body ended too early.
        """
        if self._inflating is not None and self._read and not self._inflating.eof:
            raise GaveUp(TransportError("broke off: the compressed body is truncated"))
        headers = {name.lower(): value for name, value in self._response.headers.items()}
        return Answer(self._response.status_code, headers, self._read)

    def _inflated(self, chunk: bytes, most: int) -> bytes:
        inflating = self._inflating
        if inflating is None or inflating.eof:
            return b""
        try:
            return inflating.decompress(chunk, most)
        except zlib.error:
            raise GaveUp(TransportError("sent a body that is not compressed as it says")) from None


def late(timeout_s: float) -> TransportError:
    """Return that the time of an attempt is over."""
    return TransportError(f"gave no answer within {timeout_s:g} s")
