"""Guesses: the words of a store that may be meant by a word that no entry holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet import _core
from septet.query.plan import Plan
from septet.tiers.local.read_view import ReadView

__all__ = ["guesses_of"]

#: A word of so many letters may be one edit away, a longer one two; a shorter one than the least is not guessed at.
LEAST, ONE_EDIT = 3, 5
#: So many guesses a word, and so many words.
MOST_GUESSES, MOST_WORDS = 3, 8


def guesses_of(view: ReadView, plan: Plan) -> Mapping[str, Sequence[tuple[str, int, int]]]:
    """Return the words of a query that no entry holds, each with the words near it, the nearest first."""
    terms, found = frozenset(plan.query.terms), {}
    words = [word for word in dict.fromkeys(_core.words(plan.query.text)) if word in terms and _may_be_misspelt(word)]
    holding = view.term_counts(plan).holding if words else {}
    for word in [word for word in words if not holding.get(word, 0)][:MOST_WORDS]:
        edits = 1 if len(word) <= ONE_EDIT else 2
        found[word] = view.corpus.words_near(word, edits, MOST_GUESSES) or ()
    return found


def _may_be_misspelt(word: str) -> bool:
    return len(word) >= LEAST and not any(letter.isdigit() for letter in word)
