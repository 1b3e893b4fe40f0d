"""KeyRing: the keys of one service, with rotation; and KeyMasker, which hides keys that a service echoes."""

from __future__ import annotations

import base64
import html
import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from septet._core import Lock
from septet.system.breaker import CircuitBreaker
from septet.system.forks import renew_in_children
from septet.system.living import Living

if TYPE_CHECKING:
    from pydantic import SecretStr

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
        self.breaker = CircuitBreaker[None](COOL_DOWN_S, COOL_DOWN_S, failures=MAX_FAILURES, clock=clock)


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
        """Record a rate limit or spent quota, and move on to the next healthy key. Return True if there is one.

        Args:
            wait_s: the wait that the service requests; None without a hint.
            spent: True if the key's quota is spent.
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


MASK = "[key]"
#: Minimum letters and digits of a key in a row to mask; shorter runs occur by chance and reveal nothing.
SHOWN_CHARS = 8

#: One character, plain or in a common escape; escapes may be nested.
_CHARACTER = re.compile(
    r"%(?:25)*(?P<percent>[0-9a-f]{2})"
    r"|\\+u\{?(?P<unicode>[0-9a-f]{4,6})\}?"
    r"|\\+x(?P<hex>[0-9a-f]{2})"
    r"|\\+(?P<octal>[0-7]{3})"
    r"|&(?:amp;)*(?P<entity>#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});"
    r"|(?P<plain>.)",
    re.DOTALL | re.IGNORECASE,
)
#: ASCII text without escapes; characters other than its letters and digits.
_PLAIN, _MARKS = re.compile(r"[^%&\\\x80-\U0010ffff]*"), re.compile(r"[^a-z0-9]")


class KeyMasker:
    """Replaces keys in texts by a mark.

    Compares only letters and digits, ignoring case, so spaces and punctuation between them hide nothing. Matches a key
    plain, reversed, and in base64, base32 and hexadecimal.

    Args:
        keys: ASCII. Keys of fewer than eight letters and digits are matched only as a whole.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._whole: set[str] = set()
        self._parts: set[str] = set()
        for key in keys:
            self._whole |= {key, _fold(key)} if len(_fold(key)) >= SHOWN_CHARS else {key}
            if len(_fold(key)) >= SHOWN_CHARS:
                for form in _forms(key):
                    self._parts |= {form[at : at + SHOWN_CHARS] for at in range(len(form) - SHOWN_CHARS + 1)}

    def __repr__(self) -> str:
        return "Masker()"

    def __call__(self, text: str) -> str:
        """Return a text with a mark in place of each part of a key."""
        for key in sorted(self._whole, key=len, reverse=True):
            text = text.replace(key, MASK)
        if not self._parts or (_PLAIN.fullmatch(text) and not self._shows(_MARKS.sub("", text.lower()))):
            return text
        characters = list(_characters(text))
        letters = "".join(letter for letter, _, _ in characters)
        hidden: list[list[int]] = []
        for at in range(len(letters) - SHOWN_CHARS + 1):
            if letters[at : at + SHOWN_CHARS] in self._parts:
                start, end = characters[at][1], characters[at + SHOWN_CHARS - 1][2]
                if hidden and start <= hidden[-1][1]:
                    hidden[-1][1] = end
                else:
                    hidden.append([start, end])
        for start, end in reversed(hidden):
            text = text[:start] + MASK + text[end:]
        return text

    def _shows(self, letters: str) -> bool:
        return any(letters[at : at + SHOWN_CHARS] in self._parts for at in range(len(letters) - SHOWN_CHARS + 1))


def _fold(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _forms(key: str) -> Iterator[str]:
    yield _fold(key)
    yield _fold(key[::-1])
    content = key.encode("ascii", "replace")
    yield content.hex()
    # Bytes before a key shift its encoding; skip the characters that encode both.
    for before in range(3):
        yield _fold(base64.b64encode(bytes(before) + content).decode().rstrip("=")[2 * (before > 0) + (before > 1) :])
    for before in range(5):
        yield _fold(base64.b32encode(bytes(before) + content).decode().rstrip("=")[-(-8 * before // 5) :])


def _characters(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the decoded, case-folded letters and digits of a text, each with its start and end."""
    for match in _CHARACTER.finditer(text):
        kind, value = match.lastgroup or "plain", match[match.lastgroup or "plain"]
        if kind == "plain":
            decoded = unicodedata.normalize("NFKC", value)
        elif kind == "entity":
            decoded = html.unescape(f"&{value};")
        else:
            number = int(value, 8 if kind == "octal" else 16)
            decoded = chr(number) if number < 0x110000 else ""
        for char in _fold(decoded):
            yield char, match.start(), match.end()


_maskers: Living[Callable[[str], str]] = Living()
#: Loggers of requests and of answers with their headers.
_LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy", "httpcore.socks")


def mask_logs(masker: Callable[[str], str]) -> None:
    """Mask keys in the logs of the HTTP libraries, for the lifetime of the masker."""
    _maskers.enlist(masker)
    for name in _LOGGERS:
        # Adding a filter twice is a no-op.
        logging.getLogger(name).addFilter(_mask_record)


def _mask_record(record: logging.LogRecord) -> bool:
    message = record.getMessage()
    masked = message
    for masker in _maskers:
        masked = masker(masked)
    if masked != message:
        record.msg, record.args = masked, ()
    return True
