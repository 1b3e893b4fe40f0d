"""CircuitBreaker: pauses the calls of a service that fails."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from septet._core import Lock
from septet.system.forks import renew_in_children

Fault = TypeVar("Fault")


class CircuitBreaker(Generic[Fault]):
    """Pauses calls after failures in a row: at first for `first_s`, then twice as long after each further failure.

    A failure during a pause, as of a concurrent call, restarts the pause without doubling it. Safe to share between
    threads. A forked child keeps the state, but not the trial of its parent.

    Args:
        first_s: the first pause, in seconds.
        longest_s: the longest pause, in seconds.
        failures: number of failures in a row that open the breaker.
        clock: monotonic seconds.

    Attributes:
        fault: the last failure; None after a success, and before the first failure.
        pause_s: the last pause; 0 after a success.
    """

    def __init__(
        self, first_s: float, longest_s: float, *, failures: int = 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.first_s, self.longest_s = first_s, longest_s
        self._failures, self._clock = failures, clock
        self.fault: Fault | None = None
        self._failed, self.pause_s, self._paused_until = 0, 0.0, -math.inf
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Renew the lock, and end the trial: its thread does not exist in a forked child."""
        self._lock = Lock()
        self._trial_until = -math.inf

    @property
    def is_open(self) -> bool:
        """True if the service is known to fail: calls are paused, or wait for a trial."""
        return self._failed >= self._failures

    @property
    def is_trying(self) -> bool:
        """True during a trial."""
        return self._clock() < self._trial_until

    @property
    def is_due(self) -> bool:
        """True if the service is known to fail, and its pause has ended."""
        return self.is_open and not self.remaining_s

    @property
    def remaining_s(self) -> float:
        """The rest of the pause in seconds; 0 without one."""
        return max(0.0, self._paused_until - self._clock())

    def allows(self, trial_s: float = math.inf) -> bool:
        """Return True if a call may start.

        After a pause, one call may start as a trial; others must not, until it has succeeded or failed.

        Args:
            trial_s: maximum duration of the trial.
        """
        if not self.is_open:
            return True
        with self._lock.hold():
            if self.is_open:
                now = self._clock()
                if now < max(self._paused_until, self._trial_until):
                    return False
                self._trial_until = now + trial_s
            return True

    def cancel_trial(self) -> None:
        """Allow another trial: this one did not start."""
        self._trial_until = -math.inf

    def succeeded(self) -> bool:
        """Record a success. Return True if it was the first one after a failure."""
        # Without the lock: called often.
        return self._close(0.0) if self._failed or self.pause_s else False

    def resume(self) -> bool:
        """Allow calls again after a probe; the next failure doubles the last pause all the same."""
        return self._close(self.pause_s)

    def failed(self, fault: Fault, wait_s: float = 0.0) -> bool:
        """Record a failure. Return True if it opened the breaker.

        Args:
            wait_s: minimum pause, as requested by the service.
        """
        with self._lock.hold():
            now = self._clock()
            is_concurrent = now < self._paused_until and now >= self._trial_until
            self.fault, self._trial_until = fault, -math.inf
            self._failed += 1
            if self.is_open:
                if not (is_concurrent and self.pause_s):
                    self.pause_s = min(max(self.first_s, 2 * self.pause_s), self.longest_s)
                wait_s = max(wait_s, self.pause_s)
            self._paused_until = max(self._paused_until, now + wait_s)
            return self._failed == self._failures

    def _close(self, pause_s: float) -> bool:
        with self._lock.hold():
            was_failing = self._failed > 0
            self.fault, self._failed, self.pause_s = None, 0, pause_s
            self._paused_until = self._trial_until = -math.inf
            return was_failing
