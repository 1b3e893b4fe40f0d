"""Guesses: indexed words similar to unknown words of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet.query.plan import Plan
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.misspelt import MOST_GUESSES, misspelt


def guesses_of(view: ReadView, plan: Plan) -> Mapping[str, Sequence[tuple[str, int, int]]]:
    """Return the unknown words of a query with similar indexed words, nearest first."""
    unknown = misspelt(plan, lambda: view.term_counts(plan).holding)
    return {word: view.corpus.words_near(word, edits, MOST_GUESSES) or () for word, edits in unknown.items()}
