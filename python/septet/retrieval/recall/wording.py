"""Words of queries and titles, and the spread of ages: measures that sort the lists of a recall."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from septet.profiles.builtin import RECALL_STOP_WORDS

#: The documented words without content.
STOP_WORDS = frozenset(RECALL_STOP_WORDS)
#: Runs of letters, digits and underscores, with the marks that belong to letters.
_WORD = re.compile(r"\w+(?:[\u0300-\u036f]+\w*)*")
_LEAST_LETTERS = 2
#: Minimum coefficient and shared words of duplicate titles.
_LEAST_SHARE, _LEAST_SHARED = 0.7, 4


class Overlap(NamedTuple):
    """The overlap of the words of two titles.

    Attributes:
        coefficient: shared words as a share of the words of the shorter title, 0 to 1.
        shared: number of shared words.
    """

    coefficient: float
    shared: int

    @property
    def is_duplicate(self) -> bool:
        """True for titles of the same thing: a coefficient of at least 0.7, and at least four shared words."""
        return self.coefficient >= _LEAST_SHARE and self.shared >= _LEAST_SHARED


def kept_words(text: str, stop_words: Collection[str] = STOP_WORDS) -> list[str]:
    """Return the words of a text in their case, without single letters and stop words; duplicates stay."""
    return [w for w in _WORD.findall(text) if len(w) >= _LEAST_LETTERS and w.lower() not in stop_words]


def exact_matches(words: Iterable[str], text: str) -> int:
    """Return the number of words that occur in a text, ignoring case, also inside other words."""
    folded = text.lower()
    return sum(word.lower() in folded for word in words)


def top_terms(text: str, limit: int = 40) -> list[str]:
    """Return the most frequent words of a text, in lower case; ties in first-seen order."""
    return [word for word, _ in Counter(word.lower() for word in kept_words(text)).most_common(limit)]


def title_overlap(first_title: str, second_title: str) -> Overlap:
    """Return the overlap of two titles, ignoring stop words and single letters."""
    first, second = ({word.lower() for word in kept_words(title)} for title in (first_title, second_title))
    shared, fewer = len(first & second), min(len(first), len(second))
    return Overlap(shared / fewer if fewer else 0.0, shared)


def age_spread(stamps: Sequence[float], now: float) -> float:
    """Return the spread of the ages of texts: 0 for equal ages, 1 if all but one are 0.

    It is the variance of the ages' shares of their sum, divided by its maximum for n texts: ``(sum of squared shares -
    1/n) / (1 - 1/n)``. Fewer than two texts have no spread.

    Args:
        stamps: times of writing, in any unit.
        now: the current time in the same unit; later stamps have the age 0.
    """
    ages = [max(0.0, now - stamp) for stamp in stamps]
    total, count = math.fsum(ages), len(ages)
    if count < 2 or total <= 0 or not math.isfinite(total):
        return 0.0
    even = 1 / count
    spread = math.fsum((age / total) ** 2 for age in ages) - even
    return min(1.0, max(0.0, spread / (1 - even)))
