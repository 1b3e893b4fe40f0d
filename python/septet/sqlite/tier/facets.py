"""Facets of a search: counts of field values over all matches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from septet.listing import Listings
from septet.listing.counting import Counted, counted_in
from septet.query.facets import Faceted
from septet.sqlite.tier.read_view import ReadView


def counted_matches(view: ReadView, query: int, listings: Listings, fields: Sequence[Faceted]) -> list[Counted]:
    """Count the matches of a query that pass the filters, by values of fields."""
    listing = listings.at(view.read)
    mask = listing.listing.mask_of(_rows(view, query))
    return [counted_in(listing, field, mask) for field in fields]


def _rows(view: ReadView, query: int) -> NDArray[np.int64]:
    """Return the matching rows; in a vector-only search, all that pass the filters."""
    plan = view.plans[query]
    if not plan.asks_text:
        compared = plan.asks_vectors and view.space is not None
        return view.snapshot.rows[view.mask()] if compared else np.empty(0, dtype=np.int64)
    from septet.sqlite.tables import fulltext

    matches = fulltext.matching(view.read, view.at_step(plan)) if view.needs_fts5(plan) else view.matches(query).rows
    rows = np.asarray(matches, dtype=np.int64)
    if plan.include_memories and not plan.scores_memories:
        memories = fulltext.recall_memories(view.read, view.at_step(plan), -1)
        rows = np.concatenate([rows, np.array(memories, dtype=np.int64)])
    return rows
