"""Rank messages again by others of their conversation: the first or latest of the best, answers with questions, and
messages of people with their neighbours.
"""

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
    """Rank again with the columns of `septet.search.turns` that the query asks for and the profile reads."""
    columns = {}
    if "order" in plan.profile.columns and (order := asked_order(plan.query.text)) is not None:
        columns["order"] = _order(first, order)
    if "answered" in plan.profile.columns and is_summary(plan.query.text):
        columns["answered"] = _answered(first)
    if "beside" in plan.profile.columns and "turn" in first.pool.columns:
        columns["beside"] = _beside(first)
    known = {name: column for name, column in columns.items() if np.nansum(column)}
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


def _beside(first: Ranking) -> NDArray[np.float64]:
    """Return for each message of a person the higher score of its neighbours, as a multiple of its own; NaN for others.

    Neighbours were stored one after the other, within an hour, with one domain, source and path. One that is no
    candidate counts as the last of those that are: by vectors every message has a score, and few are candidates.
    """
    pool, scores, said_at = first.pool, first.scores, first.pool.columns["said_at"]
    talks = pool.columns["turn"]
    column = np.where(np.isnan(talks), np.nan, 0.0)
    turns = np.flatnonzero((column == 0) & (scores > 0))
    tiers, rows = np.array(pool.tiers, dtype=np.int64)[turns], np.array(pool.rows, dtype=np.int64)[turns]
    turns = turns[np.lexsort((rows, tiers))]
    tiers, rows = np.array(pool.tiers, dtype=np.int64)[turns], np.array(pool.rows, dtype=np.int64)[turns]
    before, after = turns[:-1], turns[1:]
    follow = (tiers[1:] == tiers[:-1]) & (rows[1:] == rows[:-1] + 1)
    follow &= (talks[after] == talks[before]) & (np.abs(said_at[after] - said_at[before]) <= MOST_WAIT_S)
    before, after = before[follow], after[follow]
    best = np.full(len(scores), scores[turns].min(initial=np.inf))
    best[after] = np.maximum(best[after], scores[before])
    best[before] = np.maximum(best[before], scores[after])
    column[turns] = best[turns] / scores[turns]
    return column
