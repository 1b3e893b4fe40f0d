"""Calls: one HTTP request to a service or a page, with its faults as notes; pages are read at public addresses only."""

from __future__ import annotations

import ipaddress
import json
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from septet.errors import printable
from septet.net.calls import Answer, Call, NetFault, Send
from septet.net.connections import Connections
from septet.net.keys import KeyMasker
from septet.notes import Note
from septet.system.threads import call_within

if TYPE_CHECKING:
    from septet.net.deadlines import Resolve

#: Default User-Agent; also the name for robots.txt.
USER_AGENT = "septet"
#: Maximum response of a search service.
MAX_JSON_BYTES = 4 * 2**20
MOST_URL_CHARS = 2_048
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: Prefix of an IPv4 address in an interface identifier (RFC 5214), without the bit for uniqueness.
_ISATAP = 0x5EFE
#: Not globally reachable by IANA's special-purpose registries, of which some Python versions know less: 6to4 and its
#: relays, Teredo, discard, documentation, segment routing.
_SET_ASIDE = tuple(
    map(
        ipaddress.ip_network,
        """
        0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
        192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
        ::/96 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16
        fc00::/7 fe80::/10 fec0::/10 ff00::/8
        """.split(),
    )
)


class WebFault(Exception):
    """The reason why a web request gave nothing.

    Attributes:
        cause: in words; never contains keys.
        cure: the remedy.
        wait_s: pause requested by the host; None if it requested none.
        sent: True if a request was sent; if False, the host itself has no fault.
    """

    def __init__(
        self,
        cause: str,
        cure: str = "",
        *,
        wait_s: float | None = None,
        sent: bool = True,
        note: Note | None = None,
    ) -> None:
        super().__init__(cause)
        self.cause, self.cure, self.wait_s, self.sent = cause, cure, wait_s, sent
        #: The note of the fault.
        self.note = note or Note("web_failed", cause, cure)


class WebCalls:
    """Sends requests to one host or many, without retries. Opened by its first request.

    ``secrets`` never appear in faults and logs, and ``authorise`` returns the headers that carry the first of them.
    ``resolve`` returns the addresses that connections may use.
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
        return self._connections.fetch(
            Send(call, self._authorise(self._secrets[0]) if self._secrets else {}, timeout_s, max_bytes)
        )


def json_of(calls: WebCalls, name: str, answer: Answer) -> Any:
    """Return the JSON of a search service's response."""
    from septet.net.exchange import fault_of, parsed

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
    from septet.net.exchange import fault_of

    fault = fault_of(answer, time.time())
    return WebFault(f"{name} answered {answer.status}", wait_s=None if fault is None else fault.wait_s)


def is_public(address: str) -> bool:
    """Return True if an IP address is public; for IPv6 also the embedded IPv4 address."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        carried = str(ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF))
        if parsed.ipv4_mapped is not None or parsed in _NAT64:
            return is_public(carried)
        if int(parsed) >> 32 & 0xFDFFFFFF == _ISATAP and not is_public(carried):
            return False
    return parsed.is_global and not (parsed.is_reserved or any(parsed in network for network in _SET_ASIDE))


def public_addresses(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host."""
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise WebFault(f"{printable(host)[:200]} has no address") from None
    addresses = list(dict.fromkeys(str(info[4][0]) for info in infos))
    if not addresses or not all(map(is_public, addresses)):
        raise WebFault(
            f"{printable(host)[:200]} is not a public address",
            "set web_allow_private to read pages of a private network",
            sent=False,
        )
    return addresses


def usable_url(url: object) -> str | None:
    """Return a search service's address if it is http or https with a host; else None."""
    if not isinstance(url, str) or not 0 < len(url.strip()) <= MOST_URL_CHARS:
        return None
    text = str.__str__(url).strip()
    if not text.isprintable() or " " in text:
        return None
    try:
        text.encode()
        parts = urlsplit(text)
        known = parts.scheme.lower() in ("http", "https") and bool(parts.hostname) and (parts.port or 80) > 0
    except ValueError:
        return None
    return text if known else None


def split_page_url(url: str) -> tuple[str, str, str]:
    """Return the origin, the host and the path with query of a page's address."""
    if usable_url(url) is None:
        raise WebFault("the address of a page is not http or https", sent=False)
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise WebFault("the address of a page contains a user name", sent=False)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}", str(parts.hostname), (parts.path or "/") + query
