"""Courtesy: one request to a host at a time, with a pause between."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from septet._core import Lock
from septet.retrieval.corpora.web.calls import WebFault
from septet.system.forks import renew_in_children

#: Maximum hosts with state.
MOST_HOSTS = 1_000
#: Maximum pause that a host can request.
MOST_WAIT_S = 86_400.0


class _Host:
    """The state of a host: the lock of its turn, the number of waiting calls, and the end of its pause."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.waiting = 0
        self.free_at = 0.0


class Courtesy:
    """Turns for requests to hosts. Safe to share between threads.

    Args:
        pause_s: pause of a host after each response.
    """

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
        """Reserve a host within a ``with`` block.

        Args:
            ends_at: in seconds of `time.monotonic`.

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
