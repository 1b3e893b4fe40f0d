"""All matches of a query in a vault on PostgreSQL, best first, without the values that scoring reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.pipeline import together
from septet.postgres.tables import blocks, ranking
from septet.postgres.tier.candidates import cascade, memories_apart, memories_leg, text_leg
from septet.query.plan import MOST

if TYPE_CHECKING:
    from septet.postgres.tier.view import PostgresView
    from septet.query.plan import SearchPlan
    from septet.store.rows import Condition


class MatchedEntry(NamedTuple):
    """An entry that holds a word of a query, whether it holds every word that is needed, and its BM25."""

    row: int
    whole: bool
    score: float


def matches(view: PostgresView, plan: SearchPlan, only: Condition | None = None) -> Sequence[MatchedEntry]:
    """Return the matches of a query in their order.

    Args:
        only: those that pass this rather than the filters.
    """
    if not (plan.asks_text and view.statistics.rows):
        return []
    planned = view.at_step(plan)
    leg = text_leg(planned, view.statistics, view.terms)._replace(most=MOST)
    if only is not None:
        leg = leg._replace(condition=only)
    vault, apart = view.read.vault, view.apart.get(id(plan))
    more = memories_apart(vault, planned, view.statistics, view.terms, leg, only) if apart is not None else []
    if planned.query.steps:
        rows, *beside = together(view.read, [cascade(vault, planned, view.statistics, view.terms, leg), *more])
        ranked = [MatchedEntry(row, False, score) for *_, score, row in rows]
    else:
        statements = [ranking.of_terms(vault, leg), blocks.changes(vault)]
        if leg.condition is None and leg.now is not None:
            statements.append(ranking.outside(vault, leg.now))
        answers = together(view.read, [*statements, *more])
        best, beside = ranking.matched(leg, ranking.TermBlocks(*answers[: len(statements)])), answers[len(statements) :]
        if leg.condition is not None:
            (passed,) = together(view.read, [best.passing(vault, leg.condition)])
            best = best.filtered(passed)
        scored = zip(best.rows.tolist(), best.scores.tolist())
        ranked = [MatchedEntry(row, at < best.whole, score) for at, (row, score) in enumerate(scored)]
    if apart is not None:
        ranked += [MatchedEntry(row, whole, apart.scale * score) for _, _, whole, score, row in beside[0]]
        ranked.sort(key=lambda match: (not match.whole, -match.score, match.row))
    return ranked


def memories_matching(view: PostgresView, plan: SearchPlan) -> list[int]:
    """Return the rows of the memories that match a query, best first, where they have a fixed score."""
    if not (plan.asks_text and view.statistics.held_memories):
        return []
    if plan.query.steps:
        from septet.postgres.tier.cascades import memories_of

        step = view.answered.get(id(plan))
        (kept,) = memories_of(view.read, [plan._replace(candidates=MOST)], [step], view.statistics, view.terms)
        return [*kept.rows]
    statements = memories_leg(view.read, view.at_step(plan)._replace(candidates=MOST), view.statistics, view.terms)
    (rows,) = together(view.read, [statement for _, statement in statements])
    return [row[-1] for row in rows]
