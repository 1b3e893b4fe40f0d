"""Entries that a query names, by their tags ``alias:NAME``."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from septet.model.results import Hit
    from septet.query.filters import Filter

#: The beginning of a tag that has a name of its entry, and its word in the full text.
ALIAS, ALIAS_WORD = "alias:", "alias"
#: The tag of pins.
PIN = "always"
#: Maximum different words of a query that may begin a name.
MOST_NAMED_WORDS = 100
#: Maximum digits of the number of a part.
_MOST_DIGITS = 10
#: Scripts without blanks between words, in which a name may be a part of a run of letters.
_DENSE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_HANGUL = "\uac00-\ud7a3"
#: A letter or digit of other scripts: a word ends where the script does, as in `Vega\u306e\u9375`.
_SPACED = rf"[^\W{_DENSE}{_HANGUL}]"
#: Korean particles, which stand at the end of a word.
_PARTICLES = (
    "(?:은|는|이|가|을|를|의|도|만|와|과|랑|이랑|하고|에|에서|에게|께|께서|한테|로|으로|까지|부터|처럼|보다|마다|나|이나|라|이라"
    "|란|이란|야|이야|요|이요|고|라고|이라고|인|입니다){0,2}"
)
# Patterns are texts, which `re` compiles at their first use: few names and queries need them.
_END_OF_KOREAN = f"{_PARTICLES}(?![{_HANGUL}])"
_LONGEST_PARTICLES = 6
_BORDER = rf"(?<={_SPACED})(?=[{_DENSE}{_HANGUL}])|(?<=[{_DENSE}{_HANGUL}])(?={_SPACED})"


def alias_filter(query: str) -> Filter:
    """Return a filter of entries with a name that begins as a word of the query does."""
    from septet._core import query_grams
    from septet.query.filters import AllOf, AnyOf, Holds
    from septet.query.words import indexed_words

    parts: list[Filter] = []
    spaced = query if query.isascii() else re.sub(_BORDER, " ", query)
    if words := [*dict.fromkeys(indexed_words(spaced))][:MOST_NAMED_WORDS]:
        forms = dict.fromkeys(form for word in words for form in _forms(word))
        parts.append(Holds(" OR ".join(f'"{ALIAS_WORD} {form}"' for form in forms), ()))
    if grams := [gram for gram in query_grams(query) if re.search(f"[{_DENSE}]", gram)][:MOST_NAMED_WORDS]:
        # The full text has no words there.
        pieces = Holds(" OR ".join(f'"{gram}"' for gram in grams), ())
        parts.append(AllOf((Holds(f'"{ALIAS_WORD}"', ()), pieces)))
    return AnyOf(tuple(parts))


def names_of(hit: Hit) -> list[str]:
    """Return the names of an entry, the longest first; a name has a letter or digit."""
    names = [tag[len(ALIAS) :].strip() for tag in hit.tags if tag[: len(ALIAS)].lower() == ALIAS]
    return sorted((name for name in names if any(map(str.isalnum, name))), key=len, reverse=True)


def part_number(hit: Hit) -> int:
    """Return the number of a part of a split entry, from 1; 0 for other entries."""
    head, mark, number = hit.id.rpartition("#")
    is_part = mark and head == hit.parent and number.isdecimal() and len(number) < _MOST_DIGITS
    return int(number) if is_part else 0


def is_standing(tag: str) -> bool:
    """Return True for a tag that brings its entry into contexts, whatever its text."""
    return tag == PIN or tag[: len(ALIAS)].lower() == ALIAS


def has_name(text: str, name: str) -> bool:
    """Return True if a text of `plain` has a name as a whole word or phrase; Korean words may have particles."""
    sought = plain(name)
    at = text.find(sought)
    while at >= 0:
        if _begins(text[at - 1 : at], sought[0]) and _ends(text, at + len(sought), sought):
            return True
        at = text.find(sought, at + 1)
    return False


def plain(text: str) -> str:
    """Return a text without capitals, with single blanks; of equal letters in one form, as of full width."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _begins(before: str, first: str) -> bool:
    """Return True if a name with this first character may stand behind a character, or "" at the beginning."""
    if _is_korean(first):
        return not _is_korean(before)
    return not (_is_spaced(first) and _is_spaced(before))


def _ends(text: str, at: int, name: str) -> bool:
    """Return True if a name may end at a place of a text."""
    if _is_korean(name[-1]):
        return re.compile(_END_OF_KOREAN).match(text, at) is not None
    if not _is_spaced(name[-1]):
        return True
    # C is another language than C++ and C#.
    letter = len(name) == 1 and name.isascii()
    after = text[at : at + 1]
    return not (_is_spaced(after) or (letter and after in ("+", "#")))


def _is_korean(char: str) -> bool:
    return _HANGUL[0] <= char <= _HANGUL[-1]


def _is_spaced(char: str) -> bool:
    return (char.isalnum() or char == "_") and (char.isascii() or re.match(_SPACED, char) is not None)


def _forms(word: str) -> Iterator[str]:
    """Return the forms in which the full text may have a word: composed or not, of full width, without particles."""
    for form in ("NFC", "NFD", "NFKC"):
        yield unicodedata.normalize(form, word).lower()
    yield word
    if _is_korean(word[-1]):
        particles, least = re.compile(_PARTICLES), max(1, len(word) - _LONGEST_PARTICLES)
        yield from (word[:at] for at in range(least, len(word)) if particles.fullmatch(word, at))
