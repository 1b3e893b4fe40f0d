"""Requests and answers over httpx: bounded in time and size, the token only in a header."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pydantic_core import from_json

from septet.client.faults import error_of
from septet.client.routes import ROUTES
from septet.client.wire import encoded
from septet.errors import QueryError, StoreError, Unreachable, printable
from septet.inputs.arguments import cut, real, utf8, whole
from septet.net.calls import Answer, Call, NetFault, Send, bearer
from septet.net.connections import Connections
from septet.net.keys import KeyMasker
from septet.tiers.remote.received import Mask, received

#: Pauses before the retries of a reading call whose connection failed, in seconds.
RETRIES = (0.05, 0.2)
#: Seconds that a call may outlast the ``timeout_s`` of its search.
GRACE_S = 2.0
#: Minimum timeout of an attempt, in seconds.
LEAST_S = 0.001
MOST_TIMEOUT_S = 86_400.0
MOST_CONNECTIONS = 64
#: Idle connections close before the server closes them: writing calls are never retried.
IDLE_S = 2.0
_LIMITS = {
    "max_connections": MOST_CONNECTIONS,
    "max_keepalive_connections": MOST_CONNECTIONS,
    "keepalive_expiry": IDLE_S,
}
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

    def connections(self) -> Connections:
        """Return new connections; proxies of the environment are not used."""
        return Connections(
            self.mask,
            transport=self.transport,
            encodings=(),
            proxies=False,
            cookies=True,
            limits=_LIMITS,
            reopens=False,
        )


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


def outgoing(call: ServerCall, settings: ConnectionSettings) -> Send:
    """Return a call as an HTTP request, with its bounds.

    Raises:
        QueryError: an argument that is no JSON value; `EntryError` for one of a write.
    """
    route = ROUTES[call.operation]
    path, reads = route.path, route.effect == "reads"
    headers = {"accept": _JSON}
    content = b""
    if isinstance(call.request, bytes):
        content, headers = call.request, {"accept": _LINES, "content-type": _LINES}
    else:
        request = dict(call.request)
        if "{id}" in path:
            # Percent-encode every byte: dots and slashes of an id must not become path segments.
            path = path.replace("{id}", _quoted(utf8(request.pop("id"), "id")))
        if route.verb == "GET":
            path += "".join(
                f"?{name}={_quoted(utf8(value, 'an argument', QueryError))}" for name, value in request.items()
            )
        else:
            content, headers["content-type"] = encoded(request, reads=reads), _JSON
    within_s = settings.timeout_s if call.within_s is None else min(call.within_s, MOST_TIMEOUT_S)
    key_headers = {} if settings.token is None else bearer(settings.token)
    return Send(
        Call(route.verb, settings.url + path.lstrip("/"), content, headers), key_headers, within_s, settings.most_bytes
    )


def _quoted(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def decoded(answer: Answer, call: ServerCall, settings: ConnectionSettings) -> Any:
    """Return the validated answer of the call's type; a list with one per line for lines of JSON.

    Raises:
        SeptetError: the error of the server; `Unreachable` for a redirect, and for an answer of another type.
    """
    status, body = answer.status, bytes(answer.body)
    if 300 <= status < 400:
        raise Unreachable(f"{settings.url} redirects ({status}): use the final URL")
    shape = ROUTES[call.operation].answer if call.shape is None else call.shape
    if 200 <= status < 300:
        if isinstance(call.request, bytes):
            lines = [line for line in body.splitlines() if line.strip()]
            return [received(line, shape, settings.url, settings.mask) for line in lines]
        if body.lstrip()[:1] == b"{":
            return received(body, shape, settings.url, settings.mask)
    try:
        content = from_json(body)
    except ValueError:
        content = None
    raise error_of(
        status, content, settings.url, reads=ROUTES[call.operation].effect == "reads", masked=settings.masked
    )


def error_of_fault(fault: NetFault, send: Send, settings: ConnectionSettings) -> Unreachable:
    """Return the error of a call without a usable answer."""
    url = settings.url
    if fault.kind == "timeout":
        return Unreachable(f"{url} did not answer within {send.timeout_s:g} s")
    if fault.kind == "too_large":
        excess = f"{url} answers with more than {settings.most_bytes:,} bytes"
        return Unreachable(f"{excess}: request less, or raise max_bytes=", status=fault.status)
    if fault.kind == "encoding":
        return Unreachable(f"{url} sent a compressed response although none was requested", status=fault.status)
    cause = settings.masked(printable(cut(fault.cause)))
    if fault.kind == "unreachable":
        return Unreachable(f"{url} cannot be reached: {cause}")
    return Unreachable(f"the connection to {url} was lost: {cause}")


def may_retry(fault: NetFault, call: ServerCall) -> bool:
    """Return True if a call may be retried: it only reads, and the connection failed rather than timed out."""
    return ROUTES[call.operation].effect == "reads" and fault.kind in ("unreachable", "broken")
