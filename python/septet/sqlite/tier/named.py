"""Chunks of files that a query names: candidates whether or not their words or vectors match."""

from __future__ import annotations

import numpy as np

from septet.ranking.pool import Pool
from septet.sqlite.tables import named_files
from septet.sqlite.tier.read_view import ReadView

__all__ = ["named_by", "with_paths"]


def with_paths(view: ReadView, tier: int, query: int, pool: Pool) -> Pool:
    """Return the candidates of a query and the chunks it names, if it names any, with the column ``path``.

    It is 3 where the query is the path of the chunk's file, 2 where it is its name, 1 where it is the name without its
    ending, and unknown elsewhere.
    """
    exact = named_by(view, view.plans[query].query.text) if "text" in view.plan.legs else {}
    if not exact:
        return pool
    known = frozenset(pool.rows)
    slots = view.snapshot.slots_of([row for row in exact if row not in known])
    slots = slots[slots >= 0]
    allowed = view.selection()
    if allowed is not None:
        slots = allowed.allowed(slots)
    if len(slots):
        pool = Pool.united([pool, view.candidates_at(tier, query, slots)])
    return pool.with_columns({"path": np.array([float(exact.get(row, np.nan)) for row in pool.rows])})


def named_by(view: ReadView, text: str) -> dict[int, int]:
    """Return the rows of chunks whose file a text names, and how exactly."""
    if not view.remembered("any files", lambda: named_files.any_files(view.read)):
        return {}
    return named_files.chunks_named(view.read, text)
