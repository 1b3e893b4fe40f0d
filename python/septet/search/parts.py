"""How a batch of queries is cut into parts that are searched together."""

from __future__ import annotations

from collections.abc import Sequence

from septet.query.plan import Plan

__all__ = ["parts_of"]

#: Queries that are searched in one native call and one read transaction. Fewer than the least cost more each.
MOST_AT_ONCE, LEAST_AT_ONCE = 64, 16
#: Few queries make so many parts a thread all the same.
PARTS_A_THREAD = 3
#: Of the queries that are left the next part takes so many, divided by the number of threads.
SHARE = 3 / 5


def parts_of(plans: Sequence[Plan], workers: int) -> list[list[int]]:
    """Cut queries into parts that are searched together: each has vectors of one dimension, or none."""
    alike: dict[object, list[int]] = {}
    for i, plan in enumerate(plans):
        alike.setdefault((None if plan.vector is None else plan.vector.scan.size, bool(plan.embeddings)), []).append(i)
    parts = []
    for same in alike.values():
        # Hits of one part are made while candidates of another are recalled; the last ones are small, since hits of
        # them are made while other threads have nothing left to do.
        least = min(LEAST_AT_ONCE, -(-len(same) // (PARTS_A_THREAD * workers)))
        start = 0
        while left := len(same) - start:
            wanted = left if workers == 1 else max(least, round(left * SHARE / workers))
            size = min(MOST_AT_ONCE, wanted, left)
            parts.append(same[start : start + size])
            start += size
    return parts
