"""Copies in a vault on PostgreSQL of what lower tiers found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.postgres.tables.candidates import passing_rows, valid_ids
from septet.ranking.pool import EMPTY
from septet.tiers.protocol import Overrides

if TYPE_CHECKING:
    from septet.postgres.tier.view import PostgresView


def held(view: PostgresView, tier: int, query: int, ids: Sequence[str]) -> Overrides:
    """Say which of the ids the vault holds, and bring those that pass the filters."""
    plan = view.plans[query]
    found = valid_ids(view.read, plan, ids)
    if not found:
        return Overrides(found, EMPTY)
    rows = passing_rows(view.read, plan, [entry_id for entry_id in ids if entry_id in found])
    pool = view.candidates_at(tier, query, rows)
    return Overrides(found, pool if pool.ids is not None else pool.with_ids([c.id for c in view.facts_at(rows)]))
