"""Which words of a query may be misspelt: those that no entry holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from septet import _core

if TYPE_CHECKING:
    from septet.query.plan import Plan

__all__ = ["MOST_GUESSES", "misspelt"]

#: A word of so many letters may be one edit away, a longer one two; a shorter one than the least is not guessed at.
LEAST, ONE_EDIT = 3, 5
#: So many guesses a word.
MOST_GUESSES = 3
#: So many words of a query.
MOST_WORDS = 8


def misspelt(plan: Plan, holding: Callable[[], Mapping[str, int]]) -> dict[str, int]:
    """Return the words of a query that no entry holds, with how many edits they may be away from what is meant.

    Args:
        holding: returns how many entries hold each term of the query; called if there is a word to look at.
    """
    terms = frozenset(plan.query.terms)
    words = [word for word in dict.fromkeys(_core.words(plan.query.text)) if word in terms and _may_be_misspelt(word)]
    held = holding() if words else {}
    unknown = [word for word in words if not held.get(word, 0)][:MOST_WORDS]
    return {word: 1 if len(word) <= ONE_EDIT else 2 for word in unknown}


def _may_be_misspelt(word: str) -> bool:
    return len(word) >= LEAST and not any(letter.isdigit() for letter in word)
