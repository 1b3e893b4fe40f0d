"""Running: a server of uvicorn around the application, which bounds connections and stops in order."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from septet.errors import StoreError

if TYPE_CHECKING:
    from septet.server.app import App

__all__ = ["Server", "bound"]

#: Seconds for the head of a request, and for a client to take what it is sent.
HEAD_S, TAKE_S = 15.0, 60.0
#: Connections; each of them may send a request at a time.
MOST_CONNECTIONS = 1_000
#: Seconds a connection without requests is kept.
KEEP_S = 15


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; port 0 takes a free one.

    Raises:
        StoreError: it cannot be had.
    """
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.create_server(info[4][:2], family=info[0], backlog=128)
    except (OSError, UnicodeError, OverflowError) as fault:
        said = getattr(fault, "strerror", None) or fault
        raise StoreError(f"cannot listen at {host}:{port}: {said}") from None
    # An answer is written in two pieces: the second must not wait until the client says that it has the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class Server(uvicorn.Server):
    """A server that runs until SIGTERM or SIGINT, or until `stop`, which any thread may call.

    Args:
        started: called with the URL as soon as requests are answered.
        grace_s: how long requests that run may go on when it stops; the second signal ends it at once.
    """

    def __init__(
        self, app: App, listening: socket.socket, started: Callable[[str], object], *, grace_s: float = 10.0
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Bounded,
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="off",
                timeout_keep_alive=KEEP_S,
                timeout_graceful_shutdown=1,
                limit_concurrency=MOST_CONNECTIONS,
            )
        )
        self._app, self._listening, self._started = app, listening, started
        self._grace_s = grace_s
        self._stop_at: float | None = None

    def serve_until_stopped(self) -> None:
        """Answer requests; return when the server has stopped."""
        # What uvicorn says of itself is said by whoever runs it; only what goes wrong is kept.
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        self.run([self._listening])

    def stop(self) -> None:
        """Have the server end: it refuses further requests, and gives those that run their time."""
        if self._stop_at is None:
            self._stop_at = time.monotonic() + self._grace_s

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal; at the second one at once."""
        if self._stop_at is None:
            self.stop()
        else:
            self.should_exit = self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals, and do not raise them again at the end, since stopping was what they asked for."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say where."""
        await super().startup(sockets)
        host, port = self._listening.getsockname()[:2]
        self._started(f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/")

    async def on_tick(self, counter: int) -> bool:
        """Say whether to end: when nothing runs any more, or for too long."""
        ended = await super().on_tick(counter)
        if self._stop_at is None:
            return ended
        self._app.begin_stop()
        return ended or self._app.running == 0 or time.monotonic() >= self._stop_at


class _Bounded(H11Protocol):
    """The protocol of uvicorn with bounds on clients that send, or take, next to nothing."""

    _head: asyncio.TimerHandle | None = None
    _take: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the head of a request."""
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD_S, self.transport.close)

    def data_received(self, data: bytes) -> None:
        """Take what came; the head of a request may not come for ever."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._clear("_head")
        elif self._head is None and (before is None or before.response_complete):
            # The head of the next request has begun.
            self._head = self.loop.call_later(HEAD_S, self.transport.close)

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not take its answer."""
        super().pause_writing()
        self._take = self.loop.call_later(TAKE_S, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self._clear("_take")

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._clear("_head")
        self._clear("_take")
        super().connection_lost(exc)

    def _clear(self, name: str) -> None:
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
