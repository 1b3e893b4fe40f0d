"""KeyRing: the keys of one service, with rotation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import SecretStr

from septet._core import Lock
from septet.net.masking import KeyMasker
from septet.system.breaker import CircuitBreaker
from septet.system.forks import renew_in_children

#: After this many failures in a row, a key cools down for COOL_DOWN_S.
MAX_FAILURES = 3
COOL_DOWN_S = 30.0
#: Maximum cool-down, even if the service requests a longer one.
MAX_COOL_DOWN_S = 3_600.0


class ApiKey:
    """A key, and the breaker of its calls. The key itself never appears in a repr."""

    __slots__ = ("breaker", "secret")

    def __init__(self, secret: SecretStr, clock: Callable[[], float]) -> None:
        self.secret = secret
        self.breaker: CircuitBreaker[None] = CircuitBreaker(
            COOL_DOWN_S, COOL_DOWN_S, failures=MAX_FAILURES, clock=clock
        )


class KeyRing:
    """Keys in rotation: each is used until it is rate-limited, then the next healthy one. Thread-safe."""

    def __init__(self, secrets: Sequence[SecretStr], clock: Callable[[], float]) -> None:
        self._keys = [ApiKey(secret, clock) for secret in secrets]
        self._at = 0
        self.masker = KeyMasker(secret.get_secret_value() for secret in secrets)
        self.after_fork()
        renew_in_children(self)

    def __len__(self) -> int:
        return len(self._keys)

    def __repr__(self) -> str:
        return f"KeyRing({len(self)} keys)"

    def after_fork(self) -> None:
        """Renew the lock."""
        self._lock = Lock()

    def take(self) -> ApiKey | None:
        """Return the current key, else the next healthy one, else the one that cools down first; None without keys."""
        with self._lock.hold():
            if not self._keys:
                return None
            # The first one of those that cool down for the shortest time.
            best = min(self._keys[self._at :] + self._keys[: self._at], key=lambda key: key.breaker.remaining_s)
            self._at = self._keys.index(best)
            return best

    def worked(self, key: ApiKey | None) -> None:
        """Reset the failures of a key that the service accepted."""
        if key is not None:
            key.breaker.succeeded()

    def failed(self, key: ApiKey | None, wait_s: float | None, *, spent: bool = False) -> bool:
        """Record a rate limit or spent quota, and move on to the next healthy key.

        Args:
            wait_s: the wait that the service requests; None without a hint.
            spent: True if the key's quota is spent.

        Returns:
            True if another key is healthy: no wait is needed.
        """
        with self._lock.hold():
            if key is None:
                return False
            key.breaker.failed(None, max(min(wait_s or 0.0, MAX_COOL_DOWN_S), COOL_DOWN_S if spent else 0.0))
            at = self._keys.index(key)
            others = self._keys[at + 1 :] + self._keys[:at]
            healthy = next((other for other in others if not other.breaker.remaining_s), None)
            if healthy is not None:
                self._at = self._keys.index(healthy)
            return healthy is not None

    def scrub(self, text: str) -> str:
        """Return a text with every key and part of a key, in any encoding, replaced by ``[key]``."""
        return self.masker(text)
