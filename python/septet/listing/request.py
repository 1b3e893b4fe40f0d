"""Validated requests for a listing: filter, time, order and cursor."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from septet.errors import QueryError, printable
from septet.inputs.arguments import as_epoch, exact, shown, utf8, whole
from septet.listing.columns import Value
from septet.query.facets import field_of
from septet.query.filters import Filter, parse_where

#: A field, a field with ``"asc"`` or ``"desc"``, or a list of these.
OrderBy: TypeAlias = "str | tuple[str, str] | Sequence[str | tuple[str, str]]"

#: Single-valued fields.
ORDER_FIELDS = (
    "id", "kind", "type", "domain", "severity", "title", "source", "trust", "parent", "path", "first_line", "last_line",
    "created_at", "updated_at", "valid_from", "valid_until",
)  # fmt: skip
#: Sort keys of times that are not set.
UNSET = {"valid_from": -math.inf, "valid_until": math.inf}
_TIMES = frozenset({"created_at", "updated_at", *UNSET})
_LINES = frozenset({"first_line", "last_line"})
#: Maximum fields of an order.
MOST_KEYS = 8


class Key(NamedTuple):
    """A field that a listing is ordered by."""

    field: str
    descending: bool


class Cursor(NamedTuple):
    """The last entry of a page: its values of the keys, and its id."""

    values: tuple[Value | None, ...]
    id: str


class Request(NamedTuple):
    """Filter, order and page of a listing.

    Attributes:
        filters: entries must match all of them.
        as_of: entries must be valid at this time, in epoch seconds; None for any.
        keys: sort keys, most significant first; ties are sorted by id.
        limit: maximum entries per page; None for all.
        after: the last entry of the previous page; None for the first page.
    """

    filters: Mapping[str, Filter]
    as_of: float | None
    keys: tuple[Key, ...] = ()
    limit: int | None = None
    after: Cursor | None = None

    @classmethod
    def of(cls, where: Mapping[str, Any] | None, as_of: object) -> Request:
        """Return a request without an order.

        Raises:
            QueryError: a malformed filter or time.
        """
        return cls({} if where is None else parse_where(where), as_epoch(as_of, "as_of", QueryError))

    def paged(self, order_by: object, limit: object, after: object) -> Request:
        """Return the request of a page.

        Raises:
            QueryError: an unknown field, a limit that is no positive integer, or a cursor of another listing.
        """
        request = self._replace(keys=_keys(order_by), limit=limit_of(limit))
        return request if after is None else request._replace(after=request._cursor(after))

    @property
    def _mark(self) -> str:
        """A digest of the filters, time and order, the same for all pages."""
        text = repr((sorted(self.filters.items(), key=lambda item: item[0]), self.as_of, self.keys))
        return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=9).hexdigest()

    def encode(self, cursor: Cursor) -> str:
        """Encode a cursor as an opaque text."""
        text = json.dumps([self._mark, *cursor.values, cursor.id], ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")

    def fits(self, values: Sequence[object]) -> bool:
        """Return True if there is one value per key, of the type of its field."""
        return len(values) == len(self.keys) and all(map(_fits, self.keys, values))

    def _cursor(self, after: object) -> Cursor:
        text = utf8(after, "after", QueryError)
        malformed = QueryError(f"after is {shown(text)}: wanted the `next` of a page")
        try:
            parts = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)).decode("utf-8"))
        except (ValueError, RecursionError):
            raise malformed from None
        if not isinstance(parts, list) or len(parts) < 2 or not isinstance(parts[-1], str):
            raise malformed
        mark, *values, last = parts
        if mark != self._mark:
            raise QueryError(
                "after is a cursor of a listing with another where, order_by or as_of: pass the same ones with every "
                "page, or omit after to start from the first page"
            )
        if not self.fits(values):
            raise malformed
        return Cursor(tuple(values), utf8(last, "after", QueryError))


def limit_of(limit: object) -> int | None:
    """Validate a limit: an integer of at least 1 (`QueryError`), or None."""
    return None if limit is None else whole(limit, "limit", QueryError, 1)


def _fits(key: Key, value: object) -> bool:
    if value is None:
        return key.field not in _TIMES or key.field in UNSET
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
    if key.field in _TIMES or key.field in _LINES:
        return is_number
    return isinstance(value, str) or (key.field not in ORDER_FIELDS and (is_number or isinstance(value, bool)))


def _keys(order_by: object) -> tuple[Key, ...]:
    if isinstance(order_by, list):
        if not 0 < len(order_by) <= MOST_KEYS:
            raise QueryError(f"order_by has {len(order_by)} fields: wanted 1 to {MOST_KEYS}")
        keys = tuple(map(_key, order_by))
    else:
        keys = (_key(order_by),)
    if len({key.field for key in keys}) < len(keys):
        raise QueryError(f"order_by is {shown(order_by)}: it names a field twice")
    # Ids are unique: later keys have no effect.
    until = next((n + 1 for n, key in enumerate(keys) if key.field == "id"), len(keys))
    return keys[:until]


def _key(item: object) -> Key:
    field, direction = item, "asc"
    if isinstance(item, tuple):
        if len(item) != 2 or exact(item[1]) not in ("asc", "desc"):
            raise QueryError(
                f"order_by is {shown(item)}: wanted a field, (field, 'asc') or (field, 'desc'); a list of several"
            )
        field, direction = item[0], exact(item[1])
    elif isinstance(text := exact(item), str) and text.startswith("-"):
        # The syntax of other libraries for descending order.
        name = printable(field_of(text[1:], ORDER_FIELDS, "order_by"))
        raise QueryError(f'order_by is {shown(item)}: wanted ("{name}", "desc") for descending order')
    return Key(field_of(field, ORDER_FIELDS, "order_by"), direction == "desc")
