"""Calls: one request to a place of the web, with its deadline and its bound, over the transport of embedding."""

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
    from septet.embedding.transport.client import Client
    from septet.embedding.transport.exchange import CallContext, Steps
    from septet.embedding.transport.network import Resolve

__all__ = ["MAX_JSON_BYTES", "USER_AGENT", "NotSent", "WebCalls", "WebFault", "faulty", "json_of"]

#: How requests introduce themselves; also the name that robots.txt may have rules for.
USER_AGENT = "septet"
#: So many bytes an answer of a search service may have.
MAX_JSON_BYTES = 4 * 2**20


class WebFault(Exception):
    """Why there is nothing from a place of the web.

    Attributes:
        cause: in words; keys never appear in it.
        cure: what to do about it.
        wait_s: how long it asks to be left alone; None if it does not.
        asked: a request was sent; if not, the place itself has no fault.
    """

    def __init__(self, cause: str, cure: str = "", *, wait_s: float | None = None, asked: bool = True) -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure
        self.wait_s = wait_s
        self.asked = asked

    @property
    def note(self) -> Note:
        """The note that says so."""
        return Note("web_failed", self.cause, self.cure)


class NotSent(WebFault):
    """Why nothing was asked of a place that has no fault itself.

    Args:
        note: says so.
    """

    def __init__(self, note: Note) -> None:
        super().__init__(note.cause, note.cure, asked=False)
        self._note = note

    @property
    def note(self) -> Note:
        """The note that says so."""
        return self._note


class WebCalls:
    """Sends requests to one place, or to many, without trying any of them again. Opened by its first request.

    Args:
        name: how faults call the place.
        secrets: texts that never appear in faults and logs.
        authorise: returns the headers that carry the first of them.
        user_agent: how requests introduce themselves.
        resolve: says to which addresses connections may go.
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
        self._opened: Client | None = None
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"WebCalls({self._name!r})"

    def after_fork(self) -> None:
        """Renew the lock."""
        self._lock = Lock()

    def send(
        self, method: str, url: str, *, timeout_s: float, max_bytes: int, headers: Mapping[str, str], body: bytes = b""
    ) -> Answer:
        """Return the answer to one request, whatever its status. Redirects are not followed.

        Raises:
            WebFault: there is none within the time and the bound.
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
        said = "sent more than is taken" if reply.too_large else reply.cause
        raise WebFault(self.scrubbed(f"{self._name} {said}"))

    def scrubbed(self, text: str) -> str:
        """Return a text without keys."""
        return self._client().context.keys.scrub(text)

    def close(self) -> None:
        """Close the connections; the next request opens others."""
        with self._lock.hold():
            client = self._opened
        if client is not None:
            client.close()

    def _client(self) -> Client:
        from pydantic import SecretStr

        from septet.embedding.transport.client import Client

        with self._lock.hold():
            if self._opened is None:
                self._opened = Client(
                    self._name,
                    [SecretStr(secret) for secret in self._secrets],
                    authorise=self._authorise,
                    resolve=self._resolve,
                )
            return self._opened


def json_of(calls: WebCalls, name: str, answer: Answer) -> Any:
    """Return the JSON of an answer of a search service.

    Raises:
        WebFault: its status is none of success, or it is no JSON.
    """
    from septet.embedding.transport.faults import Garbled, fault_of, parsed

    fault = fault_of(answer, time.time())
    if fault is not None:
        raise WebFault(calls.scrubbed(f"{name} {fault.message}"), wait_s=fault.wait_s)
    try:
        return parsed(answer)
    except Garbled as garbled:
        said = str(garbled)
    try:
        # Half a character in one of the results makes the others no worse.
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise WebFault(f"{name} sent {said}") from None


def faulty(name: str, answer: Answer) -> WebFault:
    """Return why an answer is no page: its status."""
    from septet.embedding.transport.faults import fault_of

    fault = fault_of(answer, time.time())
    return WebFault(f"{name} answered {answer.status}", wait_s=None if fault is None else fault.wait_s)


def _once(call: Call, context: CallContext, ends_at: float, max_bytes: int) -> Steps[Any]:
    from septet.embedding.transport.calls import TransportError
    from septet.embedding.transport.exchange import Send

    left_s = ends_at - context.clock()
    if left_s <= 0:
        return TransportError("was asked too late")
    key = context.keys.take()
    return (
        yield Send(call, {} if key is None else context.authorise(key.secret.get_secret_value()), left_s, max_bytes)
    )
