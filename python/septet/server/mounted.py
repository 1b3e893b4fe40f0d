"""Mounted: MCP under ``/mcp``, loaded and started on first use."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message

from septet.server.exchange import Exchange
from septet.server.routing import RequestError
from septet.service.faults import CallerFault
from septet.service.served import Served


class MountedMcp:
    """The MCP server of a memory as a handler, guarded and bounded like the other routes."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._app: ASGIApp | None = None
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def answer(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        """Return the complete answer to an MCP message.

        Raises:
            RequestError: the extra is not installed (501), or the server stops (503).
        """
        if find_spec("mcp") is None:
            raise RequestError(CallerFault("not_installed", "MCP needs the extra: pip install 'septet[mcp]'", 501))
        if self._task is None:
            # A single task must enter and leave the application, as its task groups require.
            self._task = asyncio.ensure_future(self._run())
        await self._ready.wait()
        if self._app is None:
            await self._task
            raise RequestError(CallerFault("stopping", "the server is stopping", 503), {"Connection": "close"})
        return await _collected(self._app, scope, body)

    def end(self) -> None:
        """Stop the application."""
        self._ended.set()

    async def _run(self) -> None:
        try:
            # Importing it is slow, so not on the loop.
            module = await asyncio.get_running_loop().run_in_executor(None, _load)
            mounted = module.mcp_app(self._served)
            async with mounted.running():
                self._app = mounted.app
                self._ready.set()
                with suppress(asyncio.CancelledError):
                    await self._ended.wait()
        finally:
            self._app = None
            self._ready.set()


async def _collected(app: ASGIApp, scope: Any, body: bytes) -> Response:
    """Return the answer of an application as one response."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    data = bytearray()
    response = Response()

    async def receive() -> Message:
        if not messages:
            # The wait is cancelled when the client disconnects.
            await asyncio.Event().wait()
        return messages.pop()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status_code = message["status"]
            response.raw_headers = [header for header in message["headers"] if header[0].lower() != b"content-length"]
        else:
            data.extend(message.get("body", b""))

    await app(scope, receive, send)
    response.body = bytes(data)
    response.raw_headers.append((b"content-length", str(len(data)).encode()))
    return response


def _load() -> Any:
    return import_module("septet.mcp.asgi")
