"""Counts: how many entries of a listing pass, and how many have each value of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from septet.listing.listing import View
from septet.listing.names import Value, sort_key
from septet.listing.request import Request
from septet.model.pages import Facets, FacetValue
from septet.query.facets import Bucket, Faceted
from septet.sqlite.snapshot.arrays import Mask

__all__ = ["Bucket", "Counted", "Faceted", "counted", "counted_in", "facets_of", "number_of"]

_UNITS = {"day": "D", "month": "M", "year": "Y"}
#: The years that a date can name: 1 to 9999, in epoch seconds.
_FIRST, _BEYOND = -62_135_596_800.0, 253_402_300_800.0


class Counted(NamedTuple):
    """The values of a field in one listing, by number of entries.

    Attributes:
        values: the most frequent first, or in any order.
        total: how many entries were looked at.
        missing: how many of them have no value.
        distinct: how many values there are, also those that were cut.
        other: the sum of the counts of those that were cut.
    """

    values: list[tuple[Value, int]]
    total: int
    missing: int
    distinct: int
    other: int = 0


def number_of(view: View, request: Request) -> int:
    """Return how many entries pass."""
    mask = view.mask(request.filters, request.as_of)
    return len(view.listing) if mask is None else int(np.count_nonzero(mask))


def counted(view: View, what: Faceted, request: Request, limit: int | None = None) -> Counted:
    """Return how many of the entries that pass have each value.

    Args:
        limit: only so many values, those of most entries; None for all.
    """
    return counted_in(view, what, view.mask(request.filters, request.as_of), limit)


def counted_in(view: View, what: Faceted, mask: Mask | None, limit: int | None = None) -> Counted:
    """Return how many of the entries in a mask have each value.

    Args:
        mask: which entries count ``(n,)``; None for all.
        limit: as for `counted`.
    """
    read, listing, _ = view
    total = len(listing) if mask is None else int(np.count_nonzero(mask))
    if what.by is not None:
        times = listing.times[what.field] if mask is None else listing.times[what.field][mask]
        times = times[(times >= _FIRST) & (times < _BEYOND)]
        days = np.floor(times).astype(np.int64).astype("datetime64[s]").astype(f"datetime64[{_UNITS[what.by]}]")
        dates, often = np.unique(days, return_counts=True)
        texts = np.datetime_as_string(dates).tolist() if len(dates) else []
        return Counted(list(zip(texts, often.tolist())), total, total - len(times), len(texts))
    column = listing.column(read, what.field)
    present = column.present(len(listing))
    having = int(np.count_nonzero(present if mask is None else present & mask))
    counts = column.counts(mask)
    found = np.flatnonzero(counts)
    distinct, every = len(found), int(counts.sum())
    if limit is not None and limit < distinct:
        # Those that are as frequent as the last one stay, until they are put in order.
        least = np.partition(counts[found], distinct - limit)[distinct - limit]
        found = found[counts[found] >= least]
        found = found[np.lexsort((column.names.order().ordinals[found], -counts[found]))][:limit]
    values = column.names.values
    chosen = counts[found]
    return Counted(
        [(values[n], count) for n, count in zip(found.tolist(), chosen.tolist())],
        total,
        total - having,
        distinct,
        every - int(chosen.sum()),
    )


def facets_of(what: Faceted, parts: Iterable[Counted], limit: int | None) -> Facets:
    """Return the counts of listings as one; those of several must not be cut."""
    together: Counter[tuple[bool, FacetValue]] = Counter()
    total = missing = other = distinct = 0
    for part in parts:
        total, missing, other = total + part.total, missing + part.missing, other + part.other
        distinct += part.distinct - len(part.values)
        for value, count in part.values:
            together[isinstance(value, bool), value] += count
    by = sort_key(what.field)
    best = sorted(together.items(), key=lambda item: (-item[1], by(item[0][1])))
    shown = best if limit is None else best[:limit]
    return Facets(
        what.field,
        tuple((value, count) for (_, value), count in shown),
        total=total,
        missing=missing,
        distinct=distinct + len(best),
        other=other + sum(count for _, count in best[len(shown) :]),
    )
