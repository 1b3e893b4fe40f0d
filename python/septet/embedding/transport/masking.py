"""Masking: API keys that a provider echoes, whole or in part, plainly or in some encoding, are taken out of a text."""

from __future__ import annotations

import base64
import html
import logging
import re
import unicodedata
import weakref
from collections.abc import Callable, Iterable, Iterator

__all__ = ["MASK", "SHOWN_CHARS", "Masker", "mask_logs"]

MASK = "[key]"
#: So many letters and digits of a key in a row are masked; fewer tell nobody anything, and occur by chance.
SHOWN_CHARS = 8

#: One character, written in one of the usual ways; escapes may be escaped again.
_CHARACTER = re.compile(
    r"%(?:25)*(?P<percent>[0-9a-f]{2})"
    r"|\\+u\{?(?P<unicode>[0-9a-f]{4,6})\}?"
    r"|\\+x(?P<hex>[0-9a-f]{2})"
    r"|\\+(?P<octal>[0-7]{3})"
    r"|&(?:amp;)*(?P<entity>#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});"
    r"|(?P<plain>.)",
    re.DOTALL | re.IGNORECASE,
)


#: Text in which each character stands for itself, and what is no letter or digit in it.
_PLAIN, _MARKS = re.compile(r"[^%&\\\x80-\U0010ffff]*"), re.compile(r"[^a-z0-9]")


class Masker:
    """Takes keys out of texts.

    Only letters and digits are compared, without their case, so blanks, lines and marks between them hide nothing; a
    key is looked for as it is, backwards, and in base64, base32 and hexadecimal digits.

    Args:
        keys: of ASCII. Those of fewer than eight letters and digits are found only as a whole.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._whole: set[str] = set()
        self._parts: set[str] = set()
        for key in keys:
            self._whole |= {key, _folded(key)} if len(_folded(key)) >= SHOWN_CHARS else {key}
            if len(_folded(key)) >= SHOWN_CHARS:
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
        found = list(_characters(text))
        letters = "".join(letter for letter, _, _ in found)
        hidden: list[list[int]] = []
        for at in range(len(letters) - SHOWN_CHARS + 1):
            if letters[at : at + SHOWN_CHARS] in self._parts:
                start, end = found[at][1], found[at + SHOWN_CHARS - 1][2]
                if hidden and start <= hidden[-1][1]:
                    hidden[-1][1] = end
                else:
                    hidden.append([start, end])
        for start, end in reversed(hidden):
            text = text[:start] + MASK + text[end:]
        return text

    def _shows(self, letters: str) -> bool:
        return any(letters[at : at + SHOWN_CHARS] in self._parts for at in range(len(letters) - SHOWN_CHARS + 1))


def _folded(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _forms(key: str) -> Iterator[str]:
    yield _folded(key)
    yield _folded(key[::-1])
    content = key.encode("ascii", "replace")
    yield content.hex()
    # What comes before a key shifts its encoding; the first characters then belong to both.
    for before in range(3):
        yield _folded(base64.b64encode(bytes(before) + content).decode().rstrip("=")[2 * (before > 0) + (before > 1) :])
    for before in range(5):
        yield _folded(base64.b32encode(bytes(before) + content).decode().rstrip("=")[-(-8 * before // 5) :])


def _characters(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the letters and digits that a text shows, without their case, and where each is written."""
    for found in _CHARACTER.finditer(text):
        kind, value = found.lastgroup or "plain", found[found.lastgroup or "plain"]
        if kind == "plain":
            shown = unicodedata.normalize("NFKC", value)
        elif kind == "entity":
            shown = html.unescape(f"&{value};")
        else:
            number = int(value, 8 if kind == "octal" else 16)
            shown = chr(number) if number < 0x110000 else ""
        for char in _folded(shown):
            yield char, found.start(), found.end()


_maskers: weakref.WeakSet[Callable[[str], str]] = weakref.WeakSet()
#: What httpx and httpcore write of requests and answers, with the headers of answers.
_LOGGERS = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy", "httpcore.socks")


def mask_logs(masker: Callable[[str], str]) -> None:
    """Mask keys in what the HTTP libraries log, for as long as the masker is in use."""
    _maskers.add(masker)
    for name in _LOGGERS:
        # The same filter is added once only.
        logging.getLogger(name).addFilter(_masked)


def _masked(record: logging.LogRecord) -> bool:
    said = record.getMessage()
    hidden = said
    for masker in list(_maskers):
        hidden = masker(hidden)
    if hidden != said:
        record.msg, record.args = hidden, ()
    return True
