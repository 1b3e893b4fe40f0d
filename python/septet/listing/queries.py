"""Queries of a listing: pages in a given order, numbers and counts per value; entries hidden by higher tiers.

Queries are values too: they run where the listing is, locally or on a server.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet.listing.columns import Positions, Value, sort_key
from septet.listing.listing import Listing, View
from septet.listing.request import UNSET, Cursor, Key, Request
from septet.model.arrays import Mask
from septet.model.entry import Entry, entries_of
from septet.model.pages import Facets, FacetValue, Page
from septet.query.facets import Faceted
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import entries

#: Maximum cached pairs of listings.
MOST_PAIRS = 64


class Placed(NamedTuple):
    """An entry with its cursor in the order."""

    entry: Entry
    cursor: Cursor


def _placed(view: View, request: Request) -> list[Placed]:
    """Return the entries of a page in order, plus the first of the next page."""
    read, listing, _ = view
    mask = view.mask(request.filters, request.as_of)
    order = listing.order(request.keys, lambda: _order(read, listing, request.keys))
    start = 0 if request.after is None else _start(read, listing, order, request)
    stop = None if request.limit is None else request.limit + 1
    positions = order[start:]
    positions = positions[:stop] if mask is None else positions[mask[positions]][:stop]
    columns = [_value_of(read, listing, key) for key in request.keys if key.field != "id"]
    by_id = any(key.field == "id" for key in request.keys)
    page = []
    rows = entries.read_rows(read, listing.rows[positions].tolist())
    for position, entry in zip(positions.tolist(), entries_of(rows), strict=True):
        values = [value(position) for value in columns]
        if by_id:
            values.append(entry.id)
        page.append(Placed(entry, Cursor(tuple(values), entry.id)))
    return page


def in_order(items: Sequence[Placed], request: Request) -> list[Placed]:
    """Merge entries of several listings in the order of the request."""
    merged = sorted(items, key=lambda item: item.entry.id)
    for place, key in reversed(list(enumerate(request.keys))):
        merged.sort(key=_sorted_by(key, place), reverse=key.descending)
        if key.field not in UNSET:
            # Entries without a value are last in both directions.
            merged.sort(key=lambda item, place=place: item.cursor.values[place] is None)  # type: ignore[misc]
    return merged


def the_page(items: Sequence[Placed], request: Request) -> Page:
    """Return a page, with a cursor if there are more items than its limit."""
    limit = request.limit
    if limit is None or len(items) <= limit:
        return Page(tuple(item.entry for item in items), None)
    return Page(tuple(item.entry for item in items[:limit]), request.encode(items[limit - 1].cursor))


def _sorted_by(key: Key, place: int) -> Callable[[Placed], Any]:
    by = sort_key(key.field)
    unset = UNSET.get(key.field)

    def sorted_by(item: Placed) -> Any:
        value = item.cursor.values[place]
        value = unset if value is None else value
        return (-1, 0) if value is None else by(value)

    return sorted_by


def _order(read: SqliteReading, listing: Listing, keys: Sequence[Key]) -> Positions:
    """Return the positions of all entries in order ``(n,)``."""
    columns = [_placing(read, listing, key, None)[0] for key in keys if key.field != "id"]
    # Ids are unique: theirs is the last key, or breaks ties.
    by_id = listing.id_order(read)
    order: Positions = np.lexsort([-by_id if keys[-1] == Key("id", True) else by_id, *columns[::-1]])
    return order


def _start(read: SqliteReading, listing: Listing, order: Positions, request: Request) -> int:
    """Return the index in an order of the first entry after the cursor."""
    cursor = request.after
    assert cursor is not None
    low, high = 0, len(order)
    descending = False
    for key, value in zip(request.keys, cursor.values):
        if key.field == "id":
            descending = key.descending
            break
        places, sought = _placing(read, listing, key, value)
        here = places[order[low:high]]
        low, high = low + int(np.searchsorted(here, sought, "left")), low + int(np.searchsorted(here, sought, "right"))
    # A binary search reads few ids.
    while low < high:
        middle = (low + high) // 2
        (id_,) = entries.ids_at(read, [int(listing.rows[order[middle]])])
        before = id_ >= cursor.id if descending else id_ <= cursor.id
        low, high = (middle + 1, high) if before else (low, middle)
    return low


def _placing(read: SqliteReading, listing: Listing, key: Key, value: Value | None) -> tuple[NDArray[np.float64], float]:
    """Return the ascending sort keys of entries ``(n,)``, inf without a value, and the sort key of ``value``."""
    if key.field in listing.times:
        places = listing.times[key.field]
        number = UNSET.get(key.field, math.inf) if value is None else float(value)
        return (-places, -number) if key.descending else (places, number)
    column = listing.column(read, key.field, lists=False)
    order = column.names.order()
    places = column.places(len(listing), order)
    place = math.inf if value is None else column.names.place(value, order)
    if not key.descending:
        return places, place
    # Entries without a value are last in both directions.
    return np.where(np.isinf(places), places, -places), place if value is None else -place


def _value_of(read: SqliteReading, listing: Listing, key: Key) -> Callable[[int], Value | None]:
    """Return a function from position to the value of the key, or None."""
    if key.field in listing.times:
        times = listing.times[key.field]
        return lambda position: float(times[position]) if math.isfinite(times[position]) else None
    return listing.column(read, key.field, lists=False).value


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


def counted_in(view: View, what: Faceted, mask: Mask | None, limit: int | None = None) -> Counted:
    """Count the entries in a mask per value.

    Args:
        mask: the entries to count ``(n,)``; None for all.
        limit: maximum values, the most frequent first; None for all.
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
    top = counts[numbers]
    values = [(column.names.values[n], count) for n, count in zip(numbers.tolist(), top.tolist())]
    return Counted(values, total, total - valued, distinct, entries - int(top.sum()))


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


class Shadowing(Protocol):
    """A listing as compared with those of other tiers."""

    @property
    def state(self) -> Hashable:
        """The version of the listing: listings of one vault with equal states are equal."""

    @property
    def rows(self) -> NDArray[Any]:
        """The rows of entries ``(n,)``, a new array object after each change."""

    @property
    def known_ids(self) -> NDArray[np.object_]:
        """The id of each entry ``(n,)``; must be loaded already."""

    def valid(self, moment: float) -> Mask:
        """Return the mask of entries valid at a time, in epoch seconds ``(n,)``."""

    def __len__(self) -> int: ...


class ListingMirror(NamedTuple):
    """Ids and validity of the entries of a remote listing, to compare with those of other tiers.

    Attributes:
        state: the version of the listing.
        rows: the row of each entry, ascending; a new array object per state ``(n,)``.
        known_ids: the id of each entry ``(n,)``.
        valid_from, valid_until: epoch seconds ``(n,)``, infinite if not set.
    """

    state: str
    rows: NDArray[np.int64]
    known_ids: NDArray[np.object_]
    valid_from: NDArray[np.float64]
    valid_until: NDArray[np.float64]

    def valid(self, moment: float) -> Mask:
        """Return the mask of entries valid at a time, in epoch seconds ``(n,)``."""
        valid: Mask = (self.valid_from <= moment) & (self.valid_until > moment)
        return valid

    def __len__(self) -> int:
        return len(self.rows)


class _Shared(NamedTuple):
    """The ids that two listings have in common. Holds their rows, so that the ids of these arrays are not reused."""

    low_rows: object
    high_rows: object
    low: Positions
    high: Positions


class Shadows:
    """Caches the entries that two listings share until one of them changes. Thread-safe."""

    def __init__(self) -> None:
        self._shared: dict[tuple[int, int], _Shared] = {}

    def hidden(self, listing: Shadowing, higher: Sequence[Shadowing], as_of: float | None) -> Mask | None:
        """Return the mask of entries whose id a higher listing has ``(n,)``; None without higher ones.

        Args:
            as_of: ignore copies that are not valid at this time; None ignores none.
        """
        if not higher:
            return None
        hidden = np.zeros(len(listing), dtype=bool)
        for above in higher:
            shared = self._share(listing, above)
            hidden[shared.low if as_of is None else shared.low[above.valid(as_of)[shared.high]]] = True
        return hidden

    def _share(self, low: Shadowing, high: Shadowing) -> _Shared:
        key = (id(low.rows), id(high.rows))
        shared = self._shared.pop(key, None)
        if shared is None or shared.low_rows is not low.rows or shared.high_rows is not high.rows:
            at = {entry_id: place for place, entry_id in enumerate(high.known_ids.tolist())}
            pairs = [(place, at[i]) for place, i in enumerate(low.known_ids.tolist()) if i in at]
            both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            shared = _Shared(low.rows, high.rows, both[:, 0], both[:, 1])
        if len(self._shared) >= MOST_PAIRS:
            self._shared.clear()
        self._shared[key] = shared
        return shared


_Answer = TypeVar("_Answer", covariant=True)


class ListingQuery(Protocol[_Answer]):
    """A query of a listing."""

    def __call__(self, view: View) -> _Answer:
        """Run the query."""


class PageQuery(NamedTuple):
    """The entries of a page in order, plus the first of the next page."""

    request: Request

    def __call__(self, view: View) -> list[Placed]:
        """Run the query."""
        return _placed(view, self.request)


class NumberQuery(NamedTuple):
    """The number of entries that match."""

    request: Request

    def __call__(self, view: View) -> int:
        """Run the query."""
        mask = view.mask(self.request.filters, self.request.as_of)
        return len(view.listing) if mask is None else int(np.count_nonzero(mask))


class CountsQuery(NamedTuple):
    """The number of matching entries per value of a field, of the ``limit`` most frequent values; None for all."""

    what: Faceted
    request: Request
    limit: int | None

    def __call__(self, view: View) -> Counted:
        """Run the query."""
        return counted_in(view, self.what, view.mask(self.request.filters, self.request.as_of), self.limit)


class MirrorQuery(NamedTuple):
    """Ids and validity of all entries, to compare with listings elsewhere."""

    def __call__(self, view: View) -> ListingMirror:
        """Run the query."""
        listing, times = view.listing, view.listing.times
        return ListingMirror(
            str(listing.state), listing.rows, listing.ids(view.read), times["valid_from"], times["valid_until"]
        )
