"""What every kind of tier does alike when it walks the links from candidates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from septet.ranking.pool import Pool

__all__ = ["AT_ONCE", "rows_in"]

#: So many neighbours are looked at together until enough of them pass the filters.
AT_ONCE = 512


def rows_in(known: Pool, tier: int, rows_of: Callable[[Sequence[str]], Mapping[str, int]]) -> list[int]:
    """Return the row of each candidate ``(m,)`` in a tier, of another tier that of the entry with its id; -1 without.

    Args:
        tier: its place.
        rows_of: returns by id the rows of the entries of that tier.
    """
    places, ids = known.tiers, known.ids
    if ids is None or places.count(tier) == len(places):
        return known.rows
    others = rows_of([i for i, place in zip(ids, places) if place != tier])
    return [row if place == tier else others.get(i, -1) for row, i, place in zip(known.rows, ids, places)]
