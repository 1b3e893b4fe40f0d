"""Network: connections that keep to a deadline in every read and write.

The timeouts of httpx count the silence between two bytes, so a head that comes byte by byte would keep a thread for as
long as its server likes. Here each wait is cut to what is left until the deadline of the thread that waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import httpcore
import httpx

__all__ = ["Resolve", "keep_deadlines", "until"]

#: Returns the addresses of a host and port, or raises to refuse it.
Resolve: TypeAlias = Callable[[str, int], Sequence[str]]

#: A peer that takes byte by byte is looked at after so many.
_WRITTEN_BYTES = 16_384

_thread = threading.local()


@contextmanager
def until(ends_at: float) -> Iterator[None]:
    """Let connections of this thread wait no longer than until `ends_at`, in seconds of `time.monotonic`."""
    _thread.ends_at = ends_at
    try:
        yield
    finally:
        del _thread.ends_at


def keep_deadlines(client: httpx.Client, resolve: Resolve | None = None) -> None:
    """Make the connections of a client keep to `until`, those through proxies too.

    Args:
        resolve: says to which addresses a connection without a proxy may go. They are those that it then goes to, so
            that a name cannot mean one thing when it is looked at and another when it is used.
    """
    # httpx has no public way to change the network below its transports.
    mounted: dict[Any, Any] = getattr(client, "_mounts", {})
    direct = getattr(client, "_transport", None)
    for transport in (direct, *mounted.values()):
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore.ConnectionPool):
            pool._network_backend = _Backend(pool._network_backend, resolve if transport is direct else None)


def _left(timeout: float | None, error: type[Exception]) -> float | None:
    ends_at: float | None = getattr(_thread, "ends_at", None)
    if ends_at is None:
        return timeout
    left = ends_at - time.monotonic()
    if left <= 0:
        raise error("the time is over")
    return left if timeout is None else min(timeout, left)


class _Backend(httpcore.NetworkBackend):
    """Another backend, whose connections keep to deadlines."""

    def __init__(self, inner: httpcore.NetworkBackend, resolve: Resolve | None) -> None:
        self._inner = inner
        self._resolve = resolve

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        places = (host,) if self._resolve is None else self._resolve(host, port)
        for place in places[:-1]:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                left = _left(timeout, httpcore.ConnectTimeout)
                return _Stream(self._inner.connect_tcp(place, port, left, local_address, socket_options))
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(places[-1], port, left, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """A connection that keeps to deadlines."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITTEN_BYTES):
            part = buffer[start : start + _WRITTEN_BYTES]
            self._inner.write(part, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
