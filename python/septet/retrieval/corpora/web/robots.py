"""Robots: the rules of a host's robots.txt (RFC 9309), parsed and matched by protego."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from septet.errors import QueryError

if TYPE_CHECKING:
    from protego import Protego

#: RFC 9309 requires at least 500 KiB.
MAX_ROBOTS_BYTES = 512 * 2**10
MOST_LINES = 10_000
_PRODUCT = re.compile(r"[A-Za-z_-]+")
#: A line that protego reads as the name of a program, in any of its spellings.
_USER_AGENT = re.compile(r"\s*user[\s-]*agent[\s:]+([^#]*)", re.IGNORECASE)


class Robots(NamedTuple):
    """The rules of one host for one program.

    Attributes:
        rules: of the groups for the program, or of those for all; None for no rules.
        agent: the name of the program in them.
        delay_s: seconds between requests; 0 by default.
        closed: True if nothing may be read, because the file is unreadable.
    """

    rules: Protego | None = None
    agent: str = ""
    delay_s: float = 0.0
    closed: bool = False

    def allows(self, path: str) -> bool:
        """Return True if a path with its query may be read, by the longest matching rule; ties allow."""
        # protego takes addresses: a path that begins with two slashes would be a host.
        url = f"http://host/{path.removeprefix('/')}"
        return not self.closed and (self.rules is None or self.rules.can_fetch(url, self.agent))


#: The rules of a host whose robots.txt is unreadable.
NOTHING = Robots(closed=True)


def expect_protego() -> None:
    """Raise an error if protego is not installed.

    Raises:
        QueryError: it is not.
    """
    if find_spec("protego") is None:
        cure = "pip install 'septet[web]', or switch scraper_robots_txt_respect off"
        raise QueryError(f"web_read_pages needs the extra that reads robots.txt: {cure}")


def robots_of(body: bytes | bytearray, agent: str) -> Robots:
    """Return the rules of a robots.txt for a program.

    Args:
        agent: its name; only the leading letters, ``_`` and ``-`` count.
    """
    from protego import Protego

    name = _product(agent)
    lines = body.decode("utf-8-sig", "replace").splitlines()[:MOST_LINES]
    rules = Protego.parse("\n".join(_for_program(line, name) for line in lines))
    return Robots(rules, name, rules.crawl_delay(name) or 0.0)


def _product(agent: str) -> str:
    match = _PRODUCT.match(agent)
    return match[0].lower() if match else ""


def _for_program(line: str, name: str) -> str:
    """Return a line, with one name for all other programs.

    protego keeps each rule once per program of its group, which a hostile file makes quadratic, and matches names by
    their beginnings.
    """
    match = _USER_AGENT.match(line)
    if match is None:
        return line
    value = match[1].strip()
    if value != "*":
        value = name if name and _product(value) == name else "?"
    return f"user-agent: {value}"
