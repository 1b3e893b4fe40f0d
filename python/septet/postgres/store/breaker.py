"""ServerBreaker: calls to a server that keeps failing fail at once, while it is probed in the background."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from septet.errors import Unreachable
from septet.system.breaker import CircuitBreaker

#: Failures in a row after which calls fail at once.
FAILURES = 3
#: First and last pause between two probes of a lost server.
REST_S, LONGEST_REST_S = 1.0, 15
THREAD = "septet-probe"


class ServerBreaker(CircuitBreaker[str]):
    """A circuit breaker for calls to a server, which a probe on a thread closes again.

    Args:
        probe: sends the server a request, in bounded time, and raises an error if it does not answer.
        first_s: the pause between the first two probes, in seconds; the first one runs at once, so a server that is
            only slow fails few calls.
        longest_s: the longest pause between two probes, in seconds.
    """

    def __init__(
        self, probe: Callable[[], object], *, first_s: float = REST_S, longest_s: float = LONGEST_REST_S
    ) -> None:
        self._probe = probe
        self._ended = threading.Event()
        super().__init__(first_s, longest_s, failures=FAILURES)

    def after_fork(self) -> None:
        """Restart in a forked child, which does not have the thread that probes."""
        super().after_fork()
        ended = self._ended.is_set()
        self._ended = threading.Event()
        if ended:
            self._ended.set()
        self.succeeded()

    def check(self) -> None:
        """Raise if calls fail at once.

        Raises:
            Unreachable: they do; with the reason.
        """
        if self.is_open:
            raise Unreachable(
                f"{self.fault}; it failed {FAILURES} times and is asked in the background until it answers"
            )

    def failed(self, fault: str, wait_s: float = 0.0) -> bool:
        """Record that the server cannot be reached, or did not answer in time; see `CircuitBreaker.failed`."""
        opened = not self._ended.is_set() and super().failed(fault, wait_s)
        if opened:
            arguments = weakref.ref(self), self._ended
            try:
                threading.Thread(target=_probe_repeatedly, args=arguments, name=THREAD, daemon=True).start()
            except RuntimeError:
                # Without a thread, no probe would notice that the server is back.
                self.succeeded()
        return opened

    def close(self) -> None:
        """End the probes."""
        self._ended.set()

    def probe(self) -> bool:
        """Probe once. Return True if that was the last time: the server answers."""
        try:
            self._probe()
        except Exception:  # noqa: BLE001 - any error means that the server does not answer
            fault = self.fault
            if fault is not None:
                super().failed(fault)
            return fault is None
        self.succeeded()
        return True


def _probe_repeatedly(breaker: weakref.ref[ServerBreaker], ended: threading.Event) -> None:
    """Probe until the server answers, the vault is closed, or nothing refers to it any more."""
    while not ended.is_set():
        probed = breaker()
        if probed is None or probed.probe():
            return
        pause_s = probed.remaining_s
        del probed
        ended.wait(pause_s)
