"""The test that an entry has every needed word of a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.tier.phrases import columns_of, times
from septet.query.plan import MEMORY

if TYPE_CHECKING:
    from septet.postgres.tables.found import CandidateRow
    from septet.postgres.tier.statistics import QueryTerms
    from septet.query.plan import Plan


def holds_all(plan: Plan, one: CandidateRow, terms: QueryTerms) -> bool:
    """Say whether an entry holds every word that a plan needs."""
    parts = (TEXTS, GRAMS) if plan.query.grams else (TEXTS,)
    columns = [column for part in parts for column in columns_of(part, one.candidate, one.grams)]
    if plan.query.has_phrase and one.candidate.kind == MEMORY:
        # FTS5 has no context of memories.
        columns[3] = []

    def holds(term: str) -> bool:
        """Return True if any column has the term."""
        return any(times(column, terms.tokens[term]) for column in columns)

    def held(forms: Sequence[str], pieces: Sequence[str]) -> bool:
        """Return True if the entry has a form of a word, or all of its pieces."""
        own = [piece for piece in pieces if terms.tokens[piece]]
        return any(terms.tokens[form] and holds(form) for form in forms) or (bool(own) and all(map(holds, own)))

    return all(held(*word) for word in plan.query.needed)
