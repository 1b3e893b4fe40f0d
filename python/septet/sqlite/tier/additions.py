"""Additions to candidates: named files, neighbours over links, similar words, and a note on excluded memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from septet import _core
from septet.model.arrays import Slots
from septet.notes import Note
from septet.query.plan import SearchPlan
from septet.ranking.pool import Pool
from septet.sqlite.tables import mentions
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.protocol import AT_ONCE
from septet.tiers.view import MOST_MEMORIES, memories_left_out
from septet.tiers.words import MOST_GUESSES, misspelt


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
    if not view.remembered("any files", lambda: mentions.any_files(view.read)):
        return {}
    return mentions.chunks_named(view.read, text)


def near(view: ReadView, anchors: Sequence[int], known: Sequence[int]) -> tuple[list[int], Slots, list[int]]:
    """Follow links from the rows of the anchors.

    Returns:
        Steps to each known row ``(m,)``, 0 if unreached; slots ``(f,)`` of other rows that pass the filters, nearest
        first, at most as many as the profile allows; and the steps to these.
    """
    graph, selection = view.plan.profile.graph, view.selection()
    links = view.links()
    steps, rows, more = links.near(_array(anchors), _array(known), len(graph.proximity), graph.most_links)
    near_slots, distances, remaining = [], [], graph.most_pulled
    for start in range(0, len(rows), AT_ONCE):
        slots, slot_steps = view.snapshot.slots_of(rows[start : start + AT_ONCE]), more[start : start + AT_ONCE]
        passing = slots >= 0 if selection is None else np.isin(slots, selection.allowed(slots))
        near_slots.append(slots[passing][:remaining])
        distances += slot_steps[passing][:remaining].tolist()
        remaining -= len(near_slots[-1])
        if not remaining:
            break
    return steps.tolist(), np.concatenate([*near_slots, _array(())]), distances


def _array(rows: Sequence[int]) -> Slots:
    return np.array(rows, dtype=np.int64)


def guesses_of(view: ReadView, plan: SearchPlan) -> Mapping[str, Sequence[tuple[str, int, int]]]:
    """Return the unknown words of a query with similar indexed words, nearest first."""
    unknown = misspelt(plan, lambda: view.term_counts(plan).holding)
    return {word: view.corpus.words_near(word, edits, MOST_GUESSES) or () for word, edits in unknown.items()}


#: FTS5's memory table includes grams, but no context (id, title, description, context, tags).
_COLUMNS, _GRAMS = np.array([1.0, 1.0, 1.0, 0.0, 1.0]), np.ones(1)


def left_out(view: ReadView, plan: SearchPlan, tier: str) -> Note | None:
    """Return the note on excluded memories; None if none matches."""
    if not plan.asks_text or "kinds" in plan.filters or not (count := _matching(view, plan)):
        return None
    return memories_left_out(count, tier)


def _matching(view: ReadView, plan: SearchPlan) -> int:
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
