"""What a listing is asked for, checked: a filter, a moment, an order, and where to go on."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import as_epoch, exact, printable, shown, utf8, whole
from septet.listing.names import Value
from septet.query.facets import field_of
from septet.query.filters import Filter, parse_where

__all__ = ["ORDER_FIELDS", "Cursor", "Key", "OrderBy", "Request", "limit_of"]

#: A field, a field with ``"asc"`` or ``"desc"``, or a list of these.
OrderBy: TypeAlias = "str | tuple[str, str] | Sequence[str | tuple[str, str]]"

#: Fields with at most one value for each entry.
ORDER_FIELDS = (
    "id", "kind", "type", "domain", "severity", "title", "source", "trust", "parent", "path", "first_line", "last_line",
    "created_at", "updated_at", "valid_from", "valid_until",
)  # fmt: skip
#: What a time that is not set is sorted as.
UNSET = {"valid_from": -math.inf, "valid_until": math.inf}
_TIMES = frozenset({"created_at", "updated_at", *UNSET})
_LINES = frozenset({"first_line", "last_line"})
#: So many fields an order has at most.
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
    """What entries are listed, and in which order.

    Attributes:
        filters: an entry must pass all of them.
        as_of: the moment at which entries must be valid; None for any.
        keys: what is compared one after the other; entries that are equal come in the order of their ids.
        limit: how many entries a page has; None for all.
        after: the entry behind which the page begins; None for the first page.
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
            QueryError: a malformed filter or moment.
        """
        return cls({} if where is None else parse_where(where), as_epoch(as_of, "as_of", QueryError))

    def paged(self, order_by: object, limit: object, after: object) -> Request:
        """Return the request of a page.

        Raises:
            QueryError: an unknown field, no whole number, or no cursor of such a listing.
        """
        asked = self._replace(keys=_keys(order_by), limit=limit_of(limit))
        return asked if after is None else asked._replace(after=asked._cursor(after))

    @property
    def _mark(self) -> str:
        """What tells this listing from others, whatever page of it."""
        said = repr((sorted(self.filters.items(), key=lambda item: item[0]), self.as_of, self.keys))
        return hashlib.blake2b(said.encode("utf-8", "backslashreplace"), digest_size=9).hexdigest()

    def written(self, cursor: Cursor) -> str:
        """Return the text that names a cursor."""
        said = json.dumps([self._mark, *cursor.values, cursor.id], ensure_ascii=False, separators=(",", ":"))
        return base64.urlsafe_b64encode(said.encode("utf-8")).decode("ascii").rstrip("=")

    def fits(self, values: Sequence[object]) -> bool:
        """Whether there is a value for each key, of the type of its field."""
        return len(values) == len(self.keys) and all(map(_fits, self.keys, values))

    def _cursor(self, after: object) -> Cursor:
        text = utf8(after, "after", QueryError)
        wanted = "wanted the `next` of a page"
        try:
            said = json.loads(base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4)).decode("utf-8"))
        except (ValueError, RecursionError):
            raise QueryError(f"after is {shown(text)}: {wanted}") from None
        if not isinstance(said, list) or len(said) < 2 or not isinstance(said[-1], str):
            raise QueryError(f"after is {shown(text)}: {wanted}")
        mark, *values, last = said
        if mark != self._mark:
            raise QueryError(
                "after is of a listing with another where, order_by or as_of: pass the same ones with every page, "
                "or leave after out to begin anew"
            )
        if not self.fits(values):
            raise QueryError(f"after is {shown(text)}: {wanted}")
        return Cursor(tuple(values), utf8(last, "after", QueryError))


def limit_of(limit: object) -> int | None:
    """Return a limit, None for none.

    Raises:
        QueryError: no whole number from 1 on.
    """
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
    # Behind the id nothing is equal.
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
    elif isinstance(said := exact(item), str) and said.startswith("-"):
        # As other libraries say it.
        named = printable(field_of(said[1:], ORDER_FIELDS, "order_by"))
        raise QueryError(f'order_by is {shown(item)}: wanted ("{named}", "desc") for what has most first')
    return Key(field_of(field, ORDER_FIELDS, "order_by"), direction == "desc")
