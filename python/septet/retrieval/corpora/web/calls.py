"""Calls: one HTTP request with its deadline and size limit, over the transport of embedding."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from septet._core import Lock
from septet.notes import Note
from septet.system.forks import renew_in_children

if TYPE_CHECKING:
    from septet.embedding.transport.calls import Answer, Call
    from septet.embedding.transport.client import ProviderClient
    from septet.embedding.transport.exchange import CallContext, Steps
    from septet.embedding.transport.network import Resolve

#: Default User-Agent; also the name for robots.txt.
USER_AGENT = "septet"
#: Maximum response of a search service.
MAX_JSON_BYTES = 4 * 2**20


class WebFault(Exception):
    """The reason why a web request gave nothing.

    Attributes:
        cause: in words; never contains keys.
        cure: the remedy.
        wait_s: pause requested by the host; None if it requested none.
        sent: True if a request was sent; if False, the host itself has no fault.
    """

    def __init__(self, cause: str, cure: str = "", *, wait_s: float | None = None, sent: bool = True) -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure
        self.wait_s = wait_s
        self.sent = sent

    @property
    def note(self) -> Note:
        """The note of the fault."""
        return Note("web_failed", self.cause, self.cure)


class NotSent(WebFault):
    """The reason for not sending a request to a host without a fault.

    Args:
        note: the note of the fault.
    """

    def __init__(self, note: Note) -> None:
        super().__init__(note.cause, note.cure, sent=False)
        self._note = note

    @property
    def note(self) -> Note:
        """The note of the fault."""
        return self._note


class WebCalls:
    """Sends requests to one host or many, without retries. Opened by its first request.

    Args:
        name: the name in faults.
        secrets: texts that never appear in faults and logs.
        authorise: returns the headers that carry the first of them.
        user_agent: the User-Agent of requests.
        resolve: returns the addresses that connections may use.
    """

    def __init__(
        self,
        name: str,
        *,
        secrets: Sequence[str] = (),
        authorise: Callable[[str], Mapping[str, str]] = lambda _: {},
        user_agent: str = USER_AGENT,
        resolve: Resolve | None = None,
    ) -> None:
        self._name = name
        self._secrets = tuple(secrets)
        self._authorise = authorise
        self._user_agent = user_agent
        self._resolve = resolve
        self._opened: ProviderClient | None = None
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"WebCalls({self._name!r})"

    def after_fork(self) -> None:
        """Reset the lock in a forked child."""
        self._lock = Lock()

    def send(
        self, method: str, url: str, *, timeout_s: float, max_bytes: int, headers: Mapping[str, str], body: bytes = b""
    ) -> Answer:
        """Return the response to one request, with any status. Redirects are not followed.

        Raises:
            WebFault: there is no response within the time and size limits.
        """
        from septet.embedding.transport.calls import Answer, Call
        from septet.errors import EmbeddingConfigError, EmbeddingUnavailable

        call = Call(method, url, body, {"user-agent": self._user_agent, **headers})
        client = self._client()
        ends_at = time.monotonic() + timeout_s
        try:
            reply = client.run(partial(_once, call, client.context, ends_at, max_bytes), timeout_s)
        except EmbeddingUnavailable:
            raise WebFault(f"{self._name} gave no answer within {timeout_s:.3g} s") from None
        except EmbeddingConfigError as fault:
            raise WebFault(str(fault)) from None
        if isinstance(reply, Answer):
            return reply
        reason = f"sent more than {max_bytes:,} bytes" if reply.too_large else reply.cause
        raise WebFault(self.scrubbed(f"{self._name} {reason}"))

    def scrubbed(self, text: str) -> str:
        """Return a text without keys."""
        return self._client().context.keys.scrub(text)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        with self._lock.hold():
            client = self._opened
        if client is not None:
            client.close()

    def _client(self) -> ProviderClient:
        from pydantic import SecretStr

        from septet.embedding.transport.client import ProviderClient

        with self._lock.hold():
            if self._opened is None:
                self._opened = ProviderClient(
                    self._name,
                    [SecretStr(secret) for secret in self._secrets],
                    authorise=self._authorise,
                    resolve=self._resolve,
                )
            return self._opened


def json_of(calls: WebCalls, name: str, answer: Answer) -> Any:
    """Return the JSON of a search service's response.

    Raises:
        WebFault: the status is not a success, or the body is not JSON.
    """
    from septet.embedding.transport.faults import Garbled, fault_of, parsed

    fault = fault_of(answer, time.time())
    if fault is not None:
        raise WebFault(calls.scrubbed(f"{name} {fault.message}"), wait_s=fault.wait_s)
    try:
        return parsed(answer)
    except Garbled as garbled:
        reason = str(garbled)
    try:
        # A broken character in one result does not affect the others.
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise WebFault(f"{name} sent {reason}") from None


def faulty(name: str, answer: Answer) -> WebFault:
    """Return the fault of a response with an error status."""
    from septet.embedding.transport.faults import fault_of

    fault = fault_of(answer, time.time())
    return WebFault(f"{name} answered {answer.status}", wait_s=None if fault is None else fault.wait_s)


def _once(call: Call, context: CallContext, ends_at: float, max_bytes: int) -> Steps[Any]:
    from septet.embedding.transport.calls import TransportError
    from septet.embedding.transport.exchange import Send

    left_s = ends_at - context.clock()
    if left_s <= 0:
        return TransportError("was called after the deadline")
    key = context.keys.take()
    return (
        yield Send(call, {} if key is None else context.authorise(key.secret.get_secret_value()), left_s, max_bytes)
    )
