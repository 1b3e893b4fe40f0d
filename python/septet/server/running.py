"""Running: a server of uvicorn around the application, which bounds connections and stops in order."""

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
from septet.server.breaking import CONNECTION
from septet.server.room import Room

if TYPE_CHECKING:
    from septet.server.app import App

__all__ = ["Server", "bound"]

#: Seconds for the head of a request.
HEAD_S = 15.0
#: Seconds in which a client takes `LEAST_TAKEN` bytes of its answer, or the rest.
TAKE_S = 20.0
#: Bytes of an answer that a client takes in `TAKE_S`; one that takes less is disconnected.
LEAST_TAKEN = 32 * 2**10
#: Bytes of all answers that wait for their clients; of more, the client waited for longest is disconnected.
MOST_UNTAKEN = 256 * 2**20
#: Connections, at most half of the files that the process may open; for one more, the client waited for longest goes.
MOST_CONNECTIONS = 1_000
#: Bytes of the head of a request.
MOST_HEAD = 16 * 2**10
_HEAD_END = re.compile(rb"\n\r?\n")
#: A line that ends without a carriage return, or goes on in the next one.
_ODD_LINE = re.compile(rb"(?<!\r)\n|\n[ \t]")
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
                # One that is made where a class is called does as well.
                http=cast("Any", partial(_Bounded, _Shared())),
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

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; what is not done by now is cut off, so that no half of an answer looks like a whole one."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, _Bounded):
                connection.cut_off()
        self._app.end()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Say whether to end: when nothing runs any more, or for too long."""
        ended = await super().on_tick(counter)
        if self._stop_at is None:
            return ended
        self._app.begin_stop()
        return ended or self._app.running == 0 or time.monotonic() >= self._stop_at


class _Shared:
    """What the connections of a server share."""

    def __init__(self) -> None:
        self.connections, self.untaken = Room(_most_connections()), Room(MOST_UNTAKEN)


def _most_connections() -> int:
    try:
        import resource
    except ModuleNotFoundError:
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_CONNECTIONS if files == resource.RLIM_INFINITY else max(1, min(MOST_CONNECTIONS, files // 2))


class _Heads(h11.Connection):
    """The parser of h11, which takes no line that a proxy in front may have read as another one."""

    def next_event(self) -> Any:
        """Return what comes next.

        Raises:
            h11.RemoteProtocolError: it is no request.
        """
        if self.their_state is h11.IDLE and _is_odd(self.trailing_data[0]):
            raise h11.RemoteProtocolError("a line of the head is folded, or ends without a carriage return")
        return super().next_event()


def _is_odd(data: bytes) -> bool:
    """Return whether a line of a head, as far as it has come, has an odd end."""
    end = _HEAD_END.search(data)
    return _ODD_LINE.search(data, 0, len(data) if end is None else end.end()) is not None


class _Bounded(H11Protocol):
    """The protocol of uvicorn with bounds on clients that send, or take, next to nothing."""

    _head: asyncio.TimerHandle | None = None
    _take: asyncio.TimerHandle | None = None
    _left = 0

    def __init__(self, shared: _Shared, **named: Any) -> None:
        super().__init__(**named)
        self.conn = _Heads(h11.SERVER, MOST_HEAD)
        self._place, self._untaken = shared.connections.hold(self.abort), shared.untaken.hold(self.abort)
        answer = self.app

        async def app(scope: Any, receive: Any, send: Any) -> None:
            scope["extensions"] = {CONNECTION: self}
            await answer(scope, receive, send)

        self.app = app

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the head of a request."""
        super().connection_made(transport)
        self._place.wait()
        if not self._place.resize(1):
            self.abort()
            return
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
        if self.cycle is not None and not self.cycle.response_complete:
            self._look_who_waits()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request, and for the client to take what is left of the answer."""
        self._look_who_waits()
        # The next request may be here already.
        super().on_response_complete()
        self._look_who_waits()
        self._begin_take()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request."""
        super().send_400_response(msg)
        self._begin_take()

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not take its answer."""
        super().pause_writing()
        self._untaken.wait()
        self._untaken.resize(self.transport.get_write_buffer_size())
        self._look_who_waits()
        self._begin_take()

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self._untaken.release()
        self._clear("_take")
        self._look_who_waits()
        if self.cycle is None or self.cycle.response_complete:
            self._begin_take()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        for timer in ("_head", "_take"):
            self._clear(timer)
        for hold in (self._place, self._untaken):
            hold.release()
        super().connection_lost(exc)

    @property
    def ended(self) -> bool:
        """Whether nothing more is sent."""
        return self.transport.is_closing()

    def abort(self) -> None:
        """End the connection at once, whatever was not sent."""
        self.transport.abort()

    def cut_off(self) -> None:
        """End the connection if something of it is not done, and nobody waits for that any more."""
        done = self.cycle is None or self.cycle.response_complete
        if not done or self.transport.get_write_buffer_size():
            self.abort()

    def _look_who_waits(self) -> None:
        """While a request is worked on, the client waits; else it is waited for, and may have to give way."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused:
            self._place.wait()
        else:
            self._place.go_on()

    def _begin_take(self) -> None:
        self._left = self.transport.get_write_buffer_size()
        if self._left and self._take is None:
            self._take = self.loop.call_later(TAKE_S, self._check_taken)

    def _check_taken(self) -> None:
        self._take = None
        if self._left - self.transport.get_write_buffer_size() < LEAST_TAKEN:
            self.abort()
            return
        self._untaken.resize(self.transport.get_write_buffer_size())
        self._begin_take()

    def _clear(self, name: str) -> None:
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)
