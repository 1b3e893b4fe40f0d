"""Addresses: pages are read from public ones only, so that a search result cannot reach into a private network."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from septet.inputs.arguments import printable
from septet.retrieval.corpora.web.calls import WebFault

__all__ = ["MOST_URL_CHARS", "is_public", "public_addresses", "split_page_url", "usable_url"]

MOST_URL_CHARS = 2_048
_Address: TypeAlias = "ipaddress.IPv4Address | ipaddress.IPv6Address"
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
#: Before the IPv4 address in an interface's identifier (RFC 5214), but for the bit that says it is unique.
_ISATAP = 0x5EFE
#: What the registries of IANA for special purposes do not call globally reachable, of which versions of Python know
#: less: relays of 6to4 and 6to4 itself, Teredo, discarded packets, documentation, segments of routes.
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
    """Say whether an IP address is one of the public internet, also as what is written inside of an IPv6 one."""
    try:
        found: _Address = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv6Address):
        carried = str(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
        if found.ipv4_mapped is not None or found in _NAT64:
            return is_public(carried)
        if int(found) >> 32 & 0xFDFFFFFF == _ISATAP and not is_public(carried):
            return False
    return found.is_global and not (found.is_reserved or any(found in network for network in _SET_ASIDE))


def public_addresses(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host.

    Raises:
        WebFault: it has none, or one of them is no public one.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise WebFault(f"{printable(host)[:200]} has no address") from None
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    if not addresses or not all(map(is_public, addresses)):
        raise WebFault(
            f"{printable(host)[:200]} is no public address",
            "web_allow_private lets pages of a private network be read",
            asked=False,
        )
    return addresses


def usable_url(url: object) -> str | None:
    """Return what a search service gave as an address, if it is one of http or https with a host; None otherwise."""
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
    """Return the origin, the host and the path with its query of a page to be read.

    Raises:
        WebFault: it is none of http or https, or has a name and a password.
    """
    if usable_url(url) is None:
        raise WebFault("the address of a page is none of http or https", asked=False)
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise WebFault("the address of a page has a name in it", asked=False)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}", str(parts.hostname), (parts.path or "/") + query
