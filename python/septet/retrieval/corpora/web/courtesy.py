"""Courtesy: one request to a host at a time with a pause between, and its robots.txt (RFC 9309) by protego."""

from __future__ import annotations

import re
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from septet._core import Lock
from septet.errors import QueryError
from septet.retrieval.corpora.web.calls import WebFault
from septet.system.forks import renew_in_children

if TYPE_CHECKING:
    from protego import Protego

#: Maximum hosts with state.
MOST_HOSTS = 1_000
#: Maximum pause that a host can request.
MOST_WAIT_S = 86_400.0
#: RFC 9309 requires at least 500 KiB.
MAX_ROBOTS_BYTES = 512 * 2**10
MOST_LINES = 10_000
_PRODUCT = re.compile(r"[A-Za-z_-]+")
#: A line that protego reads as the name of a program, in any of its spellings.
_USER_AGENT = re.compile(r"\s*user[\s-]*agent[\s:]+([^#]*)", re.IGNORECASE)


class _Host:
    """The state of a host: the lock of its turn, the number of waiting calls, and the end of its pause."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.waiting = 0
        self.free_at = 0.0


class Courtesy:
    """Turns for requests to hosts, with a pause after each response. Safe to share between threads."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset the turns in a forked child: the parent's threads do not exist there."""
        self._lock = Lock()
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @contextmanager
    def turn(self, host: str, ends_at: float) -> Iterator[None]:
        """Reserve a host within a ``with`` block; ``ends_at`` is in seconds of `time.monotonic`.

        Raises:
            WebFault: the host was busy until then.
        """
        state = self._waiting_on(host)
        try:
            if not state.turn.acquire(timeout=max(0.0, ends_at - time.monotonic())):
                raise WebFault(f"{host} was busy with other requests", sent=False)
            try:
                wait_s = state.free_at - time.monotonic()
                if wait_s > 0:
                    if time.monotonic() + wait_s >= ends_at:
                        raise WebFault(f"{host} is paused for another {wait_s:.3g} s", sent=False)
                    time.sleep(wait_s)
                yield
            finally:
                state.free_at = max(state.free_at, time.monotonic() + self._pause_s)
                state.turn.release()
        finally:
            with self._lock.hold():
                state.waiting -= 1

    def leave_alone(self, host: str, seconds: float) -> None:
        """Pause a host, at most for a day."""
        state = self._waiting_on(host)
        with self._lock.hold():
            state.free_at = max(state.free_at, time.monotonic() + min(seconds, MOST_WAIT_S))
            state.waiting -= 1

    def _waiting_on(self, host: str) -> _Host:
        with self._lock.hold():
            state = self._hosts.setdefault(host, _Host())
            self._hosts.move_to_end(host)
            state.waiting += 1
            if len(self._hosts) > MOST_HOSTS:
                idle = next((name for name, candidate in self._hosts.items() if not candidate.waiting), None)
                if idle is not None:
                    del self._hosts[idle]
            return state


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
    """Raise an error if protego is not installed."""
    if find_spec("protego") is None:
        cure = "pip install 'septet[web]', or switch scraper_robots_txt_respect off"
        raise QueryError(f"web_read_pages needs the extra that reads robots.txt: {cure}")


def robots_of(body: bytes | bytearray, agent: str) -> Robots:
    """Return the rules of a robots.txt for a program; only the leading letters, ``_`` and ``-`` of its name count."""
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
