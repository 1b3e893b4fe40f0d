"""Pages of a listing in a given order."""

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
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import entries


class Placed(NamedTuple):
    """An entry with its cursor in the order."""

    entry: Entry
    cursor: Cursor


def placed(view: View, request: Request) -> list[Placed]:
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
    for position, row in zip(positions.tolist(), entries.read_rows(read, listing.rows[positions].tolist())):
        values = [value(position) for value in columns]
        if by_id:
            values.append(row.id)
        page.append(Placed(row.to_entry(), Cursor(tuple(values), row.id)))
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
    columns = [_places(read, listing, key) for key in keys]
    if keys[-1].field != "id":
        columns.append(listing.id_order(read))
    order: Positions = np.lexsort(columns[::-1])
    return order


def _places(read: SqliteReading, listing: Listing, key: Key) -> NDArray[np.float64]:
    """Return the ascending sort keys of entries ``(n,)``, inf without a value."""
    if key.field == "id":
        places = listing.id_order(read)
        return -places if key.descending else places
    return _placing(read, listing, key, None)[0]


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
    """Return the sort keys of `_places`, and the sort key of ``value``."""
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
