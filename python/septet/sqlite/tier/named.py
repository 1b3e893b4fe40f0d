"""Chunks of files named by the query: candidates even if neither words nor vectors match."""

from __future__ import annotations

import numpy as np

from septet.ranking.pool import Pool
from septet.sqlite.tables import named_files
from septet.sqlite.tier.read_view import ReadView


def with_paths(view: ReadView, tier: int, query: int, pool: Pool) -> Pool:
    """Return the candidates with the chunks of files named by the query, and the column ``path``.

    It is 3 if the query is the path of the chunk's file, 2 if its name, 1 if its stem, else unknown.
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
    """Return the rows of chunks of files named by a text, and the value of ``path``."""
    if not view.remembered("any files", lambda: named_files.any_files(view.read)):
        return {}
    return named_files.chunks_named(view.read, text)
