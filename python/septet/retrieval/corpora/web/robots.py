"""Robots: the rules of a host's robots.txt (RFC 9309)."""

from __future__ import annotations

import math
import re
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

#: RFC 9309 requires at least 500 KiB.
MAX_ROBOTS_BYTES = 512 * 2**10
MOST_RULES = 5_000
_PRODUCT = re.compile(r"[A-Za-z_-]+")


class _Rule(NamedTuple):
    """A path prefix, with ``*`` for anything and an optional ``$`` for the end."""

    pattern: str
    allows: bool

    def matches(self, path: str) -> bool:
        """Return True if a path matches. Stars are matched from left to right, in linear time each."""
        ends = self.pattern.endswith("$")
        first, *pieces = (self.pattern[:-1] if ends else self.pattern).split("*")
        if not path.startswith(first):
            return False
        at = len(first)
        last = pieces.pop() if ends and pieces else None
        for piece in pieces:
            at = path.find(piece, at)
            if at < 0:
                return False
            at += len(piece)
        if last is not None:
            return len(path) - len(last) >= at and path.endswith(last)
        return not ends or at == len(path)


class Robots(NamedTuple):
    """The rules of one host for one program.

    Attributes:
        rules: of the groups for the program, or of those for all.
        delay_s: seconds between requests; 0 by default.
        closed: True if nothing may be read, because the file is unreadable.
    """

    rules: tuple[_Rule, ...] = ()
    delay_s: float = 0.0
    closed: bool = False

    def allows(self, path: str) -> bool:
        """Return True if a path with its query may be read, by the longest matching rule; ties allow."""
        if path == "/robots.txt":
            return True
        sought = _normal(path)
        fitting = [(len(rule.pattern), rule.allows) for rule in self.rules if rule.matches(sought)]
        return not self.closed and (not fitting or max(fitting)[1])


#: The rules of a host whose robots.txt is unreadable.
NOTHING = Robots(closed=True)


def robots_of(text: str, agent: str) -> Robots:
    """Return the rules of a robots.txt for a program.

    Args:
        agent: its name; only the leading letters, ``_`` and ``-`` count.
    """
    product = _PRODUCT.match(agent)
    agent_name = product[0].lower() if product else ""
    groups: dict[str, list[_Rule]] = {}
    delays: dict[str, float] = {}
    names: list[str] = []
    in_rules = counted = 0
    for line in text.splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "user-agent":
            if in_rules:
                names, in_rules = [], 0
            match = _PRODUCT.match(value)
            names.append("*" if value == "*" else match[0].lower() if match else "")
            groups.setdefault(names[-1], [])
        elif name in ("allow", "disallow"):
            in_rules = 1
            if value and counted < MOST_RULES:
                counted += 1
                for group_name in set(names):
                    groups[group_name].append(_Rule(_normal(value), name == "allow"))
        elif name == "crawl-delay":
            in_rules = 1
            delays.update(dict.fromkeys(names, _seconds(value)))
    group = agent_name if agent_name and agent_name in groups else "*"
    return Robots(tuple(groups.get(group, ())), delays.get(group, 0.0))


def _normal(path: str) -> str:
    """Return a path in a normal form: unreserved characters plain, all others as upper-case escapes."""
    # An escaped star, dollar or slash is literal.
    escaped = re.sub(r"%(2A|24|2F|3F|25|23)", r"%25\1", path, flags=re.IGNORECASE)
    plain = quote(unquote_to_bytes(escaped.encode("utf-8", "replace")), safe="/?&=:@!$'()*+,;~-._[]%")
    return re.sub(r"%[0-9a-fA-F]{2}", lambda match: match[0].upper(), plain)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and seconds > 0 else 0.0
