"""Requests and answers over httpx: bounded in time and size, the token in a header and nowhere else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pydantic_core import from_json

from septet.client.faults import error_of
from septet.client.routes import ROUTES
from septet.client.shapes import ANSWERS
from septet.client.wire import encoded
from septet.embedding.transport.masking import Masker, mask_logs
from septet.errors import QueryError, StoreError, Unreachable, printable
from septet.inputs.arguments import cut, real, utf8, whole
from septet.tiers.remote.received import Mask, received

if TYPE_CHECKING:
    import httpx

__all__ = [
    "GRACE_S",
    "RETRIES",
    "Ask",
    "Body",
    "Outgoing",
    "Settings",
    "decoded",
    "failed",
    "late",
    "may_retry",
    "outgoing",
    "settings_of",
]

#: A call that reads is sent so often more when the connection fails, after so many seconds each.
RETRIES = (0.05, 0.2)
#: A search with a ``timeout_s`` of its own answers by then; so much later the call ends.
GRACE_S = 2.0
MOST_TIMEOUT_S = 86_400.0
_JSON, _LINES = "application/json", "application/x-ndjson"


class Ask(NamedTuple):
    """One call of a server.

    Attributes:
        operation: its name in `ROUTES`.
        request: its fields; or bytes, lines of JSON.
        within_s: how long it may take; None for the client's time.
        shape: the type of the answer; None for that of the operation.
    """

    operation: str
    request: Mapping[str, Any] | bytes = {}
    within_s: float | None = None
    shape: Any = None


class Outgoing(NamedTuple):
    """A call as it is sent."""

    method: str
    url: str
    content: bytes | None
    headers: Mapping[str, str]
    within_s: float
    reads: bool


@dataclass(frozen=True, slots=True)
class Settings:
    """Which server is asked, and how.

    Attributes:
        url: its address, which ends in a slash.
        token: what it wants to be shown; it is in no text that is made here.
        timeout_s: how long a call may take.
        most_bytes: of an answer.
        tier: of a server that holds several tiers, the one that is meant.
        transport: sends requests; None for the network.
        mask: hides the token in a text; None without one.
    """

    url: str
    token: str | None = field(repr=False)
    timeout_s: float
    most_bytes: int
    tier: str | None
    transport: Any = field(repr=False)
    mask: Mask | None = field(repr=False)

    def masked(self, text: str) -> str:
        """Return what a server or a library says, without the token."""
        return text if self.mask is None else self.mask(text)

    def mask_logs(self) -> None:
        """Hide the token in what the HTTP libraries log, as long as these settings are in use."""
        if self.mask is not None:
            mask_logs(self.mask)


def settings_of(
    url: object, token: object, timeout_s: object, max_bytes: object, tier: object, transport: Any
) -> Settings:
    """Return settings, checked.

    Raises:
        StoreError: an argument is none of these; nothing of a token, or of a password in an address, is said.
    """
    address = utf8(url, "url", StoreError)
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
        parts = urlsplit("")
    if usable and (parts.username is not None or parts.password is not None):
        raise StoreError("url holds a name or a password: leave them out, and give token=")
    if not usable or parts.query or parts.fragment:
        raise StoreError("url is no address of a server: wanted http://HOST:PORT or https://HOST")
    if token is not None:
        # What a header cannot carry.
        if not isinstance(token, str) or not (token.isascii() and token.isprintable() and token.strip() == token):
            raise StoreError("token is no text that a header can carry: wanted printable ASCII")
        token = token or None
    within_s = real(timeout_s, "timeout_s", StoreError, 0.01, MOST_TIMEOUT_S)
    most_bytes = whole(max_bytes, "max_bytes", StoreError, 1)
    named = None if tier is None else utf8(tier, "tier", StoreError)
    # The same notes come with many answers.
    mask = None if token is None else lru_cache(256)(Masker([token]))
    return Settings(address.rstrip("/") + "/", token, within_s, most_bytes, named, transport, mask)


def outgoing(ask: Ask, settings: Settings) -> Outgoing:
    """Return a call as it is sent.

    Raises:
        QueryError: an argument that JSON has not; `EntryError` in what is written.
    """
    verb, path, reads = ROUTES[ask.operation]
    headers = {"Accept-Encoding": "identity", "User-Agent": "septet", "Accept": _JSON}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    content: bytes | None = None
    if isinstance(ask.request, bytes):
        content, headers["Content-Type"], headers["Accept"] = ask.request, _LINES, _LINES
    else:
        request = dict(ask.request)
        if "{id}" in path:
            # Byte by byte: dots and slashes of an id are no parts of the path.
            quoted = "".join(f"%{byte:02X}" for byte in utf8(request.pop("id"), "id").encode())
            path = path.replace("{id}", quoted)
        if verb == "GET":
            path += "".join(f"?{name}={_quoted(value)}" for name, value in request.items())
        else:
            content, headers["Content-Type"] = encoded(request, reads=reads), _JSON
    within_s = settings.timeout_s if ask.within_s is None else min(ask.within_s, MOST_TIMEOUT_S)
    return Outgoing(verb, settings.url + path.lstrip("/"), content, headers, within_s, reads)


def _quoted(value: object) -> str:
    return "".join(f"%{byte:02X}" for byte in utf8(value, "an argument", QueryError).encode())


class Body:
    """The body of an answer as it comes, within its time and its size.

    Raises:
        Unreachable: the answer leads elsewhere, or is packed though nobody asked for that.
    """

    def __init__(self, response: httpx.Response, sent: Outgoing, settings: Settings, ends_at: float) -> None:
        self._where, self._most, self._ends_at = settings.url, settings.most_bytes, ends_at
        self._within_s, self._pieces, self._size = sent.within_s, list[bytes](), 0
        self.status = response.status_code
        if 300 <= self.status < 400:
            raise Unreachable(f"{self._where} leads elsewhere ({self.status}): give the address that it leads to")
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise Unreachable(f"{self._where} packs its answers, which nobody asked for", status=self.status)

    def add(self, piece: bytes) -> None:
        """Take a piece.

        Raises:
            Unreachable: the time is over, or the body is too large.
        """
        self._size += len(piece)
        if self._size > self._most:
            said = f"{self._where} answers with more than {self._most:,} bytes"
            raise Unreachable(f"{said}: ask for less, or give max_bytes=", status=self.status)
        if time.monotonic() > self._ends_at:
            raise late(self._where, self._within_s)
        self._pieces.append(piece)

    def whole(self) -> bytes:
        """Return the body."""
        return b"".join(self._pieces)


def decoded(status: int, body: bytes, ask: Ask, settings: Settings) -> Any:
    """Return what an answer says, checked: a value of the type of the call, for lines of JSON one for each.

    Raises:
        SeptetError: the error that it tells; `Unreachable` for an answer of another type.
    """
    shape = ANSWERS[ask.operation] if ask.shape is None else ask.shape
    if 200 <= status < 300:
        if isinstance(ask.request, bytes):
            lines = [line for line in body.splitlines() if line.strip()]
            return [received(line, shape, settings.url, settings.mask) for line in lines]
        if body.lstrip()[:1] == b"{":
            return received(body, shape, settings.url, settings.mask)
    try:
        said = from_json(body)
    except ValueError:
        said = None
    raise error_of(status, said, settings.url, reads=ROUTES[ask.operation][2], masked=settings.masked)


def late(where: str, within_s: float) -> Unreachable:
    """Return that no answer came in time."""
    return Unreachable(f"{where} did not answer within {within_s:g} s")


def failed(error: Exception, sent: Outgoing, settings: Settings) -> Unreachable:
    """Return an error of httpx as one of ours; the error itself holds the request, and with it the token."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return late(settings.url, sent.within_s)
    words = settings.masked(printable(cut(str(error)))) or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        return Unreachable(f"{settings.url} cannot be reached: {words}")
    return Unreachable(f"the connection to {settings.url} broke off: {words}")


def may_retry(error: Exception, sent: Outgoing) -> bool:
    """Whether a call may be sent again: it reads, and the connection failed rather than was slow."""
    import httpx

    return sent.reads and isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
