"""Merge the candidates of several tiers into one pool."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from septet.ranking.bm25_scale import factors
from septet.ranking.pool import Pool
from septet.search.federated import FederatedSearch

__all__ = ["merged"]


def merged(search: FederatedSearch, query: int, pools: Sequence[Pool]) -> Pool:
    """Merge the pools of the answering tiers: scores on one scale, and one candidate per id, the highest tier's.

    A higher tier's copy replaces a lower one's even if no leg matched it; if it fails the filters, both are dropped.
    """
    if len(pools) < 2:
        return pools[0]
    scales = _scales(search, query)
    scaled = [_scaled(scales, i, pool) for i, pool in enumerate(pools)]
    for i, answer in enumerate(search.answers[:-1]):
        ids = set(scaled[i].ids or ())
        lower = [c for pool in scaled[i + 1 :] for c in pool.ids or () if c not in ids]
        if not lower:
            continue
        over = search.or_degrade(answer.place, partial(answer.session.overrides, query, lower), None)
        if over is not None and over.ids:
            scaled[i] = Pool.united([scaled[i], _scaled(scales, i, over.pool)])
            scaled[i + 1 :] = [_without(pool, over.ids) for pool in scaled[i + 1 :]]
    return Pool.united(scaled)


def _without(pool: Pool, ids: frozenset[str]) -> Pool:
    return pool.at([n for n, c in enumerate(pool.ids or ()) if c not in ids])


def _scales(search: FederatedSearch, query: int) -> Sequence[float] | None:
    """Return the factor of each answering tier that puts its BM25 on the common scale; None without one."""
    counts = [answer.recalled[query].counts for answer in search.answers]
    reported = [c for c in counts if c is not None]
    if len(reported) < len(counts):
        return None
    query_terms = search.plans[query].query.terms
    if search.plans[query].query.begun:
        # Each tier has its own words with the prefix.
        query_terms = tuple(dict.fromkeys([*query_terms, *(term for tier in reported for term in tier.holding)]))
    return factors(reported, query_terms)


def _scaled(scales: Sequence[float] | None, tier: int, pool: Pool) -> Pool:
    columns = {} if scales is None else pool.columns
    if scales is None or "bm25" not in columns:
        return pool
    return pool.with_columns({"bm25": columns["bm25"] * scales[tier], "bm25_given": columns["bm25"]})
