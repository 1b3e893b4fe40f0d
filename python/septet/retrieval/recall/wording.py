"""Words of queries and titles, and the spread of ages: small measures that lists of a recall are sorted by."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from septet.profiles.builtin import RECALL_STOP_WORDS

__all__ = ["STOP_WORDS", "Overlap", "age_spread", "exact_matches", "kept_words", "title_overlap", "top_terms"]

#: The documented words that tell nothing of what is asked for.
STOP_WORDS = frozenset(RECALL_STOP_WORDS)
#: Runs of letters, digits and underscores, with the marks that belong to letters.
_WORD = re.compile(r"\w+(?:[\u0300-\u036f]+\w*)*")
_LEAST_LETTERS = 2
#: From these on two titles are of the same thing.
_LEAST_SHARE, _LEAST_SHARED = 0.7, 4


class Overlap(NamedTuple):
    """How far two titles use the same words.

    Attributes:
        coefficient: the shared words as a part of those of the title that has fewer, 0 to 1.
        shared: how many words both have.
    """

    coefficient: float
    shared: int

    @property
    def is_duplicate(self) -> bool:
        """Whether they are titles of the same thing: a coefficient of 0.7 or more, and four shared words or more."""
        return self.coefficient >= _LEAST_SHARE and self.shared >= _LEAST_SHARED


def kept_words(text: str, stop_words: Collection[str] = STOP_WORDS) -> list[str]:
    """Return the words of a text as they are written, without single letters and stop words; repeated ones stay."""
    return [w for w in _WORD.findall(text) if len(w) >= _LEAST_LETTERS and w.lower() not in stop_words]


def exact_matches(words: Iterable[str], text: str) -> int:
    """Return how many of the words stand in a text, whatever their case, also inside of other words."""
    folded = text.lower()
    return sum(word.lower() in folded for word in words)


def top_terms(text: str, limit: int = 40) -> list[str]:
    """Return the words that a text uses most, in lower case; equal ones in the order in which they come first."""
    return [word for word, _ in Counter(word.lower() for word in kept_words(text)).most_common(limit)]


def title_overlap(one: str, other: str) -> Overlap:
    """Return how far two titles use the same words; stop words and single letters do not count."""
    first, second = ({word.lower() for word in kept_words(title)} for title in (one, other))
    shared, fewer = len(first & second), min(len(first), len(second))
    return Overlap(shared / fewer if fewer else 0.0, shared)


def age_spread(stamps: Sequence[float], now: float) -> float:
    """Return how unevenly the ages of several texts are spread: 0 for equal ages, 1 where one has all of them.

    It is the variance of each age's share of all ages, as a part of the greatest that so many can have: ``(sum of
    squared shares - 1/n) / (1 - 1/n)``. Fewer than two have no spread.

    Args:
        stamps: when the texts were written, in any unit.
        now: the present, in the same unit; what is later has the age 0.
    """
    ages = [max(0.0, now - stamp) for stamp in stamps]
    total, count = math.fsum(ages), len(ages)
    if count < 2 or total <= 0 or not math.isfinite(total):
        return 0.0
    even = 1 / count
    spread = math.fsum((age / total) ** 2 for age in ages) - even
    return min(1.0, max(0.0, spread / (1 - even)))
