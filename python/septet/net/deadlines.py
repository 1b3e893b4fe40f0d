"""Deadlines: connections with a deadline for every read and write.

The timeouts of httpx limit the silence between two bytes, so a server that sends its headers byte by byte would block a
thread forever. Here each wait ends at the deadline of its thread.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import httpcore
import httpx

#: Returns the addresses of a host and port, or raises to refuse it.
Resolve: TypeAlias = Callable[[str, int], Sequence[str]]

#: Bytes per write: the deadline is checked between writes, for peers that read slowly.
_WRITTEN_BYTES = 16_384

_thread = threading.local()


@contextmanager
def until(ends_at: float) -> Iterator[None]:
    """Set the deadline of this thread's connections, in seconds of `time.monotonic`."""
    _thread.ends_at = ends_at
    try:
        yield
    finally:
        del _thread.ends_at


def keep_deadlines(client: httpx.Client, resolve: Resolve | None = None) -> None:
    """Enforce the deadline of `until` on the connections of a client, including those through proxies.

    Args:
        resolve: returns the allowed addresses of a direct connection. It connects to these addresses without a second
            lookup, so the name cannot resolve differently after the check (DNS rebinding).
    """
    # httpx has no public API for the network backend of its transports.
    mounted: dict[Any, Any] = getattr(client, "_mounts", {})
    direct = getattr(client, "_transport", None)
    for transport in (direct, *mounted.values()):
        pool = getattr(transport, "_pool", None)
        if isinstance(pool, httpcore.ConnectionPool):
            pool._network_backend = _Backend(pool._network_backend, resolve if transport is direct else None)


def _remaining(timeout: float | None, error: type[Exception]) -> float | None:
    ends_at: float | None = getattr(_thread, "ends_at", None)
    if ends_at is None:
        return timeout
    remaining_s = ends_at - time.monotonic()
    if remaining_s <= 0:
        raise error("the deadline has passed")
    return remaining_s if timeout is None else min(timeout, remaining_s)


class _Backend(httpcore.NetworkBackend):
    """Wraps a backend; its connections have deadlines."""

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
        addresses = (host,) if self._resolve is None else self._resolve(host, port)
        for address in addresses[:-1]:
            with suppress(httpcore.ConnectError, httpcore.ConnectTimeout):
                remaining_s = _remaining(timeout, httpcore.ConnectTimeout)
                return _Stream(self._inner.connect_tcp(address, port, remaining_s, local_address, socket_options))
        remaining_s = _remaining(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(addresses[-1], port, remaining_s, local_address, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """Wraps a connection; its reads and writes have deadlines."""

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _remaining(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _WRITTEN_BYTES):
            part = buffer[start : start + _WRITTEN_BYTES]
            self._inner.write(part, _remaining(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        remaining_s = _remaining(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, remaining_s))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
