"""Client: runs the steps of an exchange over one httpx client, with threads or with asyncio."""

from __future__ import annotations

import asyncio
import random
import time
import weakref
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import SecretStr

from septet._core import Lock
from septet.embedding.transport.body import ENCODINGS, Body, BodyError, timeout_error
from septet.embedding.transport.calls import MAX_ANSWER_BYTES, Answer, Call, TransportError
from septet.embedding.transport.exchange import CallContext, Send, Steps, exchange
from septet.embedding.transport.keys import KeyRing
from septet.embedding.transport.masking import mask_logs
from septet.errors import EmbeddingConfigError, EmbeddingUnavailable
from septet.system.forks import renew_in_children
from septet.system.threads import call_within

if TYPE_CHECKING:
    import httpx

    from septet.embedding.transport.network import Resolve

Result = TypeVar("Result")

ATTEMPT_TIMEOUT_S = 60.0
_HEADERS = {"user-agent": "septet", "accept-encoding": ENCODINGS[0]}
#: Proxies of the environment do not apply to servers on this machine.
_NO_PROXY: Mapping[str, None] = dict.fromkeys(("all://127.0.0.1", "all://localhost", "all://[::1]"))


@dataclass(frozen=True, slots=True)
class IO:
    """Clock, sleep, random numbers and network as values, for tests to replace.

    Attributes:
        clock: monotonic seconds.
        now: seconds since 1970.
        sleep: blocks for a number of seconds; `asleep` is its asyncio form.
        random: a number from 0 to 1.
        transport: sends requests; None for the network. `aembed` needs an asynchronous one.
    """

    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    asleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    random: Callable[[], float] = random.random
    transport: httpx.MockTransport | None = None


class ProviderClient:
    """Sends calls to one provider, with its keys. Safe to share between threads and event loops.

    Args:
        authorise: returns the headers that carry a key.
        io: clock, sleep, random numbers and transport; the real ones if None.

        resolve: returns the allowed addresses of a host; see `septet.embedding.transport.network`.
    """

    def __init__(
        self,
        provider: str,
        keys: Sequence[SecretStr],
        *,
        authorise: Callable[[str], Mapping[str, str]],
        io: IO | None = None,
        attempt_timeout_s: float = ATTEMPT_TIMEOUT_S,
        resolve: Resolve | None = None,
    ) -> None:
        self._io = io or IO()
        self._resolve = resolve
        self.context = CallContext(
            provider=provider,
            keys=KeyRing(keys, self._io.clock),
            authorise=authorise,
            clock=self._io.clock,
            now=self._io.now,
            random=self._io.random,
            attempt_timeout_s=attempt_timeout_s,
        )
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"Client({self.context.provider!r}, {self.context.keys!r})"

    def after_fork(self) -> None:
        """Drop all connections: a child must not write to its parent's."""
        self._lock = Lock()
        self._sync: httpx.Client | None = None
        self._async: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]
        self._async = weakref.WeakKeyDictionary()

    def ends_at(self, timeout_s: float | None) -> float:
        """Return the deadline on the clock; infinity without a timeout."""
        return float("inf") if timeout_s is None else self._io.clock() + timeout_s

    def send(
        self, call: Call, *, timeout_s: float | None = None, once: bool = False, max_bytes: int = MAX_ANSWER_BYTES
    ) -> Answer:
        """Send a call, with retries, and return its answer with a 2xx status.

        Args:
            once: retry only if the provider has certainly not accepted the call.
            max_bytes: maximum size of the answer.

        Raises:
            EmbeddingRefused, EmbeddingUnavailable: see `exchange`.
        """
        ends_at = self.ends_at(timeout_s)
        return self.run(
            lambda: exchange(call, self.context, lambda answer: answer, ends_at, once=once, max_bytes=max_bytes),
            timeout_s,
        )

    def pause(self, seconds: float) -> None:
        """Sleep on this thread."""
        self._io.sleep(seconds)

    def run(self, steps: Callable[[], Steps[Result]], timeout_s: float | None) -> Result:
        """Run steps on this thread; with a timeout, on another one, to enforce the deadline.

        Raises:
            EmbeddingUnavailable: no result within `timeout_s`. Errors of the steps are raised unchanged.
        """
        if timeout_s is None:
            return self._drive(steps())
        return call_within(timeout_s, lambda: self._drive(steps()), self.context.provider)

    async def arun(self, steps: Callable[[], Steps[Result]], timeout_s: float | None) -> Result:
        """Run steps in the running event loop.

        Raises:
            EmbeddingUnavailable: no result within `timeout_s`. Errors of the steps are raised unchanged.
        """
        try:
            return await asyncio.wait_for(self._adrive(steps()), timeout_s)
        except asyncio.TimeoutError:
            pass
        provider = self.context.provider
        raise EmbeddingUnavailable(f"{provider}: no answer within {timeout_s:g} s", provider=provider)

    def close(self) -> None:
        """Close the connections; the next call opens new ones. `aclose` closes those of event loops."""
        with self._lock.hold():
            client, self._sync = self._sync, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop, and those of threads."""
        client = self._async.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()
        self.close()

    def _drive(self, steps: Steps[Result]) -> Result:
        reply: Answer | TransportError | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(step, Send):
                reply = self._send(step)
            else:
                self._io.sleep(step.seconds)
                reply = None

    async def _adrive(self, steps: Steps[Result]) -> Result:
        reply: Answer | TransportError | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(step, Send):
                reply = await self._asend(step)
            else:
                await self._io.asleep(step.seconds)
                reply = None

    def _send(self, step: Send) -> Answer | TransportError:
        import httpx

        from septet.embedding.transport.network import until

        ends_at = self._io.clock() + step.timeout_s
        try:
            with until(time.monotonic() + step.timeout_s), self._client().stream(**_request(step)) as response:
                body = Body(response, step, self._io.clock, ends_at)
                for chunk in (response.content,) if response.is_stream_consumed else response.iter_raw():
                    body.add(chunk)
                return body.answer()
        except BodyError as end:
            return end.error
        except (httpx.RequestError, httpx.InvalidURL) as error:
            return _transport_error(error, step.timeout_s)

    async def _asend(self, step: Send) -> Answer | TransportError:
        import httpx

        try:
            return await asyncio.wait_for(self._receive(step), step.timeout_s)
        except BodyError as end:
            return end.error
        except (httpx.RequestError, httpx.InvalidURL) as error:
            return _transport_error(error, step.timeout_s)
        except asyncio.TimeoutError:
            return timeout_error(step.timeout_s)

    async def _receive(self, step: Send) -> Answer:
        ends_at = self._io.clock() + step.timeout_s
        async with self._async_client().stream(**_request(step)) as response:
            body = Body(response, step, self._io.clock, ends_at)
            if response.is_stream_consumed:
                body.add(response.content)
            else:
                async for chunk in response.aiter_raw():
                    body.add(chunk)
            return body.answer()

    def _client(self) -> httpx.Client:
        from http.cookiejar import DefaultCookiePolicy

        import httpx

        from septet.embedding.transport.network import keep_deadlines

        with self._lock.hold():
            if self._sync is None:
                client = _with_proxies(lambda: httpx.Client(**self._options()))
                keep_deadlines(client, self._resolve)
                # Cookies would link requests for servers, and accumulate.
                client.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))
                mask_logs(self.context.keys.masker)
                self._sync = client
            return self._sync

    def _async_client(self) -> httpx.AsyncClient:
        import httpx

        # A connection belongs to the event loop that opened it.
        loop = asyncio.get_running_loop()
        if loop not in self._async:
            mask_logs(self.context.keys.masker)
            self._async[loop] = _with_proxies(lambda: httpx.AsyncClient(**self._options()))
        return self._async[loop]

    def _options(self) -> dict[str, Any]:
        mounts = _NO_PROXY if self._io.transport is None else {}
        return {"transport": self._io.transport, "mounts": mounts, "headers": _HEADERS}


def _with_proxies(make: Callable[[], Result]) -> Result:
    """Return a client; hide a proxy's address in errors, because it may contain a password."""
    try:
        return make()
    except (ImportError, ValueError) as error:
        remedy = "pip install 'httpx[socks]'" if isinstance(error, ImportError) else "check HTTP_PROXY and ALL_PROXY"
    raise EmbeddingConfigError(f"the environment names a proxy that httpx cannot use: {remedy}")


def _request(step: Send) -> dict[str, Any]:
    call = step.call
    headers = {**call.headers, **step.key_headers}
    return {"method": call.method, "url": call.url, "content": call.body, "headers": headers, "timeout": step.timeout_s}


def _transport_error(error: httpx.RequestError | httpx.InvalidURL, timeout_s: float) -> TransportError:
    """Return the message of an httpx error: the error itself holds the request with its key."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return timeout_error(timeout_s)
    reason = str(error) or "no reason given"
    if isinstance(error, httpx.ConnectError):
        return TransportError(f"cannot be reached: {reason}")
    return TransportError(f"broke off: {type(error).__name__}: {reason}")
