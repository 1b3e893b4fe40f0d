"""Body: reads a response body within bounds of time and size, and decompresses it."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from septet.embedding.transport.calls import Answer, TransportError
from septet.embedding.transport.exchange import Send

if TYPE_CHECKING:
    import httpx

#: Accepted encodings. The standard library cannot decompress others up to a bound.
ENCODINGS = ("gzip", "x-gzip")
_PLAIN = ("", "identity")
_GZIP = 16 + zlib.MAX_WBITS


class BodyError(Exception):
    """Reading stopped before the end of the body."""

    def __init__(self, error: TransportError) -> None:
        self.error = error


class Body:
    """A body read chunk by chunk, within bounds of time and size.

    The timeout of httpx limits silence only, so a trickling body would never end. A complete body is accepted even if
    it is late: it is paid for. The size is that after decompression, which stops at the bound.

    Args:
        response: with status and headers, its body not yet read.
        clock: monotonic seconds.
        ends_at: the deadline, on that clock.

    Raises:
        BodyError: the body's encoding was not requested.
    """

    def __init__(self, response: httpx.Response, step: Send, clock: Callable[[], float], ends_at: float) -> None:
        self._response = response
        self._step = step
        self._clock = clock
        self._ends_at = ends_at
        self._late = False
        self._read = bytearray()
        # A mock transport may have read and decompressed the body already.
        encoding = "" if response.is_stream_consumed else response.headers.get("content-encoding", "").strip().lower()
        if encoding not in (*_PLAIN, *ENCODINGS):
            raise BodyError(TransportError(f"sent a body in the encoding {encoding[:80]!r}, which was not requested"))
        self._decompressor = None if encoding in _PLAIN else zlib.decompressobj(_GZIP)

    def add(self, chunk: bytes) -> None:
        """Append a chunk, still compressed.

        Raises:
            BodyError: the deadline has passed, the body is larger than `max_bytes`, or its compression is invalid.
        """
        if self._late:
            raise BodyError(timeout_error(self._step.timeout_s))
        room = self._step.max_bytes - len(self._read)
        self._read += chunk if self._decompressor is None else self._inflate(chunk, room + 1)
        if len(self._read) > self._step.max_bytes:
            limit = f"{self._step.max_bytes:,} bytes, the maximum for this request"
            raise BodyError(TransportError(f"sent more than {limit}: check the address (baseUrl)", too_large=True))
        self._late = self._clock() > self._ends_at

    def answer(self) -> Answer:
        """Return the complete answer.

        Raises:
            BodyError: a compressed body is truncated.
        """
        if self._decompressor is not None and self._read and not self._decompressor.eof:
            raise BodyError(TransportError("broke off: the compressed body is truncated"))
        headers = {name.lower(): value for name, value in self._response.headers.items()}
        return Answer(self._response.status_code, headers, self._read)

    def _inflate(self, chunk: bytes, most: int) -> bytes:
        decompressor = self._decompressor
        if decompressor is None or decompressor.eof:
            return b""
        try:
            return decompressor.decompress(chunk, most)
        except zlib.error:
            raise BodyError(TransportError("sent a body that is not valid gzip")) from None


def timeout_error(timeout_s: float) -> TransportError:
    """Return the error of an attempt that timed out."""
    return TransportError(f"gave no answer within {timeout_s:g} s")
