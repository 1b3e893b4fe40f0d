"""Bodies: uploads, bounded in size and time, each and in total."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
from starlette.types import Receive

from septet.server.exchange import ClientDisconnected, RequestError, received
from septet.server.room import Room
from septet.server.settings import Settings
from septet.service.faults import CallerFault

#: Maximum bytes of all incomplete bodies; the one that the server has waited for longest is dropped for another.
MOST_READ = 64 * 2**20
#: Methods whose request is in the query string.
IN_QUERY = frozenset({"GET", "HEAD", "DELETE"})
_CLOSE = {"Connection": "close"}


async def whole(scope: Any, receive: Receive, settings: Settings, room: Room, most: int | None = None) -> bytes:
    """Return the body of a request; empty if its fields are in the query string.

    Args:
        room: the room shared by incoming bodies.
        most: maximum size in bytes; None for `Settings.max_body`.

    Raises:
        RequestError: it is too large (413), too slow (408), compressed (415), or dropped for other clients (503).
        ClientDisconnected: the client disconnected before the end.
    """
    if scope["method"] in IN_QUERY:
        return b""
    most = settings.max_body if most is None else most
    _check(scope, most)
    if received(scope):
        # Nothing to wait for, so nothing to bound but the size.
        body, _ = await _piece(receive)
        if len(body) > most:
            raise _too_large(most)
        return body
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


async def lines(
    scope: Any, receive: Receive, settings: Settings, room: Room
) -> AsyncIterator[bytes | RequestError | None]:
    """Yield the lines of a body as they come, without line ends; for one that is too long, its error.

    None marks the end of a received piece: no further line is available yet.

    Args:
        room: the room shared by incoming bodies.

    Raises:
        RequestError: a line was too slow (408), the body is compressed (415), or dropped for other clients (503).
        ClientDisconnected: the client disconnected before the end.
    """
    _check(scope, None)
    pending, skipping, more, remaining_s = b"", False, True, settings.body_s
    hold = room.hold(lambda: waiting.cancel())
    try:
        while more:
            began = time.monotonic()
            with anyio.move_on_after(remaining_s) as waiting:
                hold.wait()
                body, more = await _piece(receive)
            hold.go_on()
            if waiting.cancelled_caught:
                raise _crowded() if hold.gave_way else _too_slow(settings.body_s)
            *whole_lines, rest = body.split(b"\n")
            # The time limit is per line, however slowly it arrives, and excludes its processing.
            remaining_s = settings.body_s if whole_lines else remaining_s - (time.monotonic() - began)
            for line in whole_lines:
                line, pending = pending + line, b""
                if skipping:
                    skipping = False
                elif len(line) > settings.max_body:
                    yield _too_large(settings.max_body)
                else:
                    yield line
            pending = b"" if skipping else pending + rest
            if len(pending) > settings.max_body:
                pending, skipping = b"", True
                yield _too_large(settings.max_body)
            if not hold.resize(len(pending)):
                raise _crowded()
            yield None
    finally:
        hold.release()
    if pending:
        yield pending


async def disconnected(receive: Receive) -> None:
    """Wait for the disconnect of the client."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnected
    return message.get("body", b""), message.get("more_body", False)


def _check(scope: Any, most: int | None) -> None:
    for name, value in scope["headers"]:
        if name == b"content-encoding" and value.strip().lower() not in (b"", b"identity"):
            raise RequestError(
                CallerFault("unsupported_encoding", "the body is compressed: send it plain", 415), _CLOSE
            )
        if name == b"content-length" and most is not None and value.isdigit() and int(value[:20]) > most:
            raise _too_large(most)


def _too_large(most: int) -> RequestError:
    message = f"a JSON value has more than {most:,} bytes: send less, or entries as lines to /v1/bulk"
    return RequestError(CallerFault("too_large", message, 413), _CLOSE)


def _too_slow(seconds: float) -> RequestError:
    return RequestError(CallerFault("too_slow", f"the body did not arrive within {seconds:g} s", 408), _CLOSE)


def _crowded() -> RequestError:
    message = "this slow body was dropped for other clients: retry later"
    return RequestError(CallerFault("overloaded", message, 503), {**_CLOSE, "Retry-After": "1"})
