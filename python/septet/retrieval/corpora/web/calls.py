"""Calls: one HTTP request to a service or a page, with its faults as notes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from septet.net.calls import Answer, Call, NetFault, Send
from septet.net.connections import Connections
from septet.net.masking import KeyMasker
from septet.notes import Note
from septet.system.threads import call_within

if TYPE_CHECKING:
    from septet.net.deadlines import Resolve

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
        self._masker = KeyMasker(self._secrets)
        self._connections = Connections(self._masker, resolve=resolve)

    def __repr__(self) -> str:
        return f"WebCalls({self._name!r})"

    def send(
        self, method: str, url: str, *, timeout_s: float, max_bytes: int, headers: Mapping[str, str], body: bytes = b""
    ) -> Answer:
        """Return the response to one request, with any status. Redirects are not followed.

        Raises:
            WebFault: there is no response within the time and size limits.
        """
        call = Call(method, url, body, {"user-agent": self._user_agent, **headers})
        late = NetFault(f"gave no answer within {timeout_s:.3g} s", "timeout")
        try:
            reply = call_within(timeout_s, lambda: self._sent(call, timeout_s, max_bytes), late)
        except NetFault as fault:
            reply = fault
        if isinstance(reply, Answer):
            return reply
        if reply.kind == "proxy":
            raise WebFault(str(reply))
        reason = f"sent more than {max_bytes:,} bytes" if reply.kind == "too_large" else str(reply)
        raise WebFault(self.scrubbed(f"{self._name} {reason}"))

    def scrubbed(self, text: str) -> str:
        """Return a text without keys."""
        return self._masker(text)

    def close(self) -> None:
        """Close the connections; the next request opens new ones."""
        self._connections.close()

    def _sent(self, call: Call, timeout_s: float, max_bytes: int) -> Answer | NetFault:
        # No local variable holds the key: tracebacks expose them.
        return self._connections.fetch(Send(call, self._key_headers(), timeout_s, max_bytes))

    def _key_headers(self) -> Mapping[str, str]:
        return self._authorise(self._secrets[0]) if self._secrets else {}


def json_of(calls: WebCalls, name: str, answer: Answer) -> Any:
    """Return the JSON of a search service's response.

    Raises:
        WebFault: the status is not a success, or the body is not JSON.
    """
    from septet.net.answers import fault_of, parsed

    fault = fault_of(answer, time.time())
    if fault is not None:
        raise WebFault(calls.scrubbed(f"{name} {fault}"), wait_s=fault.wait_s)
    try:
        return parsed(answer)
    except NetFault as garbled:
        reason = str(garbled)
    try:
        # A broken character in one result does not affect the others.
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise WebFault(f"{name} {reason}") from None


def faulty(name: str, answer: Answer) -> WebFault:
    """Return the fault of a response with an error status."""
    from septet.net.answers import fault_of

    fault = fault_of(answer, time.time())
    return WebFault(f"{name} answered {answer.status}", wait_s=None if fault is None else fault.wait_s)
