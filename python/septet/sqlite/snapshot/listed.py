"""Measure the recall of searches by lists of vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from septet.model.vector import Space
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import vectors

#: Number of nearest vectors that are compared.
NEAREST = 10


class ListedRecall(NamedTuple):
    """Searches by lists of one space, compared with exact ones.

    Attributes:
        space: the space; `Space.entries` is its number of vectors.
        lists: number of lists; 0 without any, and then nothing is measured.
        queries: number of its own vectors that were searched for.
        nearest: number of nearest vectors of all queries, each without itself.
        hits: number of these that were found.
        certain: number of queries whose results are the nearest vectors for certain.
    """

    space: Space
    lists: int
    queries: int = 0
    nearest: int = 0
    hits: int = 0
    certain: int = 0


def measured_recalls(store: SqliteStore, manager: SnapshotManager, queries: int, recall: float) -> list[ListedRecall]:
    """Search each space for some of its own vectors, by lists and exactly.

    Args:
        queries: number of vectors to draw from each space.
        recall: share of the nearest vectors to search for, above 0 and at most 1.

    Raises:
        StoreError: the vault cannot be read.
    """
    with store.reading() as read:
        spaces = vectors.spaces(read)
    return [_measured(_loaded(store, manager, space), space, queries, recall) for space in spaces]


def _loaded(store: SqliteStore, manager: SnapshotManager, space: Space) -> Snapshot:
    """Return a snapshot with the vectors of a space."""
    snapshot = None
    while snapshot is None:
        seen = manager.current
        with store.reading() as read:
            snapshot = manager.view(read, 0.0, space=space, seen=seen)
    return snapshot


def _measured(snapshot: Snapshot, space: Space, queries: int, recall: float) -> ListedRecall:
    rows, slots, codes, *_, keys = of = snapshot.vectors[space.space]
    alive = snapshot.alive[slots]
    space = space._replace(entries=int(np.count_nonzero(alive)))
    if not codes.lists:
        return ListedRecall(space, 0)
    # Keys are hashes: vectors in their order are drawn at random.
    drawn = np.flatnonzero(alive)
    drawn = drawn[np.argsort(keys[drawn], kind="stable")][:queries]
    nearest = hits = certain = 0
    for own, query in zip(drawn.tolist(), of.unit_rows(slots[drawn]).astype(np.float32)):
        best, scores = codes.top_k(query, rows, NEAREST + 1, alive)
        scores = scores[best != own][:NEAREST]
        near, near_scores, is_certain = codes.probe(query, rows, NEAREST + 1, recall, alive)
        reached = near_scores[near != own] >= scores.min(initial=np.inf)
        nearest += len(scores)
        hits += min(int(np.count_nonzero(reached)), len(scores))
        certain += is_certain
    snapshot.check()
    return ListedRecall(space, codes.lists, len(drawn), nearest, hits, certain)
