"""Mounted: MCP under ``/mcp``, loaded and started when it is first asked for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Message

from septet.server.exchange import Exchange
from septet.server.routing import Refused
from septet.service.faults import Fault
from septet.service.served import Served

__all__ = ["MountedMcp"]


class MountedMcp:
    """The MCP server of a memory, as a handler; what guards and bounds the other routes does so with this one."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._app: ASGIApp | None = None
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def answer(self, scope: Any, body: bytes, exchange: Exchange) -> ASGIApp:
        """Return the answer to a message of MCP, when it is complete.

        Raises:
            Refused: the extra is not there (501), or the server stops (503).
        """
        if find_spec("mcp") is None:
            raise Refused(Fault("not_installed", "MCP needs the extra: pip install 'septet[mcp]'", 501))
        if self._task is None:
            # One task enters and leaves it, as its groups of tasks want it.
            self._task = asyncio.ensure_future(self._run())
        await self._ready.wait()
        if self._app is None:
            await self._task
            raise Refused(Fault("stopping", "the server is stopping", 503), {"Connection": "close"})
        return await _collected(self._app, scope, body)

    def end(self) -> None:
        """End what runs."""
        self._ended.set()

    async def _run(self) -> None:
        try:
            # It loads much, which the loop should not wait for.
            module = await asyncio.get_running_loop().run_in_executor(None, _load)
            made = module.mcp_app(self._served)
            async with made.running():
                self._app = made.app
                self._ready.set()
                with suppress(asyncio.CancelledError):
                    await self._ended.wait()
        finally:
            self._app = None
            self._ready.set()


async def _collected(app: ASGIApp, scope: Any, body: bytes) -> Response:
    """Return what an application answers to a request, as one piece."""
    asked: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    said = bytearray()
    response = Response()

    async def receive() -> Message:
        if not asked:
            # Who waits for this is cancelled when the client goes.
            await asyncio.Event().wait()
        return asked.pop()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            response.status_code = message["status"]
            response.raw_headers = [one for one in message["headers"] if one[0].lower() != b"content-length"]
        else:
            said.extend(message.get("body", b""))

    await app(scope, receive, send)
    response.body = bytes(said)
    response.raw_headers.append((b"content-length", str(len(said)).encode()))
    return response


def _load() -> Any:
    return import_module("septet.mcp.asgi")
