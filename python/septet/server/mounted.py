"""Mounted: MCP under ``/mcp``, loaded and started when it is first asked for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from starlette.types import ASGIApp, Receive

from septet.server.exchange import Exchange
from septet.server.routing import Refused
from septet.service.faults import Fault
from septet.service.served import Served

__all__ = ["MountedMcp"]


class MountedMcp:
    """The MCP server of a memory, as a handler; what guards the other routes guards this one too."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._app: ASGIApp | None = None
        self._ready = asyncio.Event()
        self._ended = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def answer(self, scope: Any, receive: Receive, exchange: Exchange) -> ASGIApp:
        """Return what answers a message of MCP.

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
        # A client that listens for messages is no work that has to be ended.
        exchange.listens = exchange.method == "GET"
        return self._app

    def end(self) -> None:
        """End the sessions."""
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


def _load() -> Any:
    return import_module("septet.mcp.asgi")
