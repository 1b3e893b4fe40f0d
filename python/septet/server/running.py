"""Running: a uvicorn server for the application, with limits on connections and an orderly stop."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, cast

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from septet.errors import StoreError
from septet.server.exchange import CONNECTION
from septet.server.room import Room
from septet.system.host import host
from septet.system.session import session

if TYPE_CHECKING:
    from septet.server.app import App

#: Maximum time for the head of a request, in seconds.
HEAD_S = 15.0
#: Time in which a client must download `LEAST_TAKEN` bytes of its answer, or the rest, in seconds.
TAKE_S = 20.0
#: Minimum bytes downloaded per `TAKE_S`; slower clients are disconnected.
LEAST_TAKEN = 32 * 2**10
#: Maximum bytes of all undelivered answers; beyond it, the slowest client is disconnected.
MOST_UNTAKEN = 256 * 2**20
#: Maximum connections, at most those of the system; beyond it, the slowest client is disconnected.
MOST_CONNECTIONS = 1_000
#: Maximum bytes of the head of a request.
MOST_HEAD = 16 * 2**10
_HEAD_END = re.compile(rb"\n\r?\n")
#: A line that ends without a carriage return, or is continued in the next one.
_ODD_LINE = re.compile(rb"(?<!\r)\n|\n[ \t]")
#: Keep-alive time of an idle connection, in seconds.
KEEP_S = 15


def bound(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 chooses a free one (`StoreError`)."""
    try:
        info = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listening = socket.create_server(info[4][:2], family=info[0], backlog=128)
    except (OSError, UnicodeError, OverflowError) as fault:
        reason = getattr(fault, "strerror", None) or fault
        raise StoreError(f"cannot listen at {host}:{port}: {reason}") from None
    # An answer is written in two pieces: the second must not wait for the acknowledgement of the first.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


class Server(uvicorn.Server):
    """A server that runs until SIGTERM, SIGINT or `stop`, which is thread-safe.

    Args:
        started: called with the URL once requests are answered.
        grace_s: time for requests in progress at a stop, in seconds; a second signal stops at once.
    """

    def __init__(
        self, app: App, listening: socket.socket, started: Callable[[str], object], *, grace_s: float = 10.0
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                # A factory works where uvicorn expects a class.
                http=cast("Any", partial(_Bounded, Room(_most_connections()), Room(MOST_UNTAKEN))),
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                ws="none",
                lifespan="off",
                timeout_keep_alive=KEEP_S,
                timeout_graceful_shutdown=1,
            )
        )
        self._app, self._listening, self._started = app, listening, started
        self._grace_s = grace_s
        self._stop_at: float | None = None

    def serve_until_stopped(self) -> None:
        """Serve; return when the server has stopped."""
        # The caller logs the server's state; keep only the warnings of uvicorn.
        logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
        session.run_server(self.serve([self._listening]))

    def stop(self) -> None:
        """Stop the server: refuse further requests, and give those in progress time to finish."""
        if self._stop_at is None:
            self._stop_at = time.monotonic() + self._grace_s

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at the first signal; at once at the second."""
        if self._stop_at is None:
            self.stop()
        else:
            self.should_exit = self.force_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals without raising them again at the end: the stop was their purpose."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and report the URL."""
        await super().startup(sockets)
        host, port = self._listening.getsockname()[:2]
        self._started(f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop; abort unfinished answers, so that no partial one looks complete."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, _Bounded):
                connection.cut_off()
        self._app.end()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Return True to exit: when nothing runs, or the grace time has passed."""
        ended = await super().on_tick(counter)
        if self._stop_at is None:
            return ended
        self._app.stopping = True
        return ended or self._app.running == 0 or time.monotonic() >= self._stop_at


def _most_connections() -> int:
    most = host.most_connections()
    return MOST_CONNECTIONS if most is None else max(1, min(MOST_CONNECTIONS, most))


class _HeadParser(h11.Connection):
    """The h11 parser, without the lenient line endings that a proxy may read differently."""

    def next_event(self) -> Any:
        """Return the next event; raise `h11.RemoteProtocolError` for an invalid request."""
        if self.their_state is h11.IDLE:
            # The head may be incomplete.
            data = self.trailing_data[0]
            end = _HEAD_END.search(data)
            if _ODD_LINE.search(data, 0, len(data) if end is None else end.end()):
                raise h11.RemoteProtocolError("a header line is folded, or ends without a carriage return")
        return super().next_event()


class _Bounded(H11Protocol):
    """The uvicorn protocol with limits on slow clients."""

    _head: asyncio.TimerHandle | None = None
    _take: asyncio.TimerHandle | None = None
    _left = 0

    def __init__(self, connections: Room, untaken: Room, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.conn = _HeadParser(h11.SERVER, MOST_HEAD)
        self._place, self._untaken = connections.hold(self.abort), untaken.hold(self.abort)
        answer = self.app

        def app(scope: Any, receive: Any, send: Any) -> Any:
            scope["extensions"] = {CONNECTION: self}
            return answer(scope, receive, send)

        self.app = app

    def connection_made(self, transport: Any) -> None:
        """Register the connection, and start the timer of its first request."""
        super().connection_made(transport)
        self._place.wait()
        if not self._place.resize(1):
            self.abort()
            return
        self._head = self.loop.call_later(HEAD_S, self.transport.close)

    def data_received(self, data: bytes) -> None:
        """Pass on received data, and limit the time for the head of a request."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            if self._head is not None:
                self._clear("_head")
        elif self._head is None and (before is None or before.response_complete):
            # The head of the next request has started.
            self._head = self.loop.call_later(HEAD_S, self.transport.close)
        if self.cycle is not None and not self.cycle.response_complete:
            self._update_wait()

    def on_response_complete(self) -> None:
        """Watch the download of the answer, and wait for the next request."""
        # The next request may be here already.
        super().on_response_complete()
        self._update_wait()
        self._watch_download()

    def send_400_response(self, msg: str) -> None:
        """Refuse an invalid request."""
        super().send_400_response(msg)
        self._watch_download()

    def pause_writing(self) -> None:
        """Watch a client that downloads too slowly."""
        super().pause_writing()
        self._untaken.wait()
        self._untaken.resize(self.transport.get_write_buffer_size())
        self._update_wait()
        self._watch_download()

    def resume_writing(self) -> None:
        """Resume writing."""
        super().resume_writing()
        self._untaken.release()
        self._clear("_take")
        self._update_wait()
        if self.cycle is None or self.cycle.response_complete:
            self._watch_download()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel timers and release shares."""
        self._clear("_head")
        self._clear("_take")
        self._place.release()
        self._untaken.release()
        super().connection_lost(exc)

    @property
    def ended(self) -> bool:
        """True once the connection is closing."""
        return self.transport.is_closing()

    @property
    def received(self) -> bool:
        """True once the body of the current request is here, to its end."""
        return self.cycle is not None and not self.cycle.more_body

    def abort(self) -> None:
        """Close the connection at once, dropping unsent data."""
        self.transport.abort()

    def cut_off(self) -> None:
        """Abort the connection if a request or an answer is unfinished."""
        done = self.cycle is None or self.cycle.response_complete
        if not done or self.transport.get_write_buffer_size():
            self.abort()

    def _update_wait(self) -> None:
        """Update the wait: the client waits while its request is worked on, else the server waits for the client."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused:
            self._place.wait()
        else:
            self._place.go_on()

    def _watch_download(self) -> None:
        self._left = self.transport.get_write_buffer_size()
        if self._left and self._take is None:
            self._take = self.loop.call_later(TAKE_S, self._check_download)

    def _check_download(self) -> None:
        self._take = None
        if self._left - self.transport.get_write_buffer_size() < LEAST_TAKEN:
            self.abort()
            return
        self._untaken.resize(self.transport.get_write_buffer_size())
        self._watch_download()

    def _clear(self, name: str) -> None:
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
