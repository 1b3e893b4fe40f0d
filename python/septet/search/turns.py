"""Rank messages again by others of their conversation: the first or latest of the best, and answers with questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from septet._core import Ranking
from septet.profiles.builtin import CLOSE
from septet.query.conversation import is_summary
from septet.query.plan import SearchPlan
from septet.query.times import asked_order
from septet.ranking.score import best_of, rank

if TYPE_CHECKING:
    from septet.query.spans import Order

#: Maximum messages that are compared by their time.
MOST_COMPARED = 10
#: Maximum seconds from a message to its answer.
MOST_WAIT_S = 3_600


def with_turns(plan: SearchPlan, first: Ranking, weights: Mapping[str, float]) -> Ranking:
    """Rank again with the column ``order`` or ``answered``, if the query asks for it and the profile reads it."""
    columns = {}
    if "order" in plan.profile.columns and (order := asked_order(plan.query.text)) is not None:
        columns["order"] = _order(first, order)
    if "answered" in plan.profile.columns and is_summary(plan.query.text):
        columns["answered"] = _answered(first)
    known = {name: column for name, column in columns.items() if column.any()}
    if not known:
        return first
    pool = first.pool.with_columns(known)
    return rank(pool, plan.profile, weights, now=plan.now, domain=plan.domain, least=plan.min_score, taken=plan.taken())


def _order(first: Ranking, order: Order) -> NDArray[np.float64]:
    """Return 1 for the oldest or newest of the best candidates, else 0; 0 for all if fewer than two are compared."""
    said_at = first.pool.columns["said_at"]
    best = best_of(first, min(MOST_COMPARED, len(first.pool)))
    close = [c.position for c in best if c.score >= CLOSE * best[0].score and not np.isnan(said_at[c.position])]
    column = np.zeros(len(first.pool))
    if len(close) > 1:
        times = said_at[close]
        column[close[int(np.argmin(times) if order == "oldest" else np.argmax(times))]] = 1
    return column


def _answered(first: Ranking) -> NDArray[np.float64]:
    """Return for each answer the score of the message that it answers, as a multiple of its own; 0 for others.

    The message is the last one before of the role that counts most.
    """
    said_at, speaker, scores = first.pool.columns["said_at"], first.pool.columns["speaker"], first.scores
    column = np.zeros(len(first.pool))
    known = ~np.isnan(speaker) & ~np.isnan(said_at)
    if not known.any():
        return column
    most = speaker[known].max()
    asking, answers = np.flatnonzero(known & (speaker == most)), np.flatnonzero(known & (speaker < most) & (scores > 0))
    asking = asking[np.argsort(said_at[asking], kind="stable")]
    before = np.searchsorted(said_at[asking], said_at[answers], side="left") - 1
    answers, messages = answers[before >= 0], asking[before[before >= 0]]
    soon = said_at[answers] - said_at[messages] <= MOST_WAIT_S
    column[answers[soon]] = scores[messages[soon]] / scores[answers[soon]]
    return column
