"""Matching memories that a search of a local store excludes."""

from __future__ import annotations

import numpy as np

from septet import _core
from septet.notes import Note
from septet.query.plan import Plan
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.notes import MOST_MEMORIES, memories_left_out

#: FTS5's memory table includes grams, but no context (id, title, description, context, tags).
_COLUMNS, _GRAMS = np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.ones(1)


def left_out(view: ReadView, plan: Plan, tier: str) -> Note | None:
    """Return the note on excluded memories; None if none matches."""
    if not plan.asks_text or "kinds" in plan.filters or not (count := _matching(view, plan)):
        return None
    return memories_left_out(count, tier)


def _matching(view: ReadView, plan: Plan) -> int:
    snapshot = view.snapshot
    rows, postings = snapshot.memory_rows, snapshot.postings
    all_valid = plan.include_expired or not len(snapshot.bounded)
    if rows is None or postings is None or plan.filters or not all_valid or view.needs_fts5(plan) or plan.query.steps:
        from septet.sqlite.tables import fulltext

        return fulltext.count_memories(view.read, view.at_step(plan), MOST_MEMORIES)
    parts = [(postings.entries, rows[0], _COLUMNS), (postings.grams, rows[1], _GRAMS)]
    scores = _core.bm25_top_k(parts, plan.query.terms, MOST_MEMORIES)[1]
    # Memories that match only in their context score 0.
    return int(np.count_nonzero(scores))
