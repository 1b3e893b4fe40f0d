"""The listing of a remote tier: its requests, and a mirror of the ids and validity of one state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, utf8
from septet.listing.columns import Value
from septet.listing.queries import CountsQuery, ListingMirror, ListingQuery, NumberQuery, PageQuery, Placed
from septet.listing.request import Cursor, Request, limit_of
from septet.model.arrays import Mask
from septet.model.entry import Entry
from septet.query.facets import Faceted
from septet.ranking.pool import Candidate, json_text
from septet.tiers.remote.answers import counted_data, counted_of
from septet.tiers.remote.packing import floats, packed, unpacked
from septet.tiers.remote.plans import filter_data, filters_of

MOST_KEYS = 8
#: Fields that entries and candidates share.
_FACTS = [name for name in Candidate._fields if name in Entry.__dataclass_fields__]


def mirror_of(data: Mapping[str, Any]) -> ListingMirror:
    """Return the mirror of `mirror_data`."""
    ids = data["ids"]
    known = np.empty(len(ids), dtype=object)
    known[:] = ids
    return ListingMirror(data["state"], np.arange(len(ids)), known, data["from"], data["until"])


def mirror_data(mirror: ListingMirror) -> dict[str, Any]:
    """Return ids and validity of a listing as a JSON-ready value."""
    return {
        "state": mirror.state,
        "ids": mirror.known_ids.tolist(),
        "from": floats(mirror.valid_from),
        "until": floats(mirror.valid_until),
    }


# -- requests ----------------------------------------------------------------------------------------------------------


def query_data(call: ListingQuery[Any]) -> dict[str, Any]:
    """Return a request of a listing as a JSON-ready value."""
    if isinstance(call, PageQuery):
        keys = [[key.field, key.descending] for key in call.request.keys]
        after = call.request.after
        more = {"keys": keys, "limit": call.request.limit}
        return {
            "page": {**more, "after": None if after is None else [list(after.values), after.id]},
            **_request(call.request),
        }
    if isinstance(call, NumberQuery):
        return {"number": True, **_request(call.request)}
    if isinstance(call, CountsQuery):
        return {"counts": [call.what.field, call.what.by, call.limit], **_request(call.request)}
    raise TypeError(f"a remote listing has no request {type(call).__name__}")


def query_of(data: Mapping[str, Any]) -> ListingQuery[Any]:
    """Return the request of `query_data`.

    Raises:
        QueryError: an unknown or invalid request.
    """
    as_of = data["as_of"]
    request = Request(filters_of(data["filters"]), None if as_of is None else real(as_of, "as_of", QueryError))
    if "page" in data:
        return PageQuery(_paged(request, data["page"]))
    if "counts" in data:
        field, by, limit = data["counts"]
        return CountsQuery(Faceted.of(field, by), request, limit_of(limit))
    return NumberQuery(request)


def _request(request: Request) -> dict[str, Any]:
    return {"filters": {name: filter_data(item) for name, item in request.filters.items()}, "as_of": request.as_of}


def _paged(request: Request, data: Mapping[str, Any]) -> Request:
    keys = listed(data["keys"], "keys", QueryError, "a list of fields", MOST_KEYS)
    order = [
        (utf8(field, "a field", QueryError), "desc" if descending is True else "asc") for field, descending in keys
    ]
    paged = request.paged(order, data["limit"], None)
    if data["after"] is None:
        return paged
    values, last = data["after"]
    # Round trip through the cursor text of callers: it checks that the values fit the fields.
    cursor = Cursor(tuple(values), utf8(last, "after", QueryError))
    return paged.paged(order, data["limit"], paged.encode(cursor))


def hidden_data(hidden: Mask | None) -> str | None:
    """Return the mask of hidden entries as text; None if none are hidden."""
    return None if hidden is None or not hidden.any() else packed(np.packbits(hidden).tobytes())


def hidden_of(data: object, count: int) -> Mask | None:
    """Return the mask ``(count,)`` of hidden entries; None if none are hidden.

    Raises:
        QueryError: the mask has another length.
    """
    if data is None:
        return None
    bits = np.frombuffer(unpacked(data), dtype=np.uint8)
    if len(bits) != -(-count // 8):
        raise QueryError(f"hidden must be a mask of {count} entries")
    return np.unpackbits(bits, count=count).astype(bool)


# -- answers -----------------------------------------------------------------------------------------------------------


def answer_data(answer: Any, call: ListingQuery[Any]) -> Any:
    """Return the answer of a listing as a JSON-ready value."""
    if isinstance(call, PageQuery):
        return [[list(_candidate(row.entry)), list(row.cursor.values)] for row in answer]
    return counted_data(answer) if isinstance(call, CountsQuery) else answer


def answer_of(data: Any, call: ListingQuery[Any]) -> Any:
    """Return the answer of `answer_data`.

    Raises:
        QueryError: the answer does not fit the request.
    """
    if isinstance(call, PageQuery):
        return [_placed(entry.to_entry(), values, call.request) for entry, values in data]
    return counted_of(data, call.what) if isinstance(call, CountsQuery) else data


def _placed(entry: Entry, values: Sequence[Value | None], request: Request) -> Placed:
    """Return an entry with its cursor.

    Raises:
        QueryError: the values do not fit the fields of the sort order.
    """
    if not request.fits(values):
        raise QueryError(f"entry {shown(entry.id)}: its sort values do not fit the fields of the sort order")
    return Placed(entry, Cursor(tuple(values), entry.id))


def _candidate(entry: Entry) -> Candidate:
    """Return an entry as a candidate with row 0: a listing does not send row numbers."""
    span = entry.span
    path, first, last = (None, None, None) if span is None else (span.path, span.first_line, span.last_line)
    facts: dict[str, Any] = {name: getattr(entry, name) for name in _FACTS}
    facts |= {"tags_json": json_text(entry.tags), "attrs_json": json_text(entry.attrs)}
    return Candidate(row=0, path=path, first_line=first, last_line=last, **facts)
