"""The candidates of several tiers as one pool."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from septet.ranking.bm25_scale import factors
from septet.ranking.pool import Pool
from septet.search.federated import FederatedSearch

__all__ = ["merged"]


def merged(search: FederatedSearch, query: int, pools: Sequence[Pool]) -> Pool:
    """Join the pools of the tiers that answered: scores on one scale, and of equal ids the highest tier's copy.

    A higher tier's copy stands in for a lower one's also when no leg found it; if it does not pass the filters,
    neither comes back.
    """
    if len(pools) < 2:
        return pools[0]
    scales = _scales(search, query)
    kept = [_scaled(scales, i, pool) for i, pool in enumerate(pools)]
    for i, answer in enumerate(search.answers[:-1]):
        own = set(kept[i].ids or ())
        lower = [c for pool in kept[i + 1 :] for c in pool.ids or () if c not in own]
        if not lower:
            continue
        over = search.or_degrade(answer.place, partial(answer.session.overrides, query, lower), None)
        if over is not None and over.ids:
            kept[i] = Pool.united([kept[i], _scaled(scales, i, over.pool)])
            kept[i + 1 :] = [_without(pool, over.ids) for pool in kept[i + 1 :]]
    return Pool.united(kept)


def _without(pool: Pool, ids: frozenset[str]) -> Pool:
    return pool.at([n for n, c in enumerate(pool.ids or ()) if c not in ids])


def _scales(search: FederatedSearch, query: int) -> Sequence[float] | None:
    """Return what brings each answering tier's BM25 to the scale that all share; None when they have none."""
    counts = [answer.recalled[query].counts for answer in search.answers]
    known = [c for c in counts if c is not None]
    if len(known) < len(counts):
        return None
    query_terms = search.plans[query].query.terms
    if search.plans[query].query.begun:
        # Each tier has its own words that begin so.
        query_terms = tuple(dict.fromkeys([*query_terms, *(term for counted in known for term in counted.holding)]))
    return factors(known, query_terms)


def _scaled(scales: Sequence[float] | None, tier: int, pool: Pool) -> Pool:
    columns = {} if scales is None else pool.columns
    if scales is None or "bm25" not in columns:
        return pool
    return pool.with_columns({"bm25": columns["bm25"] * scales[tier], "bm25_given": columns["bm25"]})
