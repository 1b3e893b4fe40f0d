"""The application: every operation as a route, the page, and what surrounds them."""

from __future__ import annotations

from starlette.requests import Request as Incoming
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from septet.server.calling import Caller
from septet.server.page_files import page_files
from septet.server.settings import Settings
from septet.service.served import Served

__all__ = ["make_app"]


def make_app(served: Served, settings: Settings | None = None) -> ASGIApp:
    """Return the ASGI application that serves a memory.

    Args:
        served: the memory, and whether it may be changed; it stays open.
        settings: what is allowed; default `Settings()`.
    """
    caller, files = Caller(served, settings or Settings()), page_files()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "http":
            file = files.get(scope["raw_path"]) if scope["method"] in ("GET", "HEAD") else None
            incoming = Incoming(scope, receive)
            if file is not None:
                response = Response(file.path.read_bytes(), media_type=file.media_type)
            else:
                response = await caller.answer(incoming)
            await response(scope, receive, send)

    return app


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
