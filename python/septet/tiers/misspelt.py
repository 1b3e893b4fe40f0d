"""Possibly misspelt words of a query: those that no entry contains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from septet import _core

if TYPE_CHECKING:
    from septet.query.plan import Plan

#: Minimum letters of a misspelt word; maximum letters up to which one edit is allowed, beyond which two.
LEAST, ONE_EDIT = 3, 5
#: Maximum guesses per word.
MOST_GUESSES = 3
#: Maximum misspelt words per query.
MOST_WORDS = 8


def misspelt(plan: Plan, holding: Callable[[], Mapping[str, int]]) -> dict[str, int]:
    """Return the unknown words of a query, with their maximum number of edits.

    Args:
        holding: returns the number of entries with each term; called only if there is a word to check.
    """
    terms = frozenset(plan.query.terms)
    words = [word for word in dict.fromkeys(_core.words(plan.query.text)) if word in terms and _may_be_misspelt(word)]
    counts = holding() if words else {}
    unknown = [word for word in words if not counts.get(word, 0)][:MOST_WORDS]
    return {word: 1 if len(word) <= ONE_EDIT else 2 for word in unknown}


def _may_be_misspelt(word: str) -> bool:
    return len(word) >= LEAST and not any(letter.isdigit() for letter in word)
