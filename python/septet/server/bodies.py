"""Bodies: what clients send, bounded in size and in time, each and together."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
from starlette.types import Receive

from septet.server.room import Room
from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.service.faults import Fault

__all__ = ["MOST_READ", "Gone", "lines", "whole"]

#: Bytes of all bodies that have come in part; the one that has been coming for longest gives way to another one.
MOST_READ = 64 * 2**20
_CLOSE = {"Connection": "close"}


class Gone(Exception):
    """The client does not wait any more."""


async def whole(scope: Any, receive: Receive, settings: Settings, room: Room, most: int | None = None) -> bytes:
    """Return the body of a request.

    Args:
        room: what bodies that come share.
        most: bytes; None for `Settings.max_body`.

    Raises:
        Refused: it is too large (413), too slow (408), or packed (415), or other clients needed its room (503).
        Gone: the client went in the middle.
    """
    most = settings.max_body if most is None else most
    _check(scope, most)
    with anyio.move_on_after(settings.body_s) as waiting:
        hold = room.hold(waiting.cancel)
        hold.wait()
        try:
            pieces: list[bytes] = []
            size, more = 0, True
            while more:
                piece, more = await _piece(receive)
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    raise _too_large(most)
                if not hold.resize(size):
                    raise _crowded()
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        finally:
            hold.release()
    raise _crowded() if hold.gave_way else _too_slow(settings.body_s)


async def lines(scope: Any, receive: Receive, settings: Settings, room: Room) -> AsyncIterator[bytes | Refused | None]:
    """Yield the lines of a body as they come, without their ends; for one that is too long, its error.

    None says that a piece is over: what came is at hand, and nothing more yet.

    Args:
        room: what bodies that come share.

    Raises:
        Refused: a line did not come in time (408), the body is packed (415), or other clients needed its room (503).
        Gone: the client went in the middle.
    """
    _check(scope, None)
    left, skipping, more, left_s = b"", False, True, settings.body_s
    hold = room.hold(lambda: waiting.cancel())
    try:
        while more:
            began = time.monotonic()
            with anyio.move_on_after(left_s) as waiting:
                hold.wait()
                body, more = await _piece(receive)
            hold.go_on()
            if waiting.cancelled_caught:
                raise _crowded() if hold.gave_way else _too_slow(settings.body_s)
            *whole_lines, rest = body.split(b"\n")
            # A line has so long to come, however it drips; what is done with it does not count.
            left_s = settings.body_s if whole_lines else left_s - (time.monotonic() - began)
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
            if not hold.resize(len(left)):
                raise _crowded()
            yield None
    finally:
        hold.release()
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


def _crowded() -> Refused:
    said = "other clients needed the room that this slow body took: ask again later"
    return Refused(Fault("overloaded", said, 503), {**_CLOSE, "Retry-After": "1"})
