"""Candidate data that only the store holds, for profiles that need it: numbers in attrs, and source positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from septet.ranking.pool import Pool
from septet.ranking.profile import Profile
from septet.search.federated import FederatedSearch

__all__ = ["completed"]


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
