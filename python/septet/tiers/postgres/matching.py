"""Everything that matches a query in a vault on PostgreSQL, best first, without what scoring reads of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.query.plan import MOST
from septet.storage.postgres.pipeline import together
from septet.storage.postgres.tables import found, fulltext
from septet.tiers.postgres.candidates import by_text, memories_apart, memories_leg, text_leg

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.storage.postgres.tables.conditions import Condition
    from septet.tiers.postgres.view import PostgresView

__all__ = ["Match", "matches", "memories_matching"]


class Match(NamedTuple):
    """An entry that holds a word of a query, whether it holds every word that is needed, and its BM25."""

    row: int
    whole: bool
    score: float


def matches(view: PostgresView, plan: Plan, only: Condition | None = None) -> Sequence[Match]:
    """Return the matches of a query in their order.

    Args:
        only: those that pass this rather than the filters.
    """
    if not (plan.asks_text and view.statistics.rows):
        return []
    one = view.at_step(plan)
    leg = text_leg(one, view.statistics, view.terms, None)._replace(most=MOST)
    if only is not None:
        leg = leg._replace(condition=only)
    vault, apart = view.read.vault, view.apart.get(id(plan))
    begun = bool(one.query.steps)
    asked = [by_text(vault, one, view.statistics, view.terms, leg) if begun else fulltext.every(vault, leg)]
    if apart is not None:
        asked += memories_apart(vault, one, view.statistics, view.terms, leg, only)
    rows, *beside = together(view.read, asked)
    if begun:
        found_rows = found.all_of([row[3:] for row in rows])
        found_matches = [Match(entry.candidate.row, False, row[2]) for entry, row in zip(found_rows, rows)]
    else:
        found_matches = [Match._make(row) for row in rows]
    if apart is not None:
        also = found.all_of([row[4:] for row in beside[0]])
        found_matches += [Match(one.candidate.row, row[2], apart.scale * row[3]) for one, row in zip(also, beside[0])]
        found_matches.sort(key=lambda one: (not one.whole, -one.score, one.row))
    return found_matches


def memories_matching(view: PostgresView, plan: Plan) -> list[int]:
    """Return the rows of the memories that match a query, best first, where they have a fixed score."""
    if not (plan.asks_text and view.statistics.held_memories):
        return []
    if plan.query.steps:
        from septet.tiers.postgres.cascades import memories_of

        step = view.answered.get(id(plan))
        (kept,) = memories_of(view.read, [plan._replace(candidates=MOST)], [step], view.statistics, view.terms)
        return [one.row for one in kept.memories]
    asked = memories_leg(view.read, view.at_step(plan)._replace(candidates=MOST), view.statistics, view.terms)
    (rows,) = together(view.read, [statement for _, statement in asked])
    return [one.candidate.row for one in found.all_of([row[1:] for row in rows])]
