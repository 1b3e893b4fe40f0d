"""Pages: which entries of a listing come next in an order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.listing.columns import Positions
from septet.listing.listing import Listing, View
from septet.listing.names import Value, sort_key
from septet.listing.request import UNSET, Cursor, Key, Request
from septet.model.entry import Entry
from septet.model.pages import Page
from septet.sqlite.store.store import Reading
from septet.sqlite.tables import entries

__all__ = ["Placed", "in_order", "placed", "the_page"]


class Placed(NamedTuple):
    """An entry with where it stands in the order."""

    entry: Entry
    cursor: Cursor


def placed(view: View, request: Request) -> list[Placed]:
    """Return the entries of a page, and one more if there are more, in order."""
    read, listing, _ = view
    mask = view.mask(request.filters, request.as_of)
    order = listing.order(request.keys, lambda: _order(read, listing, request.keys))
    start = 0 if request.after is None else _start(read, listing, order, request)
    most = None if request.limit is None else request.limit + 1
    chosen = order[start:]
    chosen = chosen[:most] if mask is None else chosen[mask[chosen]][:most]
    found = entries.read_rows(read, listing.rows[chosen].tolist())
    values = [_value_of(read, listing, key) for key in request.keys if key.field != "id"]
    by_id = any(key.field == "id" for key in request.keys)
    out = []
    for at, candidate in zip(chosen.tolist(), found):
        known = [value(at) for value in values]
        if by_id:
            known.append(candidate.id)
        out.append(Placed(candidate.to_entry(), Cursor(tuple(known), candidate.id)))
    return out


def in_order(found: Sequence[Placed], request: Request) -> list[Placed]:
    """Return entries of several listings in the order of the request."""
    merged = sorted(found, key=lambda one: one.entry.id)
    for place, key in reversed(list(enumerate(request.keys))):
        merged.sort(key=_sorted_by(key, place), reverse=key.descending)
        if key.field not in UNSET:
            # In both directions what has no value comes last.
            merged.sort(key=lambda one, place=place: one.cursor.values[place] is None)  # type: ignore[misc]
    return merged


def the_page(found: Sequence[Placed], request: Request) -> Page:
    """Return the page of entries that were found, one more than it holds if there are more."""
    limit = request.limit
    if limit is None or len(found) <= limit:
        return Page(tuple(one.entry for one in found), None)
    return Page(tuple(one.entry for one in found[:limit]), request.written(found[limit - 1].cursor))


def _sorted_by(key: Key, place: int) -> Callable[[Placed], Any]:
    by = sort_key(key.field)
    unset = UNSET.get(key.field)

    def sorted_by(one: Placed) -> Any:
        value = one.cursor.values[place]
        value = unset if value is None else value
        return (-1, 0) if value is None else by(value)

    return sorted_by


def _order(read: Reading, listing: Listing, keys: Sequence[Key]) -> Positions:
    """Return the positions of all entries in order ``(n,)``."""
    columns = [_places(read, listing, key) for key in keys]
    if keys[-1].field != "id":
        columns.append(listing.id_order(read))
    order: Positions = np.lexsort(columns[::-1])
    return order


def _places(read: Reading, listing: Listing, key: Key) -> NDArray[np.float64]:
    """Return what entries are sorted by, the least first ``(n,)``; inf for those without a value."""
    if key.field == "id":
        places = listing.id_order(read)
        return -places if key.descending else places
    return _placing(read, listing, key, None)[0]


def _start(read: Reading, listing: Listing, order: Positions, request: Request) -> int:
    """Return how many entries of an order stand before the page or are its cursor."""
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
    # Ids are read only where they are compared.
    while low < high:
        middle = (low + high) // 2
        (found,) = entries.ids_at(read, [int(listing.rows[order[middle]])])
        before = found >= cursor.id if descending else found <= cursor.id
        low, high = (middle + 1, high) if before else (low, middle)
    return low


def _placing(read: Reading, listing: Listing, key: Key, value: Value | None) -> tuple[NDArray[np.float64], float]:
    """Return what entries are sorted by, as `_places` does, and what an entry with a value would be sorted by."""
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
    # In both directions what has no value comes last.
    return np.where(np.isinf(places), places, -places), place if value is None else -place


def _value_of(read: Reading, listing: Listing, key: Key) -> Callable[[int], Value | None]:
    """Return what gives the value that an entry is sorted by, None where it has none."""
    if key.field in listing.times:
        times = listing.times[key.field]
        return lambda at: float(times[at]) if math.isfinite(times[at]) else None
    return listing.column(read, key.field, lists=False).value
