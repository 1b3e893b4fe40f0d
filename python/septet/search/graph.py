"""Links: entries linked to the best candidates become candidates, and link distance becomes a signal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from septet._core import Ranking
from septet.query.plan import Plan
from septet.ranking.pool import EMPTY, Pool
from septet.ranking.score import rank
from septet.search.federated import FederatedSearch
from septet.search.merge import completed, merged
from septet.tiers.protocol import Neighbours


def with_graph(search: FederatedSearch, query: int, first: Ranking, weights: Mapping[str, float]) -> Ranking:
    """Follow links from the best candidates of a first ranking, add the linked entries, and rank again."""
    plan = search.plans[query]
    at = _anchors(plan, first)
    if not at:
        return first
    known = first.pool
    near = [
        search.or_degrade(answer.place, partial(answer.session.neighbours, query, at, known), None)
        for answer in search.answers
    ]
    reached = [neighbours for neighbours in near if neighbours is not None]
    steps = [min((s for s in by_tier if s), default=0) for by_tier in zip(*(n.known for n in reached))] or [0] * len(
        known
    )
    pulled = merged(search, query, [EMPTY if neighbours is None else neighbours.pool for neighbours in near])
    pool = Pool.united([known, pulled])
    if len(near) == 1:
        steps += [step for neighbours in reached for step in neighbours.steps]
    elif len(pulled):
        steps += _steps_by_id(reached, pool.ids or ())[len(known) :]
    proximity = np.array((0.0, *plan.profile.graph.proximity))
    pool = pool.with_columns({"graph": proximity[steps]})
    # Ties keep the order of the first pass, with linked entries last.
    order = [*first.order.tolist(), *range(len(known), len(pool))]
    pool = pool.at(order)
    if plan.profile.asks_store:
        pool = completed(search, pool, plan.profile)
    return rank(pool, plan.profile, weights, now=plan.now, domain=plan.domain, least=plan.min_score, taken=plan.taken())


def _anchors(plan: Plan, first: Ranking) -> list[int]:
    """Return the positions of the best candidates whose words match, or of the best if no words were searched."""
    best = first.best(min(plan.profile.graph.anchors, len(first.pool)))
    if plan.asks_text and "semantic" in plan.profile.signals:
        return [at for at, _, _, _, _, signals, *_ in best if signals is not None and (signals["semantic"] or 0) > 0]
    return [placed[0] for placed in best]


def _steps_by_id(neighbours: Sequence[Neighbours], ids: Sequence[str]) -> list[int]:
    """Return the minimum number of steps to each id over all tiers, 0 if no tier reached it."""
    steps: dict[str, int] = {}
    for reached in neighbours:
        for entry_id, step in zip(reached.pool.ids or (), reached.steps):
            steps[entry_id] = min(step, steps.get(entry_id, step))
    return [steps.get(entry_id, 0) for entry_id in ids]
