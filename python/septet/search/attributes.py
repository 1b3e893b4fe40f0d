"""Numbers in the attrs of candidates as columns, for the profiles that read some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from septet.ranking.pool import Pool
from septet.search.federated import FederatedSearch

__all__ = ["with_attrs"]


def with_attrs(search: FederatedSearch, pool: Pool, paths: Mapping[str, Sequence[str]]) -> Pool:
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
