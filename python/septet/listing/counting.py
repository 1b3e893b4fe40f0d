"""The number of matching entries of a listing, in total and per value of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from septet.listing.listing import View
from septet.listing.names import Value, sort_key
from septet.listing.request import Request
from septet.model.arrays import Mask
from septet.model.pages import Facets, FacetValue
from septet.query.facets import Faceted

_UNITS = {"day": "D", "month": "M", "year": "Y"}
#: The range of `datetime.date`, years 1 to 9999, in epoch seconds.
_FIRST, _BEYOND = -62_135_596_800.0, 253_402_300_800.0


class Counted(NamedTuple):
    """The values of a field in one listing, by number of entries.

    Attributes:
        values: pairs of value and count, in any order.
        total: number of entries counted.
        missing: number of entries without a value.
        distinct: number of values, including those beyond the limit.
        other: sum of the counts beyond the limit.
    """

    values: list[tuple[Value, int]]
    total: int
    missing: int
    distinct: int
    other: int = 0


def number_of(view: View, request: Request) -> int:
    """Return the number of matching entries."""
    mask = view.mask(request.filters, request.as_of)
    return len(view.listing) if mask is None else int(np.count_nonzero(mask))


def counted(view: View, what: Faceted, request: Request, limit: int | None = None) -> Counted:
    """Count the matching entries per value.

    Args:
        limit: maximum values, the most frequent first; None for all.
    """
    return counted_in(view, what, view.mask(request.filters, request.as_of), limit)


def counted_in(view: View, what: Faceted, mask: Mask | None, limit: int | None = None) -> Counted:
    """Count the entries in a mask per value.

    Args:
        mask: the entries to count ``(n,)``; None for all.
        limit: as for `counted`.
    """
    read, listing, _ = view
    total = len(listing) if mask is None else int(np.count_nonzero(mask))
    if what.by is not None:
        times = listing.times[what.field] if mask is None else listing.times[what.field][mask]
        times = times[(times >= _FIRST) & (times < _BEYOND)]
        days = np.floor(times).astype(np.int64).astype("datetime64[s]").astype(f"datetime64[{_UNITS[what.by]}]")
        dates, counts = np.unique(days, return_counts=True)
        texts = np.datetime_as_string(dates).tolist() if len(dates) else []
        return Counted(list(zip(texts, counts.tolist())), total, total - len(times), len(texts))
    column = listing.column(read, what.field)
    present = column.present(len(listing))
    valued = int(np.count_nonzero(present if mask is None else present & mask))
    counts = column.counts(mask)
    numbers = np.flatnonzero(counts)
    distinct, entries = len(numbers), int(counts.sum())
    if limit is not None and limit < distinct:
        # Keep ties with the last value until they are sorted.
        least = np.partition(counts[numbers], distinct - limit)[distinct - limit]
        numbers = numbers[counts[numbers] >= least]
        numbers = numbers[np.lexsort((column.names.order().ordinals[numbers], -counts[numbers]))][:limit]
    values = column.names.values
    top = counts[numbers]
    return Counted(
        [(values[n], count) for n, count in zip(numbers.tolist(), top.tolist())],
        total,
        total - valued,
        distinct,
        entries - int(top.sum()),
    )


def facets_of(what: Faceted, parts: Iterable[Counted], limit: int | None) -> Facets:
    """Merge the counts of listings; with several, each must be without a limit."""
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
