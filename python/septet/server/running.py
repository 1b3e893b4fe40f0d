"""Running: a server of uvicorn around the application."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from septet.errors import StoreError

__all__ = ["Server", "bound"]


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one.

    Raises:
        StoreError: it cannot be had.
    """
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(info[4][:2], family=info[0], backlog=128)
    except OSError as fault:
        raise StoreError(f"cannot listen at {host}:{port}: {fault.strerror or fault}") from None


class Server(uvicorn.Server):
    """A server that runs until SIGTERM or SIGINT, or until `stop`, which any thread may call.

    Args:
        started: called with the URL as soon as requests are answered.
    """

    def __init__(self, app: ASGIApp, listening: socket.socket, started: Callable[[str], object]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="on",
            )
        )
        self._listening, self._started = listening, started

    def serve_until_stopped(self) -> None:
        """Answer requests; return when the server has stopped."""
        self.run([self._listening])

    def stop(self) -> None:
        """Have the server end."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say where."""
        await super().startup(sockets)
        host, port = self._listening.getsockname()[:2]
        self._started(f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/")
