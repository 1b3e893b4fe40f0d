"""Guard: which requests are answered at all, by their headers.

A page of another site must not ask in the name of who visits it. It cannot under the names of this server, since a
browser tells ``Origin`` and ``Sec-Fetch-Site``; nor under a name of its own that leads here (DNS rebinding), since
``Host`` tells it. There is no CORS, so no other page can read an answer.
"""

from __future__ import annotations

import re
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from typing import Any

from septet.server.routing import Refused
from septet.server.settings import Settings
from septet.service.faults import Fault

__all__ = ["Guard"]

_HOST = re.compile(rb"(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,253})(?::(\d{1,5}))?")
_ASKED = frozenset({b"host", b"origin", b"authorization", b"sec-fetch-site", b"content-length", b"transfer-encoding"})
#: Addresses that stand for every one of the machine.
_EVERY = frozenset({"", "0.0.0.0", "::", "[::]"})
_PORTS = {b"http": b"80", b"https": b"443"}


class Guard:
    """Checks host, origin and token of requests."""

    def __init__(self, settings: Settings) -> None:
        names = {"localhost", "127.0.0.1", "[::1]", *settings.allow_hosts}
        self._any_number = settings.host in _EVERY
        if not self._any_number:
            names.add(f"[{settings.host}]" if ":" in settings.host.strip("[]") else settings.host)
        self._names = frozenset(name.lower().rstrip(".").encode() for name in names)
        tokens = {**settings.tokens, **({} if settings.token is None else {settings.token: "admin"})}
        self._tokens = {sha256(token.encode()).digest(): held for token, held in tokens.items()}

    def check(self, scope: Any, *, by_page: bool = False) -> str:
        """Let a request pass, and return the scope of its token; all of it where none is wanted.

        Args:
            by_page: what the page loads before it can know a token, and links of other sites lead to.

        Raises:
            Refused: the host or the origin is another one (403), the token is missing or wrong (401), or
                the headers say two things (400).
        """
        found: dict[bytes, bytes] = {}
        for name, value in scope["headers"]:
            if name in _ASKED:
                # A header that comes twice is read in two ways by two programs.
                if name in found:
                    raise _refused(400, "invalid_request", f"the header {name.decode()} comes twice")
                found[name] = value.strip()
        if b"content-length" in found and b"transfer-encoding" in found:
            # A proxy in front may have read another length, and another request behind it.
            raise _refused(400, "invalid_request", "a body has a content-length or a transfer-encoding, not both")
        if b"transfer-encoding" in found and scope["http_version"] == "1.0":
            # That version has no chunks, so a proxy in front may have read none.
            raise _refused(400, "invalid_request", "a request of HTTP/1.0 has no transfer-encoding")
        host = _HOST.fullmatch(found.get(b"host", b"").lower())
        if host is None or not self._known(host[1]):
            message = "this server is not asked under this name; its option --allow-host NAME lets it be"
            raise _refused(403, "host_not_allowed", message)
        if b"origin" in found and not _same(found[b"origin"].lower(), host[1], host[2]):
            raise _refused(403, "origin_not_allowed", "pages of other sites may not ask this server")
        if by_page:
            return "read"
        if found.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise _refused(403, "origin_not_allowed", "pages of other sites may not ask this server")
        return self._check_token(found.get(b"authorization", b"")) if self._tokens else "admin"

    def _known(self, host: bytes) -> bool:
        if host.rstrip(b".") in self._names:
            return True
        if not self._any_number:
            return False
        # No name server makes a number lead elsewhere.
        try:
            ip_address(host.strip(b"[]").decode())
        except ValueError:
            return False
        return True

    def _check_token(self, authorization: bytes) -> str:
        scheme, _, token = authorization.partition(b" ")
        given = sha256(token.strip()).digest()
        # Digests have one length, and are compared, each with all, in a time that tells nothing of them.
        held = [scope for own, scope in self._tokens.items() if compare_digest(given, own)]
        if not (held and scheme.lower() == b"bearer"):
            message = "a token is wanted, as `Authorization: Bearer TOKEN`" if not authorization else "a wrong token"
            raise Refused(Fault("unauthorized", message, 401), {"WWW-Authenticate": "Bearer"})
        return held[0]


def _same(origin: bytes, host: bytes, port: bytes | None) -> bool:
    """Whether an origin is the server itself, as it was asked."""
    scheme, _, rest = origin.partition(b"://")
    there = _HOST.fullmatch(rest)
    if there is None or scheme not in _PORTS:
        return False
    usual = _PORTS[scheme]
    return there[1] == host and (there[2] or usual) == (port or usual)


def _refused(status: int, code: str, message: str) -> Refused:
    # What follows a request that was framed wrong is none.
    return Refused(Fault(code, message, status), {"Connection": "close"} if status == 400 else None)
