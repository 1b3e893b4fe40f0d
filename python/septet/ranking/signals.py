"""Signals: columns computed from facts already in the pool, once, after the tiers were merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.ranking.pool import Pool

if TYPE_CHECKING:
    from septet.ranking.profile import Facts

__all__ = ["SECONDS_A_DAY", "fact_columns", "graph_column"]

SECONDS_A_DAY = 86_400.0


def fact_columns(
    pool: Pool, facts: Facts, *, now: float, tags: Sequence[str] | None, domain: str | None
) -> dict[str, NDArray[np.float64]]:
    """Return the columns ``severity``, ``decay``, ``tags`` and ``domain``, each 0 to 1.

    ``tags`` and ``domain`` are unknown (NaN) for a query that asks for none.
    """
    unknown = np.full(len(pool), np.nan)
    lowest = min(facts.severity.values(), default=0.0)
    severity = np.array([facts.severity.get(name, lowest) for name in pool.facts["severity"]], dtype=np.float64)
    decay = _core.decay(
        now,
        *(pool.columns[name] for name in ("created_at", "updated_at", "valid_from", "valid_until")),
        half_life_s=facts.half_life_days * SECONDS_A_DAY,
        ramp=facts.ramp,
    )
    overlap = _core.jaccard(list(tags), pool.facts["tags"]) if tags else unknown
    match = np.array([d == domain for d in pool.facts["domain"]], dtype=np.float64) if domain else unknown
    return {"severity": severity, "decay": decay, "tags": overlap, "domain": match}


def graph_column(pool: Pool, distances: Mapping[str, int], proximity: Sequence[float]) -> NDArray[np.float64]:
    """Return proximity by link distance (``proximity[0]`` at distance 1); 0 for candidates that no anchor reaches."""
    reached = (distances.get(entry_id, 0) for entry_id in pool.ids)
    return np.array([proximity[d - 1] if 0 < d <= len(proximity) else 0.0 for d in reached], dtype=np.float64)
