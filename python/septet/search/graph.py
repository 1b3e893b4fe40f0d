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

__all__ = ["with_graph"]


def with_graph(search: FederatedSearch, query: int, first: Ranking, weights: Mapping[str, float]) -> Ranking:
    """Walk the links from the best of a first ranking, add what they reach, and rank again."""
    plan = search.plans[query]
    at = _anchors(plan, first)
    if not at:
        return first
    known = _with_ids(search, first.pool)
    ids = _ids(known)
    anchors, seen = [ids[i] for i in at], frozenset(ids)
    distances: dict[str, int] = {}
    pulled: list[Pool] = []
    for answer in search.answers:
        near = search.or_degrade(answer.place, partial(answer.session.neighbours, query, anchors, seen), None)
        pulled.append(EMPTY if near is None else near.pool)
        for entry_id, distance in ({} if near is None else near.distances).items():
            distances[entry_id] = min(distance, distances.get(entry_id, distance))
    pool = Pool.united([known, merged(search, query, pulled)])
    proximity = plan.profile.graph.proximity
    reached = (distances.get(entry_id, 0) for entry_id in _ids(pool))
    graph = [proximity[d - 1] if 0 < d <= len(proximity) else 0.0 for d in reached]
    pool = pool.with_columns({"graph": np.array(graph, dtype=np.float64)})
    # Equal scores keep the order of the first pass; what the links added comes last.
    order = [*first.order.tolist(), *range(len(known), len(pool))]
    return rank(pool.at(order), plan.profile, weights, now=plan.now, domain=plan.domain)


def _anchors(plan: Plan, first: Ranking) -> list[int]:
    """Return the positions of the best candidates whose words match; without any words, of the best."""
    best = first.best(min(plan.profile.graph.anchors, len(first.pool)))
    if plan.asks_text and "semantic" in plan.profile.signals:
        return [at for at, _, _, _, _, raw in best if raw is not None and (raw["semantic"] or 0) > 0]
    return [placed[0] for placed in best]


def _with_ids(search: FederatedSearch, pool: Pool) -> Pool:
    """Return a pool of one tier with the ids of its candidates; a pool of several has them."""
    return pool if pool.ids is not None else pool.with_ids(search.answers[0].session.ids(pool.rows))


def _ids(pool: Pool) -> Sequence[str]:
    return pool.ids or ()
