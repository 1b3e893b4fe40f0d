"""The listing of a remote tier: what is asked of it, and its ids and validity as a mirror of one state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from septet.errors import QueryError
from septet.inputs.arguments import listed, real, shown, utf8
from septet.listing.asked import AskedListing, CountsAsked, NumberAsked, PageAsked
from septet.listing.names import Value
from septet.listing.paging import Placed
from septet.listing.request import Cursor, Request, limit_of
from septet.listing.shadows import Mirror
from septet.model.entry import Entry
from septet.query.facets import Faceted
from septet.ranking.pool import Candidate, json_text
from septet.sqlite.snapshot.arrays import Mask
from septet.tiers.remote.answers import counted_data, counted_of
from septet.tiers.remote.packing import floats, packed, unpacked
from septet.tiers.remote.plans import filter_data, filters_of

__all__ = ["answer_data", "answer_of", "asked_data", "asked_of", "hidden_data", "hidden_of", "mirror_data"]
__all__ += ["mirror_of"]

MOST_KEYS = 8


def mirror_of(data: Mapping[str, Any]) -> Mirror:
    """Return what `mirror_data` described."""
    ids = data["ids"]
    known = np.empty(len(ids), dtype=object)
    known[:] = ids
    return Mirror(data["state"], np.arange(len(ids)), known, data["from"], data["until"])


def mirror_data(mirror: Mirror) -> dict[str, Any]:
    """Return ids and validity of a listing, JSON-ready."""
    return {
        "state": mirror.state,
        "ids": mirror.known_ids.tolist(),
        "from": floats(mirror.valid_from),
        "until": floats(mirror.valid_until),
    }


# -- what is asked -----------------------------------------------------------------------------------------------------


def asked_data(asked: AskedListing[Any]) -> dict[str, Any]:
    """Return what is asked of a listing, JSON-ready."""
    if isinstance(asked, PageAsked):
        keys = [[key.field, key.descending] for key in asked.request.keys]
        after = asked.request.after
        more = {"keys": keys, "limit": asked.request.limit}
        return {
            "page": {**more, "after": None if after is None else [list(after.values), after.id]},
            **_request(asked.request),
        }
    if isinstance(asked, NumberAsked):
        return {"number": True, **_request(asked.request)}
    if isinstance(asked, CountsAsked):
        return {"counts": [asked.what.field, asked.what.by, asked.limit], **_request(asked.request)}
    raise TypeError(f"a remote listing is not asked for {type(asked).__name__}")


def asked_of(data: Mapping[str, Any]) -> AskedListing[Any]:
    """Return what `asked_data` described.

    Raises:
        QueryError: it is nothing that a listing is asked.
    """
    as_of = data["as_of"]
    request = Request(filters_of(data["filters"]), None if as_of is None else real(as_of, "as_of", QueryError))
    if "page" in data:
        return PageAsked(_paged(request, data["page"]))
    if "counts" in data:
        field, by, limit = data["counts"]
        return CountsAsked(Faceted.of(field, by), request, limit_of(limit))
    return NumberAsked(request)


def _request(request: Request) -> dict[str, Any]:
    return {"filters": {name: filter_data(one) for name, one in request.filters.items()}, "as_of": request.as_of}


def _paged(request: Request, data: Mapping[str, Any]) -> Request:
    keys = listed(data["keys"], "keys", QueryError, "a list of fields", MOST_KEYS)
    order = [
        (utf8(field, "a field", QueryError), "desc" if descending is True else "asc") for field, descending in keys
    ]
    paged = request.paged(order, data["limit"], None)
    if data["after"] is None:
        return paged
    values, last = data["after"]
    # Written and read again, as that of a caller: the values must fit the fields.
    cursor = Cursor(tuple(values), utf8(last, "after", QueryError))
    return paged.paged(order, data["limit"], paged.encode(cursor))


def hidden_data(hidden: Mask | None) -> str | None:
    """Return which entries of a listing are left out, JSON-ready."""
    return None if hidden is None or not hidden.any() else packed(np.packbits(hidden).tobytes())


def hidden_of(data: object, count: int) -> Mask | None:
    """Return which of so many entries are left out; None for none.

    Raises:
        QueryError: it is of another listing.
    """
    if data is None:
        return None
    bits = np.frombuffer(unpacked(data), dtype=np.uint8)
    if len(bits) != -(-count // 8):
        raise QueryError("hidden is of another listing")
    return np.unpackbits(bits, count=count).astype(bool)


# -- what is answered --------------------------------------------------------------------------------------------------


def answer_data(found: Any, asked: AskedListing[Any]) -> Any:
    """Return what a listing answered, JSON-ready."""
    if isinstance(asked, PageAsked):
        return [[list(_candidate(one.entry)), list(one.cursor.values)] for one in found]
    return counted_data(found) if isinstance(asked, CountsAsked) else found


def answer_of(data: Any, asked: AskedListing[Any]) -> Any:
    """Return what `answer_data` described.

    Raises:
        QueryError: it is no answer to what was asked.
    """
    if isinstance(asked, PageAsked):
        return [_placed(entry.to_entry(), values, asked.request) for entry, values in data]
    return counted_of(data, asked.what) if isinstance(asked, CountsAsked) else data


def _placed(entry: Entry, values: Sequence[Value | None], request: Request) -> Placed:
    """Return an entry with where it stands.

    Raises:
        QueryError: the values are none of the fields that entries are sorted by.
    """
    if not request.fits(values):
        raise QueryError(f"entry {shown(entry.id)} comes with other values than those that entries are sorted by")
    return Placed(entry, Cursor(tuple(values), entry.id))


def _candidate(entry: Entry) -> Candidate:
    """Return an entry as a row of a store that is not told which one it is."""
    span = entry.span
    return Candidate(
        row=0,
        id=entry.id,
        kind=entry.kind,
        type=entry.type,
        domain=entry.domain,
        severity=entry.severity,
        title=entry.title,
        description=entry.description,
        context=entry.context,
        tags_json=json_text(entry.tags),
        attrs_json=json_text(entry.attrs),
        path=None if span is None else span.path,
        first_line=None if span is None else span.first_line,
        last_line=None if span is None else span.last_line,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
        valid_from=entry.valid_from,
        valid_until=entry.valid_until,
        parent=entry.parent,
        source=entry.source,
        trust=entry.trust,
    )
