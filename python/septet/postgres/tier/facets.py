"""Facets of a search on PostgreSQL: the values of fields over everything that matches it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.listing.counting import Counted
from septet.postgres.tables.conditions import among, conditions, conjunction
from septet.postgres.tables.listed import ListingSelection, values
from septet.postgres.tier.matching import matches, memories_matching
from septet.query.facets import Faceted
from septet.store.rows import Condition

if TYPE_CHECKING:
    from septet.postgres.tier.view import PostgresView


def counted_matches(view: PostgresView, query: int, asked: Sequence[Faceted]) -> list[Counted]:
    """Return by values of fields how many entries match a query and pass the filters."""
    listed = ListingSelection({}, None, also=_matching(view, query))
    found = [values(view.read, what.field, what.by, listed, None) for what in asked]
    return [Counted(field.counts, field.total, field.missing, field.distinct) for field in found]


def _matching(view: PostgresView, query: int) -> Condition:
    """Return the condition on what matches; where vectors alone are compared, on all that pass the filters."""
    plan = view.plans[query]
    if not plan.asks_text:
        compared = plan.asks_vectors and view.space is not None
        return conjunction(conditions(plan)) if compared else Condition("FALSE")
    rows = [one.row for one in matches(view, plan)]
    if plan.include_memories and not plan.scores_memories:
        rows += memories_matching(view, plan)
    return among(rows)
