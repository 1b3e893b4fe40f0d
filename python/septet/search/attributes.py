"""What the store alone knows of candidates, for the profiles that read it: numbers in attrs, and where texts stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from septet.ranking.pool import Pool
from septet.ranking.profile import Profile
from septet.search.federated import FederatedSearch

__all__ = ["completed"]


def completed(search: FederatedSearch, pool: Pool, profile: Profile) -> Pool:
    """Return the candidates as a profile that `asks_store` needs them: numbers of attrs, and equal ones in order."""
    if profile.cuts.ties == "path":
        pool = _by_path(search, pool)
    return _with_attrs(search, pool, profile.attrs_columns) if profile.attrs_columns else pool


def _with_attrs(search: FederatedSearch, pool: Pool, paths: Mapping[str, Sequence[str]]) -> Pool:
    """Return the candidates with a column for each path into attrs, by one query a tier; NaN where it is unknown."""
    tiers, rows = np.array(pool.tiers, dtype=np.int64), np.array(pool.rows, dtype=np.int64)
    values = np.full((len(paths), len(rows)), np.nan)
    for answer in search.answers:
        at = np.flatnonzero(tiers == answer.place)
        if len(at):
            ask = partial(answer.session.numbers, rows[at].tolist(), list(paths.values()))
            found = search.or_degrade(answer.place, ask, None)
            if found is not None:
                values[:, at] = found
    return pool.with_columns(dict(zip(paths, values)))


def _by_path(search: FederatedSearch, pool: Pool) -> Pool:
    """Return the candidates tier by tier in the order of paths, lines and ids: ranking leaves equal scores so."""
    tiers, rows = np.array(pool.tiers, dtype=np.int64), np.array(pool.rows, dtype=np.int64)
    order: list[int] = []
    for answer in search.answers:
        at = np.flatnonzero(tiers == answer.place).tolist()
        ask = partial(answer.session.places, rows[at].tolist())
        places = search.or_degrade(answer.place, ask, None) if at else None
        order += at if places is None else [own for _, own in sorted(zip(places, at))]
    return pool.at(order)
