"""Addresses: only public ones are read, so that a search result cannot reach into a private network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from septet.errors import printable
from septet.retrieval.corpora.web.calls import WebFault

MOST_URL_CHARS = 2_048
_Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"
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


def is_public(address: str) -> bool:
    """Return True if an IP address is public; for IPv6 also the embedded IPv4 address."""
    try:
        parsed: _Address = ipaddress.ip_address(address.partition("%")[0])
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
    """Return the addresses of a host.

    Raises:
        WebFault: it has no address, or one that is not public.
    """
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
    """Return the origin, the host and the path with query of a page's address.

    Raises:
        WebFault: it is not http or https, or has a user name.
    """
    if usable_url(url) is None:
        raise WebFault("the address of a page is not http or https", sent=False)
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise WebFault("the address of a page contains a user name", sent=False)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}", str(parts.hostname), (parts.path or "/") + query
