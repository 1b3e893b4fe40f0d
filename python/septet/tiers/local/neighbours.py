"""What is near some entries of a local store over links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from septet.ranking.pool import Pool
from septet.snapshot.arrays import Slots
from septet.storage.tables.candidates import rows_of
from septet.tiers.local.read_view import ReadView

__all__ = ["near", "rows_in"]

#: So many neighbours are looked at together until enough of them pass the filters.
AT_ONCE = 512


def rows_in(view: ReadView, known: Pool, tier: int) -> list[int]:
    """Return the row of each candidate ``(m,)``, of another tier that of the entry with its id; -1 without one."""
    places, ids = known.tiers, known.ids
    if ids is None or places.count(tier) == len(places):
        return known.rows
    others = rows_of(view.read, [i for i, place in zip(ids, places) if place != tier])
    return [row if place == tier else others.get(i, -1) for row, i, place in zip(known.rows, ids, places)]


def near(view: ReadView, anchors: Sequence[int], known: Sequence[int]) -> tuple[list[int], Slots, list[int]]:
    """Walk the links from the rows of the anchors.

    Returns:
        The steps to each known row ``(m,)``, 0 for one that is not near; the slots ``(f,)`` of others that pass the
        filters, nearest first, as many as the profile takes; and the steps to them.
    """
    graph, selection = view.plan.profile.graph, view.selection()
    links = view.links()
    steps, rows, more = links.near(_array(anchors), _array(known), len(graph.proximity), graph.most_links)
    found, distances, left = [], [], graph.most_pulled
    for start in range(0, len(rows), AT_ONCE):
        slots, own = view.snapshot.slots_of(rows[start : start + AT_ONCE]), more[start : start + AT_ONCE]
        passing = slots >= 0 if selection is None else np.isin(slots, selection.allowed(slots))
        found.append(slots[passing][:left])
        distances += own[passing][:left].tolist()
        left -= len(found[-1])
        if not left:
            break
    return steps.tolist(), np.concatenate([*found, _array(())]), distances


def _array(rows: Sequence[int]) -> Slots:
    return np.array(rows, dtype=np.int64)
