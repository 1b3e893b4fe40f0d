"""KeyRing: the keys of one provider, with rotation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import SecretStr

from septet._core import Lock
from septet.embedding.transport.masking import KeyMasker
from septet.system.forks import renew_in_children

#: After this many failures in a row, a key cools down for COOL_DOWN_S.
MAX_FAILURES = 3
COOL_DOWN_S = 30.0
#: Maximum cool-down, even if the provider requests a longer one.
MAX_COOL_DOWN_S = 3_600.0


@dataclass(slots=True, eq=False)
class ApiKey:
    """A key and its health. The key itself never appears in a repr."""

    secret: SecretStr
    failures: int = 0
    cool_until: float = field(default=float("-inf"))


class KeyRing:
    """Keys in rotation: each is used until it is rate-limited, then the next healthy one. Thread-safe."""

    def __init__(self, secrets: Sequence[SecretStr], clock: Callable[[], float]) -> None:
        self._keys = [ApiKey(secret) for secret in secrets]
        self._clock = clock
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
            now = self._clock()
            ring = self._keys[self._at :] + self._keys[: self._at]
            best = next((key for key in ring if key.cool_until <= now), None)
            best = best or min(ring, key=lambda key: key.cool_until)
            self._at = self._keys.index(best)
            return best

    def worked(self, key: ApiKey | None) -> None:
        """Reset the failures of a key that the provider accepted."""
        if key is not None:
            with self._lock.hold():
                key.failures, key.cool_until = 0, float("-inf")

    def failed(self, key: ApiKey | None, wait_s: float | None, *, spent: bool = False) -> bool:
        """Record a rate limit or spent quota, and move on to the next healthy key.

        Args:
            wait_s: the wait that the provider requests; None without a hint.
            spent: True if the key's quota is spent.

        Returns:
            True if another key is healthy: no wait is needed.
        """
        with self._lock.hold():
            if key is None:
                return False
            now = self._clock()
            key.failures += 1
            cool_s = min(wait_s or 0.0, MAX_COOL_DOWN_S)
            if spent or key.failures >= MAX_FAILURES:
                cool_s = max(cool_s, COOL_DOWN_S)
            key.cool_until = max(key.cool_until, now + cool_s)
            at = self._keys.index(key)
            others = self._keys[at + 1 :] + self._keys[:at]
            healthy = next((other for other in others if other.cool_until <= now), None)
            if healthy is not None:
                self._at = self._keys.index(healthy)
            return healthy is not None

    def scrub(self, text: str) -> str:
        """Return a text with every key and part of a key, in any encoding, replaced by ``[key]``."""
        return self.masker(text)
