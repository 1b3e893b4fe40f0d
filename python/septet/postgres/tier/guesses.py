"""Guesses: the words of a vault on PostgreSQL that may be meant by a word that no entry holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from septet.postgres.tier.vocabulary import words_near
from septet.tiers.words import MOST_GUESSES, misspelt

if TYPE_CHECKING:
    from septet.postgres.tier.view import PostgresView
    from septet.query.plan import Plan


def guesses_of(view: PostgresView, plan: Plan) -> Mapping[str, Sequence[tuple[str, int, int]]]:
    """Return the words of a query that no entry holds, each with the words near it, the nearest first."""
    unknown = misspelt(plan, lambda: view.term_counts(plan).holding)
    return words_near(view.read, unknown, MOST_GUESSES, memories=plan.scores_memories)
