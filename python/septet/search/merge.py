"""Merge the candidates of several tiers into one pool, and complete it with data that only the store holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from septet.ranking.bm25_scale import factors
from septet.ranking.pool import Pool
from septet.ranking.profile import Profile
from septet.search.federated import FederatedSearch


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


def completed(search: FederatedSearch, pool: Pool, profile: Profile) -> Pool:
    """Return the candidates with the attrs columns and the tie order of a profile that `asks_store`."""
    if profile.cuts.ties == "path":
        pool = _by_path(search, pool)
    return _with_attrs(search, pool, profile.attrs_columns) if profile.attrs_columns else pool


def _with_attrs(search: FederatedSearch, pool: Pool, paths: Mapping[str, Sequence[str]]) -> Pool:
    """Return the candidates with a column for each path into attrs, read by one query per tier; NaN where unknown."""
    tiers, rows = np.array(pool.tiers, dtype=np.int64), np.array(pool.rows, dtype=np.int64)
    values = np.full((len(paths), len(rows)), np.nan)
    for answer in search.answers:
        positions = np.flatnonzero(tiers == answer.place)
        if len(positions):
            ask = partial(answer.session.numbers, rows[positions].tolist(), list(paths.values()))
            columns = search.or_degrade(answer.place, ask, None)
            if columns is not None:
                values[:, positions] = columns
    return pool.with_columns(dict(zip(paths, values)))


def _by_path(search: FederatedSearch, pool: Pool) -> Pool:
    """Sort the candidates of each tier by path, line and id: ranking is stable, so ties keep this order."""
    tiers, rows = np.array(pool.tiers, dtype=np.int64), np.array(pool.rows, dtype=np.int64)
    order: list[int] = []
    for answer in search.answers:
        positions = np.flatnonzero(tiers == answer.place).tolist()
        ask = partial(answer.session.places, rows[positions].tolist())
        places = search.or_degrade(answer.place, ask, None) if positions else None
        order += positions if places is None else [position for _, position in sorted(zip(places, positions))]
    return pool.at(order)
