"""Link traversal shared by all kinds of tiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from septet.ranking.pool import Pool

#: Neighbours per batch, until enough pass the filters.
AT_ONCE = 512


def rows_in(known: Pool, tier: int, rows_of: Callable[[Sequence[str]], Mapping[str, int]]) -> list[int]:
    """Return the row of each candidate ``(m,)`` in a tier; candidates of other tiers are found by id, -1 if missing.

    Args:
        tier: place of the tier.
        rows_of: returns the rows of the tier's entries by id.
    """
    places, ids = known.tiers, known.ids
    if ids is None or places.count(tier) == len(places):
        return known.rows
    others = rows_of([i for i, place in zip(ids, places) if place != tier])
    return [row if place == tier else others.get(i, -1) for row, i, place in zip(known.rows, ids, places)]
