"""Neighbours of entries of a local store over links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from septet.model.arrays import Slots
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.walking import AT_ONCE


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
