"""Courtesy: one request to a host at a time, with a pause between them, and rests for what fails."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from septet._core import Lock
from septet.retrieval.corpora.web.calls import WebFault
from septet.system.forks import renew_in_children

__all__ = ["Courtesy", "Rest"]

#: So many hosts are remembered.
MOST_HOSTS = 1_000
#: A host is left alone no longer, whatever it asks for.
MOST_WAIT_S = 86_400.0
REST_S, LONGEST_REST_S = 1.0, 60.0


class _Host:
    """One host: who has the turn, how many want it, and from when on it may be asked."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.wanted = 0
        self.free_at = 0.0


class Courtesy:
    """Turns to ask a host. Safe to share between threads.

    Args:
        pause_s: how long a host is left alone after each answer.
    """

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Forget who had a turn: those threads are not there."""
        self._lock = Lock()
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    @contextmanager
    def turn(self, host: str, ends_at: float) -> Iterator[None]:
        """Have a host for oneself within a ``with`` block.

        Args:
            ends_at: in seconds of `time.monotonic`.

        Raises:
            WebFault: there is no turn before that.
        """
        state = self._wanted(host)
        try:
            if not state.turn.acquire(timeout=max(0.0, ends_at - time.monotonic())):
                raise WebFault(f"{host} was busy with other requests", asked=False)
            try:
                wait_s = state.free_at - time.monotonic()
                if wait_s > 0:
                    if time.monotonic() + wait_s >= ends_at:
                        raise WebFault(f"{host} is left alone for another {wait_s:.3g} s", asked=False)
                    time.sleep(wait_s)
                yield
            finally:
                state.free_at = max(state.free_at, time.monotonic() + self._pause_s)
                state.turn.release()
        finally:
            with self._lock.hold():
                state.wanted -= 1

    def leave_alone(self, host: str, seconds: float) -> None:
        """Ask a host nothing for so long, at most a day."""
        state = self._wanted(host)
        with self._lock.hold():
            state.free_at = max(state.free_at, time.monotonic() + min(seconds, MOST_WAIT_S))
            state.wanted -= 1

    def _wanted(self, host: str) -> _Host:
        with self._lock.hold():
            state = self._hosts.setdefault(host, _Host())
            self._hosts.move_to_end(host)
            state.wanted += 1
            if len(self._hosts) > MOST_HOSTS:
                idle = next((name for name, one in self._hosts.items() if not one.wanted), None)
                if idle is not None:
                    del self._hosts[idle]
            return state


class Rest:
    """What a search service is given after a failure: 1 s, twice as long after each further one, up to 60 s.

    One request tries it then; those beside it are refused until it is known how that one ends.
    """

    def __init__(self) -> None:
        self._fault: WebFault | None = None
        self._last_s = self._until = 0.0
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Renew the lock."""
        self._lock = Lock()

    def ask(self, within_s: float) -> None:
        """Begin a request that may take so long.

        Raises:
            WebFault: it rests.
        """
        with self._lock.hold():
            if self._fault is None:
                return
            now = time.monotonic()
            if now < self._until:
                raise WebFault(f"{self._fault.cause}; it rests", self._fault.cure, asked=False)
            self._until = now + within_s

    def worked(self) -> None:
        """Record an answer."""
        with self._lock.hold():
            self._fault, self._last_s = None, 0.0

    def failed(self, fault: WebFault) -> None:
        """Record a failure; what the service asks for counts if it is longer."""
        with self._lock.hold():
            self._fault = fault
            self._last_s = min(max(REST_S, 2 * self._last_s), LONGEST_REST_S)
            self._until = time.monotonic() + max(self._last_s, min(fault.wait_s or 0.0, MOST_WAIT_S))
