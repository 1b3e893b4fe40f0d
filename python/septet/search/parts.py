"""Split a batch of queries into parts that are searched together."""

from __future__ import annotations

from collections.abc import Sequence

from septet.query.plan import Plan

#: Queries per native call and read transaction; below the minimum each costs more.
MOST_AT_ONCE, LEAST_AT_ONCE = 64, 16
#: Minimum parts per thread, for small batches.
PARTS_A_THREAD = 3
#: Share of the remaining queries in the next part, divided by the number of threads.
SHARE = 3 / 5


def parts_of(plans: Sequence[Plan], workers: int) -> list[list[int]]:
    """Split queries into parts; all vectors of a part have one dimension, or all are missing."""
    by_kind: dict[object, list[int]] = {}
    for i, plan in enumerate(plans):
        by_kind.setdefault((None if plan.vector is None else plan.vector.scan.size, bool(plan.embeddings)), []).append(
            i
        )
    parts = []
    for indexes in by_kind.values():
        # Hits of one part are built while candidates of another are recalled. The last parts are small, because
        # other threads are idle while their hits are built.
        minimum = min(LEAST_AT_ONCE, -(-len(indexes) // (PARTS_A_THREAD * workers)))
        start = 0
        while remaining := len(indexes) - start:
            share = remaining if workers == 1 else max(minimum, round(remaining * SHARE / workers))
            size = min(MOST_AT_ONCE, share, remaining)
            parts.append(indexes[start : start + size])
            start += size
    return parts
