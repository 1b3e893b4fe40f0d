"""What is near some entries of a local store over links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from septet.sqlite.snapshot.arrays import Slots
from septet.sqlite.tier.read_view import ReadView
from septet.tiers.walking import AT_ONCE

__all__ = ["near"]


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
