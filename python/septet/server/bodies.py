"""Bodies: what clients send, bounded in size and in time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
from starlette.types import Receive

from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.service.faults import Fault

__all__ = ["Gone", "lines", "whole"]

_CLOSE = {"Connection": "close"}


class Gone(Exception):
    """The client does not wait any more."""


async def whole(scope: Any, receive: Receive, settings: Settings) -> bytes:
    """Return the body of a request.

    Raises:
        Refused: it is too large (413), too slow (408), or packed (415).
        Gone: the client went in the middle.
    """
    _check(scope, settings.max_body)
    with anyio.move_on_after(settings.body_s):
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            piece, more = await _piece(receive)
            pieces.append(piece)
            size += len(piece)
            if size > settings.max_body:
                raise _too_large(settings.max_body)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    raise _too_slow(settings.body_s)


async def lines(scope: Any, receive: Receive, settings: Settings) -> AsyncIterator[bytes | Refused | None]:
    """Yield the lines of a body as they come, without their ends; for one that is too long, its error.

    None says that a piece is over: what came is at hand, and nothing more yet.

    Raises:
        Refused: the client paused for too long (408), or packs (415).
        Gone: the client went in the middle.
    """
    _check(scope, None)
    left, skipping, more = b"", False, True
    while more:
        with anyio.move_on_after(settings.body_s) as waiting:
            body, more = await _piece(receive)
        if waiting.cancelled_caught:
            raise _too_slow(settings.body_s)
        *whole_lines, rest = body.split(b"\n")
        for line in whole_lines:
            line, left = left + line, b""
            if skipping:
                skipping = False
            elif len(line) > settings.max_body:
                yield _too_large(settings.max_body)
            else:
                yield line
        left = b"" if skipping else left + rest
        if len(left) > settings.max_body:
            left, skipping = b"", True
            yield _too_large(settings.max_body)
        yield None
    if left:
        yield left


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Gone
    return message.get("body", b""), message.get("more_body", False)


def _check(scope: Any, most: int | None) -> None:
    for name, value in scope["headers"]:
        if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
            raise Refused(Fault("unsupported_encoding", "the body is packed: send it plain", 415), _CLOSE)
        if name == b"content-length" and most is not None and value.isdigit() and int(value[:20]) > most:
            raise _too_large(most)


def _too_large(most: int) -> Refused:
    said = f"more than {most:,} bytes in one JSON value: send less, or many entries as lines to /v1/bulk"
    return Refused(Fault("too_large", said, 413), _CLOSE)


def _too_slow(seconds: float) -> Refused:
    return Refused(Fault("too_slow", f"the body did not come within {seconds:g} s", 408), _CLOSE)
