"""Connections: sends single calls over httpx, within bounds of time and size, with threads or with asyncio."""

from __future__ import annotations

import time
import weakref
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from septet._core import Lock
from septet.net.calls import Answer, FaultKind, NetFault, Send
from septet.net.keys import mask_logs
from septet.system.forks import renew_in_children

if TYPE_CHECKING:
    import asyncio

    import httpx

    from septet.net.deadlines import Resolve

Opened = TypeVar("Opened")

#: Encodings of answers that can be requested. The standard library cannot decompress others up to a bound.
ENCODINGS = ("gzip", "x-gzip")
_PLAIN = ("", "identity")
_GZIP = 16 + zlib.MAX_WBITS
#: Proxies of the environment do not apply to servers on this machine.
_NO_PROXY: Mapping[str, None] = dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]"))


class Connections:
    """The connections to one service. Safe to share between threads and event loops.

    A call is sent once; redirects are not followed. Connections open on demand. A forked child opens its own.

    Args:
        mask: hides keys in a text; applied to the logs of the HTTP libraries.
        transport: sends requests, an asynchronous one for `afetch`; None for the network.
        encodings: accepted encodings of answers; the first one is requested.
        proxies: True to use the proxies of the environment.
        cookies: True to keep cookies, as load balancers need them.
        limits: fields of `httpx.Limits`.
        resolve: returns the allowed addresses of a host; see `septet.net.deadlines`.
        clock: monotonic seconds.
        reopens: False to refuse calls after closing.
    """

    def __init__(
        self,
        mask: Callable[[str], str] | None = None,
        *,
        transport: Any = None,
        encodings: Sequence[str] = ENCODINGS,
        proxies: bool = True,
        cookies: bool = False,
        limits: Mapping[str, Any] | None = None,
        resolve: Resolve | None = None,
        clock: Callable[[], float] = time.monotonic,
        reopens: bool = True,
    ) -> None:
        self._mask, self._transport, self._encodings = mask, transport, encodings
        self._proxies, self._cookies, self._limits, self._resolve = proxies, cookies, limits, resolve
        self._clock, self._reopens, self._closed = clock, reopens, False
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Drop all connections: a child must not write to its parent's."""
        self._lock = Lock()
        self._sync: httpx.Client | None = None
        self._async: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._async = weakref.WeakKeyDictionary()

    def fetch(self, send: Send) -> Answer | NetFault:
        """Return the answer to a call, with any status, or its fault.

        A fault is returned, not raised: the frames of its traceback would hold the key.
        """
        import httpx

        from septet.net.deadlines import until

        ends_at = self._clock() + send.timeout_s
        try:
            with until(time.monotonic() + send.timeout_s), self._client().stream(**_request(send)) as response:
                body = _Body(response, send, self._encodings, self._clock, ends_at)
                for chunk in (response.content,) if response.is_stream_consumed else response.iter_raw():
                    body.add(chunk)
                return body.answer()
        except NetFault as fault:
            return fault.with_traceback(None)
        except (httpx.RequestError, httpx.InvalidURL) as error:
            return _fault_of_httpx(error, send.timeout_s)

    async def afetch(self, send: Send) -> Answer | NetFault:
        """Return the answer to a call, or its fault; see `fetch`."""
        import asyncio

        import httpx

        try:
            return await asyncio.wait_for(self._receive(send), send.timeout_s)
        except NetFault as fault:
            return fault.with_traceback(None)
        except (httpx.RequestError, httpx.InvalidURL) as error:
            return _fault_of_httpx(error, send.timeout_s)
        except asyncio.TimeoutError:
            return _timeout(send.timeout_s)

    async def _receive(self, send: Send) -> Answer:
        ends_at = self._clock() + send.timeout_s
        async with self._async_client().stream(**_request(send)) as response:
            body = _Body(response, send, self._encodings, self._clock, ends_at)
            if response.is_stream_consumed:
                body.add(response.content)
            else:
                async for chunk in response.aiter_raw():
                    body.add(chunk)
            return body.answer()

    def close(self) -> None:
        """Close the connections; the next call opens new ones, if it may. `aclose` closes those of event loops."""
        with self._lock.hold():
            self._closed = True
            client, self._sync = self._sync, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop, and those of threads."""
        import asyncio

        self.close()
        with self._lock.hold():
            client = self._async.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    def _client(self) -> httpx.Client:
        import httpx

        from septet.net.deadlines import keep_deadlines

        with self._lock.hold():
            self._check()
            if self._sync is None:
                self._sync = self._opened(httpx.Client)
                keep_deadlines(self._sync, self._resolve)
            return self._sync

    def _async_client(self) -> httpx.AsyncClient:
        import asyncio

        import httpx

        # A connection belongs to the event loop that opened it.
        loop = asyncio.get_running_loop()
        with self._lock.hold():
            self._check()
            if loop not in self._async:
                self._async[loop] = self._opened(httpx.AsyncClient)
            return self._async[loop]

    def _check(self) -> None:
        if self._closed and not self._reopens:
            raise NetFault("was closed", "closed")

    def _opened(self, kind: Callable[..., Opened]) -> Opened:
        """Return a new client of httpx."""
        from http.cookiejar import DefaultCookiePolicy

        import httpx

        mounts = _NO_PROXY if self._proxies and self._transport is None else {}
        headers = {"user-agent": "septet", "accept-encoding": (*self._encodings, "identity")[0]}
        options: dict[str, Any] = {"transport": self._transport, "mounts": mounts, "trust_env": self._proxies}
        if self._limits is not None:
            options["limits"] = httpx.Limits(**self._limits)
        try:
            client: Any = kind(headers=headers, **options)
        except (ImportError, ValueError) as error:
            # The address of a proxy may contain a password, so the error of httpx is dropped.
            is_missing = isinstance(error, ImportError)
            remedy = "pip install 'httpx[socks]'" if is_missing else "check HTTP_PROXY and ALL_PROXY"
        else:
            if not self._cookies:
                # They would link requests for servers, and accumulate.
                client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
            if self._mask is not None:
                mask_logs(self._mask)
            opened: Opened = client
            return opened
        raise NetFault(f"the environment names a proxy that httpx cannot use: {remedy}", "proxy")


class _Body:
    """A body read chunk by chunk, within bounds of time and size.

    The timeout of httpx limits silence only, so a trickling body would never end. A complete body is accepted even if
    it is late: it is paid for. The size is that after decompression, which stops at the bound.

    Args:
        response: with status and headers, its body not yet read.
        encodings: accepted encodings.
        clock: monotonic seconds.
        ends_at: the deadline, on that clock.

    Raises:
        NetFault: the body's encoding was not requested.
    """

    def __init__(
        self, response: httpx.Response, send: Send, encodings: Sequence[str], clock: Callable[[], float], ends_at: float
    ) -> None:
        self._response, self._send, self._clock, self._ends_at = response, send, clock, ends_at
        self._late = False
        self._read = bytearray()
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in (*_PLAIN, *encodings):
            raise self._fault(f"sent a body in the encoding {encoding[:80]!r}, which was not requested", "encoding")
        # A mock transport may have read and decompressed the body already.
        is_plain = encoding in _PLAIN or response.is_stream_consumed
        self._decompressor = None if is_plain else zlib.decompressobj(_GZIP)

    def add(self, chunk: bytes) -> None:
        """Append a chunk, still compressed; raise a `NetFault` if it is late, invalid, or makes the body too large."""
        if self._late:
            raise _timeout(self._send.timeout_s)
        most = self._send.max_bytes
        self._read += chunk if self._decompressor is None else self._inflate(chunk, most + 1 - len(self._read))
        if len(self._read) > most:
            limit = f"{most:,} bytes, the maximum for this request"
            raise self._fault(f"sent more than {limit}: check the address (baseUrl)", "too_large", passing=False)
        self._late = self._clock() > self._ends_at

    def answer(self) -> Answer:
        """Return the complete answer; raise a `NetFault` if a compressed body is truncated."""
        if self._decompressor is not None and self._read and not self._decompressor.eof:
            raise self._fault("broke off: the compressed body is truncated", "broken")
        headers = {name.lower(): value for name, value in self._response.headers.items()}
        return Answer(self._response.status_code, headers, self._read)

    def _inflate(self, chunk: bytes, most: int) -> bytes:
        decompressor = self._decompressor
        if decompressor is None or decompressor.eof:
            return b""
        try:
            return decompressor.decompress(chunk, most)
        except zlib.error:
            raise self._fault("sent a body that is not valid gzip", "garbled") from None

    def _fault(self, message: str, kind: FaultKind, *, passing: bool = True) -> NetFault:
        return NetFault(message, kind, status=self._response.status_code, passing=passing)


def _request(send: Send) -> dict[str, Any]:
    call = send.call
    headers = {**call.headers, **send.key_headers}
    return {"method": call.method, "url": call.url, "content": call.body, "headers": headers, "timeout": send.timeout_s}


def _timeout(timeout_s: float) -> NetFault:
    return NetFault(f"gave no answer within {timeout_s:g} s", "timeout", passing=True)


def _fault_of_httpx(error: httpx.RequestError | httpx.InvalidURL, timeout_s: float) -> NetFault:
    """Return the fault for an error of httpx, which itself holds the request with its key."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return _timeout(timeout_s)
    reason = str(error) or "no reason given"
    if isinstance(error, httpx.ConnectError):
        return NetFault(f"cannot be reached: {reason}", "unreachable", passing=True)
    is_broken = isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
    kind: FaultKind = "broken" if is_broken else "invalid"
    return NetFault(f"broke off: {type(error).__name__}: {reason}", kind, passing=True)
