"""ServiceClient: runs the steps of an exchange, with threads or with asyncio."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pydantic import SecretStr

from septet.net.calls import MAX_ANSWER_BYTES, Answer, Call, NetFault, Send
from septet.net.connections import Connections
from septet.net.exchange import CallContext, Steps, exchange
from septet.net.keys import KeyRing
from septet.system.threads import call_within

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")

ATTEMPT_TIMEOUT_S = 60.0


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


class ServiceClient:
    """Sends calls to one service, with retries and its keys. Safe to share between threads and event loops.

    Args:
        service: its name in messages.
        authorise: returns the headers that carry a key.
        error_of: returns the error to raise for a fault, with the name of the service.
        io: clock, sleep, random numbers and transport; the real ones if None.
    """

    def __init__(
        self,
        service: str,
        keys: Sequence[SecretStr],
        *,
        authorise: Callable[[str], Mapping[str, str]],
        error_of: Callable[[NetFault, str], Exception],
        io: IO | None = None,
        attempt_timeout_s: float = ATTEMPT_TIMEOUT_S,
    ) -> None:
        self._io = io or IO()
        self.context = CallContext(
            service=service,
            keys=KeyRing(keys, self._io.clock),
            authorise=authorise,
            error_of=error_of,
            clock=self._io.clock,
            now=self._io.now,
            random=self._io.random,
            attempt_timeout_s=attempt_timeout_s,
        )
        self._connections = Connections(self.context.keys.masker, transport=self._io.transport, clock=self._io.clock)

    def __repr__(self) -> str:
        return f"ServiceClient({self.context.service!r}, {self.context.keys!r})"

    def ends_at(self, timeout_s: float | None) -> float:
        """Return the deadline on the clock; infinity without a timeout."""
        return float("inf") if timeout_s is None else self._io.clock() + timeout_s

    def send(self, call: Call, *, once: bool = False, max_bytes: int = MAX_ANSWER_BYTES) -> Answer:
        """Send a call, with retries, and return its answer with a 2xx status.

        Args:
            once: retry only if the service has certainly not accepted the call.
            max_bytes: maximum size of the answer.
        """
        ends_at = self.ends_at(None)
        return self._drive(exchange(call, self.context, lambda answer: answer, ends_at, once=once, max_bytes=max_bytes))

    def pause(self, seconds: float) -> None:
        """Sleep on this thread."""
        self._io.sleep(seconds)

    def run(self, steps: Callable[[], Steps[Result]], timeout_s: float | None) -> Result:
        """Run steps on this thread; with a timeout on another one, to enforce it. Errors are of `error_of`."""
        if timeout_s is None:
            return self._drive(steps())
        return call_within(timeout_s, lambda: self._drive(steps()), self._timeout(timeout_s))

    async def arun(self, steps: Callable[[], Steps[Result]], timeout_s: float | None) -> Result:
        """Run steps in the running event loop; see `run`."""
        try:
            return await asyncio.wait_for(self._adrive(steps()), timeout_s)
        except asyncio.TimeoutError:
            pass
        raise self._timeout(timeout_s or 0.0)

    def close(self) -> None:
        """Close the connections; the next call opens new ones. `aclose` closes those of event loops."""
        self._connections.close()

    async def aclose(self) -> None:
        """Close the connections of the running event loop, and those of threads."""
        await self._connections.aclose()

    def _drive(self, steps: Steps[Result]) -> Result:
        reply: Answer | NetFault | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(step, Send):
                reply = self._connections.fetch(step)
            else:
                self._io.sleep(step.seconds)
                reply = None

    async def _adrive(self, steps: Steps[Result]) -> Result:
        reply: Answer | NetFault | None = None
        while True:
            try:
                step = steps.send(reply)
            except StopIteration as end:
                result: Result = end.value
                return result
            if isinstance(step, Send):
                reply = await self._connections.afetch(step)
            else:
                await self._io.asleep(step.seconds)
                reply = None

    def _timeout(self, timeout_s: float) -> Exception:
        message = f"{self.context.service}: no answer within {timeout_s:g} s"
        return self.context.error(NetFault(message, "timeout", passing=True))
