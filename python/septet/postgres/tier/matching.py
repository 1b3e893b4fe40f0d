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
    from septet.query.plan import Plan
    from septet.store.rows import Condition


class MatchedEntry(NamedTuple):
    """An entry that holds a word of a query, whether it holds every word that is needed, and its BM25."""

    row: int
    whole: bool
    score: float


def matches(view: PostgresView, plan: Plan, only: Condition | None = None) -> Sequence[MatchedEntry]:
    """Return the matches of a query in their order.

    Args:
        only: those that pass this rather than the filters.
    """
    if not (plan.asks_text and view.statistics.rows):
        return []
    one = view.at_step(plan)
    leg = text_leg(one, view.statistics, view.terms)._replace(most=MOST)
    if only is not None:
        leg = leg._replace(condition=only)
    vault, apart = view.read.vault, view.apart.get(id(plan))
    more = memories_apart(vault, one, view.statistics, view.terms, leg, only) if apart is not None else []
    if one.query.steps:
        rows, *beside = together(view.read, [cascade(vault, one, view.statistics, view.terms, leg), *more])
        ranked = [MatchedEntry(row, False, score) for *_, score, row in rows]
    else:
        asked = [ranking.of_terms(vault, leg), blocks.changes(vault)]
        if leg.condition is None and leg.now is not None:
            asked.append(ranking.outside(vault, leg.now))
        answers = together(view.read, [*asked, *more])
        best, beside = ranking.matched(leg, ranking.TermBlocks(*answers[: len(asked)])), answers[len(asked) :]
        if leg.condition is not None:
            (passed,) = together(view.read, [best.passing(vault, leg.condition)])
            best = best.filtered(passed)
        scored = zip(best.rows.tolist(), best.scores.tolist())
        ranked = [MatchedEntry(row, at < best.whole, score) for at, (row, score) in enumerate(scored)]
    if apart is not None:
        ranked += [MatchedEntry(row, whole, apart.scale * score) for _, _, whole, score, row in beside[0]]
        ranked.sort(key=lambda one: (not one.whole, -one.score, one.row))
    return ranked


def memories_matching(view: PostgresView, plan: Plan) -> list[int]:
    """Return the rows of the memories that match a query, best first, where they have a fixed score."""
    if not (plan.asks_text and view.statistics.held_memories):
        return []
    if plan.query.steps:
        from septet.postgres.tier.cascades import memories_of

        step = view.answered.get(id(plan))
        (kept,) = memories_of(view.read, [plan._replace(candidates=MOST)], [step], view.statistics, view.terms)
        return [*kept.rows]
    asked = memories_leg(view.read, view.at_step(plan)._replace(candidates=MOST), view.statistics, view.terms)
    (rows,) = together(view.read, [statement for _, statement in asked])
    return [row[-1] for row in rows]
