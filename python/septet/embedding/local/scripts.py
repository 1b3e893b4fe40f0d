"""Scripts: which ones a text is in, and which ones a model's pieces were made for."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache

#: A script is known with this many pieces of several letters, or, where a letter is a word, this many pieces.
#: all-MiniLM-L6-v2, made for English, has at most 8 and 488; XLM-R has at least 635 or 729 of each of 26 scripts.
LEAST_LONG, LEAST_PIECES = 100, 600
#: Letters of a text that are looked at.
MOST_LETTERS = 1_000

_LETTER = re.compile(
    r"(?!MODIFIER|DOUBLE|TURNED)([A-Z]+) (?:SMALL |CAPITAL )?(?:LETTER|SYLLABLE|CHARACTER|UNIFIED IDEOGRAPH)\b"
)
_NAMES = {"CJK": "Chinese characters"}


def known_scripts(pieces: Iterable[str]) -> frozenset[str]:
    """Return the scripts that a vocabulary has enough pieces of."""
    long: Counter[str] = Counter()
    every: Counter[str] = Counter()
    for piece in pieces:
        letters = [letter for letter in piece.removeprefix("##") if letter.isalpha()]
        if letters and (script := _script(letters[0])):
            every[script] += 1
            long[script] += len(letters) > 1
    return frozenset(script for script in every if long[script] >= LEAST_LONG or every[script] >= LEAST_PIECES)


def unknown_script(text: str, known: Collection[str]) -> str | None:
    """Return the script that most letters of a text are in, if most are in unknown ones; else None."""
    if text.isascii():
        return None
    letters = (letter for letter in text if letter.isalpha())
    scripts = Counter(_script(letter) for letter, _ in zip(letters, range(MOST_LETTERS)))
    scripts.pop("", None)
    unknown = Counter({script: count for script, count in scripts.items() if script not in known})
    return unknown.most_common(1)[0][0] if 2 * unknown.total() > scripts.total() else None


@lru_cache(maxsize=4_096)
def _script(letter: str) -> str:
    """Return the script of a letter, such as Cyrillic; "" if its name has none."""
    match = _LETTER.match(unicodedata.name(letter, ""))
    return _NAMES.get(match[1], match[1].capitalize()) if match else ""
