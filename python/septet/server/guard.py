"""Guard: access checks by request headers.

A page of another site must not send requests on behalf of its visitor. ``Origin`` and ``Sec-Fetch-Site`` reveal
its requests to a name of this server; ``Host`` reveals those to a foreign name that resolves here (DNS rebinding).
There is no CORS, so no other page can read an answer. A token has a scope; each scope includes the previous ones.
"""

from __future__ import annotations

import re
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any

from septet.errors import QueryError
from septet.server.exchange import RequestError
from septet.server.settings import SCOPES, Settings
from septet.service.faults import CallerFault
from septet.service.operations import Operation

_HOST = re.compile(rb"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::(\d{1,5}))?")
_HEADERS = frozenset({b"host", b"origin", b"authorization", b"sec-fetch-site", b"content-length", b"transfer-encoding"})
#: Wildcard listen addresses.
_ANY_ADDRESS = frozenset({"", "0.0.0.0", "::", "[::]"})
_PORTS = {b"http": b"80", b"https": b"443"}


class Guard:
    """Checks host, origin and token of requests."""

    def __init__(self, settings: Settings) -> None:
        names = {"localhost", "127.0.0.1", "[::1]", *settings.allow_hosts}
        self._any_ip = settings.host in _ANY_ADDRESS
        if not self._any_ip:
            names.add(f"[{settings.host}]" if ":" in settings.host.strip("[]") else settings.host)
        self._names = frozenset(name.lower().rstrip(".").encode() for name in names)
        tokens = {**settings.tokens, **({} if settings.token is None else {settings.token: "admin"})}
        self._tokens = {sha256(token.encode()).digest(): scope for token, scope in tokens.items()}

    def check(self, scope: Any, *, by_page: bool = False) -> str:
        """Return the scope of the token of an allowed request; ``admin`` if the server has no tokens.

        Args:
            by_page: True for files of the page, which load before a token is known and may be linked from other sites.

        Raises:
            RequestError: host or origin is not allowed (403), the token is missing or wrong (401), or headers are
                ambiguous (400).
        """
        headers: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _HEADERS:
                # Two programs may read a duplicate header differently.
                if name in headers:
                    raise _error(400, "invalid_request", f"duplicate header {name.decode()}")
                headers[name] = value.strip()
        if b"content-length" in headers and b"transfer-encoding" in headers:
            # A proxy may have used the other length, and smuggled a second request.
            raise _error(400, "invalid_request", "both content-length and transfer-encoding are set: send one")
        if b"transfer-encoding" in headers and scope["http_version"] == "1.0":
            # HTTP/1.0 has no chunks, so a proxy may have ignored them.
            raise _error(400, "invalid_request", "HTTP/1.0 does not support transfer-encoding")
        host = _HOST.fullmatch(headers.get(b"host", b"").lower())
        if host is None or not (host[1] in self._names or self._known(host[1])):
            message = "unknown host: allow it by the server option --allow-host NAME"
            raise _error(403, "host_not_allowed", message)
        if b"origin" in headers and not _same(headers[b"origin"].lower(), host[1], host[2]):
            raise _error(403, "origin_not_allowed", "requests from pages of other sites are not allowed")
        if by_page:
            return "read"
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise _error(403, "origin_not_allowed", "requests from pages of other sites are not allowed")
        return self._check_token(headers.get(b"authorization", b"")) if self._tokens else "admin"

    def _known(self, host: bytes) -> bool:
        if host.rstrip(b".") in self._names:
            return True
        if not self._any_ip:
            return False
        # IP addresses are not resolved, so DNS rebinding cannot use them.
        try:
            ip_address(host.strip(b"[]").decode())
        except ValueError:
            return False
        return True

    def _check_token(self, authorization: bytes) -> str:
        scheme, _, token = authorization.partition(b" ")
        digest = sha256(token.strip()).digest()
        # Compare digests of equal length, with all tokens, in constant time.
        scopes = [scope for known, scope in self._tokens.items() if compare_digest(digest, known)]
        if not (scopes and scheme.lower() == b"bearer"):
            message = "missing token: send `Authorization: Bearer TOKEN`" if not authorization else "wrong token"
            raise RequestError(CallerFault("unauthorized", message, 401), {"WWW-Authenticate": "Bearer"})
        return scopes[0]


def _same(origin: bytes, host: bytes, port: bytes | None) -> bool:
    """Return True if the origin is this server under the requested host."""
    scheme, _, rest = origin.partition(b"://")
    there = _HOST.fullmatch(rest)
    if there is None or scheme not in _PORTS:
        return False
    usual = _PORTS[scheme]
    return there[1] == host and (there[2] or usual) == (port or usual)


def _error(status: int, code: str, message: str) -> RequestError:
    # After a framing error, the rest of the connection cannot be parsed.
    return RequestError(CallerFault(code, message, status), {"Connection": "close"} if status == 400 else None)


_ROUTE_SCOPES = {
    **dict.fromkeys(("/v1/bulk", "/mcp"), "write"),
    **dict.fromkeys(("/metrics", "/v1/slow_searches", "/v1/sessions"), "admin"),
}


def tokens_in(text: str, source: str) -> dict[str, str]:
    """Return scopes by token. A single token has all scopes; several are lines of ``SCOPE TOKEN``.

    Args:
        source: the source of the text, for errors.

    Raises:
        QueryError: a line is malformed, or a token is duplicate.
    """
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and not (len(lines[0]) == 2 and lines[0][0] in SCOPES):
        return {text.strip(): "admin"}
    scopes: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        # The message omits the line: it contains a token.
        if len(line) != 2 or line[0] not in SCOPES:
            known = ", ".join(SCOPES)
            raise QueryError(f"token {number} in {source}: wanted SCOPE TOKEN on a line, with a scope of {known}")
        scope, token = line
        if token in scopes:
            raise QueryError(f"token {number} in {source} is a duplicate: a token has one scope")
        scopes[token] = scope
    return scopes


def scope_of(route: str, target: Any) -> str:
    """Return the scope that a route requires."""
    if route in _ROUTE_SCOPES:
        return _ROUTE_SCOPES[route]
    return "write" if isinstance(target, Operation) and target.effect != "reads" else "read"


def expect_scope(scope: str, required: str, action: str) -> None:
    """Check the scope of a token.

    Raises:
        RequestError: the scope is too low (403).
    """
    if SCOPES.index(scope) < SCOPES.index(required):
        message = f"this token has the scope {scope}: {action} requires the scope {required}"
        headers = {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{required}"'}
        raise RequestError(
            CallerFault("scope_not_allowed", message, 403, {"scope": scope, "wanted": required}), headers
        )
