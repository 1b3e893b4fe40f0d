"""Links: what the best candidates are linked to becomes a candidate too, and nearness a signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from septet._core import Ranking
from septet.query.plan import Plan
from septet.ranking.pool import EMPTY, Pool
from septet.ranking.score import rank
from septet.search.federated import FederatedSearch
from septet.search.merge import merged
from septet.tiers.protocol import Neighbours

__all__ = ["with_graph"]


def with_graph(search: FederatedSearch, query: int, first: Ranking, weights: Mapping[str, float]) -> Ranking:
    """Walk the links from the best of a first ranking, add what they reach, and rank again."""
    plan = search.plans[query]
    at = _anchors(plan, first)
    if not at:
        return first
    known = first.pool
    near = [
        search.or_degrade(answer.place, partial(answer.session.neighbours, query, at, known), None)
        for answer in search.answers
    ]
    found = [one for one in near if one is not None]
    steps = [min((s for s in own if s), default=0) for own in zip(*(one.known for one in found))] or [0] * len(known)
    pulled = merged(search, query, [EMPTY if one is None else one.pool for one in near])
    pool = Pool.united([known, pulled])
    if len(near) == 1:
        steps += [step for one in found for step in one.steps]
    elif len(pulled):
        steps += _steps_by_id(found, pool.ids or ())[len(known) :]
    proximity = np.array((0.0, *plan.profile.graph.proximity))
    pool = pool.with_columns({"graph": proximity[steps]})
    # Equal scores keep the order of the first pass; what the links added comes last.
    order = [*first.order.tolist(), *range(len(known), len(pool))]
    pool = pool.at(order)
    if plan.profile.asks_store:
        from septet.search.attributes import completed

        pool = completed(search, pool, plan.profile)
    return rank(pool, plan.profile, weights, now=plan.now, domain=plan.domain, least=plan.min_score, taken=plan.taken())


def _anchors(plan: Plan, first: Ranking) -> list[int]:
    """Return the positions of the best candidates whose words match; without any words, of the best."""
    best = first.best(min(plan.profile.graph.anchors, len(first.pool)))
    if plan.asks_text and "semantic" in plan.profile.signals:
        return [at for at, _, _, _, _, found, *_ in best if found is not None and (found["semantic"] or 0) > 0]
    return [placed[0] for placed in best]


def _steps_by_id(found: Sequence[Neighbours], ids: Sequence[str]) -> list[int]:
    """Return the fewest steps to each of the ids over all tiers, 0 for one that none has brought."""
    steps: dict[str, int] = {}
    for one in found:
        for entry_id, step in zip(one.pool.ids or (), one.steps):
            steps[entry_id] = min(step, steps.get(entry_id, step))
    return [steps.get(entry_id, 0) for entry_id in ids]
