"""Neighbours over links: the server returns the links on the way, and the walk is that of a local vault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.postgres.tables.candidates import passing_among
from septet.postgres.tables.walks import edges
from septet.tiers.protocol import AT_ONCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.postgres.tier.view import PostgresView


def near(view: PostgresView, anchors: Sequence[int], known: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Walk the links from the rows of the anchors.

    Returns:
        The steps to each known row ``(m,)``, 0 for one that is not near; the rows ``(f,)`` of others that pass the
        filters, nearest first, as many as the profile takes; and the steps to them.
    """
    graph = view.plan.profile.graph
    depth, most = len(graph.proximity), graph.most_links
    # Candidates walk too where a walk from an anchor may miss them.
    starts = [row for row in (anchors if most is None else (*anchors, *known)) if row >= 0]
    found = np.array(edges(view.read, starts, depth, most), dtype=np.int64).reshape(-1, 3)
    source, target, age = (np.ascontiguousarray(found[:, at]) for at in range(3))
    links = _core.Links(source, target, age)
    steps, rows, more = links.near(_array(anchors), _array(known), depth, most)
    taken: list[int] = []
    distances: list[int] = []
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE].tolist()
        passing = passing_among(view.read, view.plan, some)
        for row, distance in zip(some, more[start : start + AT_ONCE].tolist()):
            if row in passing and len(taken) < graph.most_pulled:
                taken.append(row)
                distances.append(distance)
        if len(taken) >= graph.most_pulled:
            break
    return steps.tolist(), taken, distances


def _array(rows: Sequence[int]) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64)
