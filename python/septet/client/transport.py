"""Requests and answers over httpx: bounded in time and size, the token only in a header."""

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
from septet.client.wire import encoded
from septet.errors import QueryError, StoreError, Unreachable, printable
from septet.inputs.arguments import cut, real, utf8, whole
from septet.net.masking import KeyMasker, mask_logs
from septet.tiers.remote.received import Mask, received

if TYPE_CHECKING:
    import httpx

#: Pauses before the retries of a reading call whose connection failed, in seconds.
RETRIES = (0.05, 0.2)
#: Seconds that a call may outlast the ``timeout_s`` of its search.
GRACE_S = 2.0
MOST_TIMEOUT_S = 86_400.0
_JSON, _LINES = "application/json", "application/x-ndjson"


class ServerCall(NamedTuple):
    """One call of a server.

    Attributes:
        operation: its name in `septet.client.routes.ROUTES`.
        request: its fields; or bytes, lines of JSON.
        within_s: its maximum time, in seconds; None for the default of the client.
        shape: the type of the answer; None for that of the operation.
    """

    operation: str
    request: Mapping[str, Any] | bytes = {}
    within_s: float | None = None
    shape: Any = None


class HttpRequest(NamedTuple):
    """A call as an HTTP request."""

    method: str
    url: str
    content: bytes | None
    headers: Mapping[str, str]
    within_s: float
    reads: bool


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """The connection settings of a client.

    Attributes:
        url: the address of the server, ending in a slash.
        token: the token of the server; it never appears in a message.
        timeout_s: maximum time of a call, in seconds.
        most_bytes: maximum size of an answer, in bytes.
        tier: the tier to use, if the server has several.
        transport: sends requests; None for the network.
        mask: hides the token in a text; None without a token.
    """

    url: str
    token: str | None = field(repr=False)
    timeout_s: float
    most_bytes: int
    tier: str | None
    transport: Any = field(repr=False)
    mask: Mask | None = field(repr=False)

    def masked(self, text: str) -> str:
        """Return a text of a server or a library without the token."""
        return text if self.mask is None else self.mask(text)

    def mask_logs(self) -> None:
        """Hide the token in the logs of the HTTP libraries while these settings are in use."""
        if self.mask is not None:
            mask_logs(self.mask)


def settings_of(
    url: object, token: object, timeout_s: object, max_bytes: object, tier: object, transport: Any
) -> ConnectionSettings:
    """Return checked settings.

    Raises:
        StoreError: an argument is invalid; the message contains no token, and no password of an address.
    """
    address = utf8(url, "url", StoreError)
    try:
        parts = urlsplit(address)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
        parts = urlsplit("")
    if usable and (parts.username is not None or parts.password is not None):
        raise StoreError("url contains a user name or a password: remove them and pass token=")
    if not usable or parts.query or parts.fragment:
        raise StoreError("url is no server address: wanted http://HOST:PORT or https://HOST")
    if token is not None:
        # HTTP headers carry printable ASCII only.
        if not isinstance(token, str) or not (token.isascii() and token.isprintable() and token.strip() == token):
            raise StoreError("token cannot be sent in a header: wanted printable ASCII")
        token = token or None
    within_s = real(timeout_s, "timeout_s", StoreError, 0.01, MOST_TIMEOUT_S)
    most_bytes = whole(max_bytes, "max_bytes", StoreError, 1)
    named = None if tier is None else utf8(tier, "tier", StoreError)
    # Cached: many answers carry the same notes.
    mask = None if token is None else lru_cache(256)(KeyMasker([token]))
    return ConnectionSettings(address.rstrip("/") + "/", token, within_s, most_bytes, named, transport, mask)


def outgoing(call: ServerCall, settings: ConnectionSettings) -> HttpRequest:
    """Return a call as an HTTP request.

    Raises:
        QueryError: an argument that is no JSON value; `EntryError` for one of a write.
    """
    verb, path, _, effect, _ = ROUTES[call.operation]
    reads = effect == "reads"
    headers = {"Accept-Encoding": "identity", "User-Agent": "septet", "Accept": _JSON}
    if settings.token is not None:
        headers["Authorization"] = f"Bearer {settings.token}"
    content: bytes | None = None
    if isinstance(call.request, bytes):
        content, headers["Content-Type"], headers["Accept"] = call.request, _LINES, _LINES
    else:
        request = dict(call.request)
        if "{id}" in path:
            # Percent-encode every byte: dots and slashes of an id must not become path segments.
            quoted = "".join(f"%{byte:02X}" for byte in utf8(request.pop("id"), "id").encode())
            path = path.replace("{id}", quoted)
        if verb == "GET":
            path += "".join(f"?{name}={_quoted(value)}" for name, value in request.items())
        else:
            content, headers["Content-Type"] = encoded(request, reads=reads), _JSON
    within_s = settings.timeout_s if call.within_s is None else min(call.within_s, MOST_TIMEOUT_S)
    return HttpRequest(verb, settings.url + path.lstrip("/"), content, headers, within_s, reads)


def _quoted(value: object) -> str:
    return "".join(f"%{byte:02X}" for byte in utf8(value, "an argument", QueryError).encode())


class AnswerBody:
    """The body of an answer, bounded in time and size.

    Raises:
        Unreachable: the server redirects, or compresses the answer although no compression was requested.
    """

    def __init__(
        self, response: httpx.Response, request: HttpRequest, settings: ConnectionSettings, ends_at: float
    ) -> None:
        self._where, self._most, self._ends_at = settings.url, settings.most_bytes, ends_at
        self._within_s, self._pieces, self._size = request.within_s, list[bytes](), 0
        self.status = response.status_code
        if 300 <= self.status < 400:
            raise Unreachable(f"{self._where} redirects ({self.status}): use the final URL")
        if response.headers.get("content-encoding", "identity").lower() not in ("", "identity"):
            raise Unreachable(
                f"{self._where} sent a compressed response although none was requested", status=self.status
            )

    def add(self, piece: bytes) -> None:
        """Add a piece.

        Raises:
            Unreachable: the deadline has passed, or the body is too large.
        """
        self._size += len(piece)
        if self._size > self._most:
            excess = f"{self._where} answers with more than {self._most:,} bytes"
            raise Unreachable(f"{excess}: request less, or raise max_bytes=", status=self.status)
        if time.monotonic() > self._ends_at:
            raise late(self._where, self._within_s)
        self._pieces.append(piece)

    def whole(self) -> bytes:
        """Return the body."""
        return b"".join(self._pieces)


def decoded(status: int, body: bytes, call: ServerCall, settings: ConnectionSettings) -> Any:
    """Return the validated answer of the call's type; a list with one per line for lines of JSON.

    Raises:
        SeptetError: the error of the server; `Unreachable` for an answer of another type.
    """
    shape = ROUTES[call.operation].answer if call.shape is None else call.shape
    if 200 <= status < 300:
        if isinstance(call.request, bytes):
            lines = [line for line in body.splitlines() if line.strip()]
            return [received(line, shape, settings.url, settings.mask) for line in lines]
        if body.lstrip()[:1] == b"{":
            return received(body, shape, settings.url, settings.mask)
    try:
        answer = from_json(body)
    except ValueError:
        answer = None
    raise error_of(status, answer, settings.url, reads=ROUTES[call.operation].effect == "reads", masked=settings.masked)


def late(where: str, within_s: float) -> Unreachable:
    """Return the error of an answer that is late."""
    return Unreachable(f"{where} did not answer within {within_s:g} s")


def failed(error: Exception, request: HttpRequest, settings: ConnectionSettings) -> Unreachable:
    """Return the error for one of httpx, which must not be its cause: it holds the request, and so the token."""
    import httpx

    if isinstance(error, httpx.TimeoutException):
        return late(settings.url, request.within_s)
    cause = settings.masked(printable(cut(str(error)))) or type(error).__name__
    if isinstance(error, httpx.ConnectError):
        return Unreachable(f"{settings.url} cannot be reached: {cause}")
    return Unreachable(f"the connection to {settings.url} was lost: {cause}")


def may_retry(error: Exception, request: HttpRequest) -> bool:
    """Return True if a call may be retried: it only reads, and the connection failed rather than timed out."""
    import httpx

    return request.reads and isinstance(error, (httpx.NetworkError, httpx.RemoteProtocolError))
