"""Breaker: a server that failed again and again is left alone, and asked in the background whether it is back."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from septet._core import Lock
from septet.errors import SeptetError, Unreachable
from septet.system.forks import renew_in_children

#: Failures in a row after which calls fail at once.
FAILURES = 3
#: Seconds until the first probe of a lost server; doubled after each failed probe.
REST_S = 1.0
LONGEST_REST_S = 15
THREAD = "septet-probe"


class Breaker:
    """A circuit breaker for calls to a server.

    Args:
        probe: asks the server for a sign of life, in bounded time, and raises anything if it gives none.
        path: what errors call the server.
        failures: after how many in a row calls fail at once.
        rest_s: how long until the second probe; twice as long after each that fails. The first one comes at once: a
            server that is only slow must not fail what takes little of it.
        longest_rest_s: the longest rest.
    """

    def __init__(
        self,
        probe: Callable[[], object],
        path: str,
        *,
        failures: int = FAILURES,
        rest_s: float = REST_S,
        longest_rest_s: float = LONGEST_REST_S,
    ) -> None:
        self._probe, self._path = probe, path
        self._most, self._rest_s, self._longest_rest_s = failures, rest_s, longest_rest_s
        self._ended = threading.Event()
        self._renew()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Restart in a forked child: the thread that probes is the parent's."""
        ended = self._ended.is_set()
        self._ended = threading.Event()
        if ended:
            self._ended.set()
        self._renew()

    def _renew(self) -> None:
        self._lock = Lock()
        self._failed = 0
        #: Why calls fail at once; None while they are made.
        self._cause: str | None = None

    @property
    def open(self) -> bool:
        """True if calls fail at once."""
        return self._cause is not None

    def check(self) -> None:
        """Raise if calls fail at once.

        Raises:
            Unreachable: they do; says why.
        """
        cause = self._cause
        if cause is not None:
            raise Unreachable(
                f"{cause}; it failed {self._failed} times and is asked in the background until it answers"
            )

    def answered(self) -> None:
        """Note that the server answers."""
        # Called in every transaction.
        if self._failed:
            with self._lock.hold():
                self._failed, self._cause = 0, None

    def failed(self, fault: SeptetError) -> None:
        """Note that the server cannot be reached, or does not answer in time."""
        with self._lock.hold():
            self._failed += 1
            if self._failed < self._most or self._cause is not None or self._ended.is_set():
                return
            self._cause = str(fault)
        rests = (self._rest_s, self._longest_rest_s)
        try:
            threading.Thread(
                target=_watch, args=(weakref.ref(self), self._ended, *rests), name=THREAD, daemon=True
            ).start()
        except RuntimeError:
            # Without a thread, no probe would find that the server is back.
            self.answered()

    def close(self) -> None:
        """End the probes."""
        self._ended.set()

    def ask(self) -> bool:
        """Probe once, and say whether that was the last time: the server answers."""
        try:
            self._probe()
        except Exception:  # noqa: BLE001 - whatever it is, the server gave no sign of life
            return self._cause is None
        self.answered()
        return True


def _watch(breaker: weakref.ref[Breaker], ended: threading.Event, rest_s: float, longest_s: float) -> None:
    """Probe until the server answers, the vault is closed, or nothing refers to it any more."""
    while not ended.is_set():
        watched = breaker()
        if watched is None or watched.ask():
            return
        del watched
        ended.wait(rest_s)
        rest_s = min(2 * rest_s, longest_s)
