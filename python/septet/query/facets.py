"""Facets: the field that entries are counted by, and the bucket of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import exact, listed, shown, utf8

#: Buckets of times, UTC.
Bucket: TypeAlias = Literal["day", "month", "year"]

FACET_FIELDS = (
    "domain", "type", "severity", "kind", "tags", "source", "trust", "parent", "path",
    "created_at", "updated_at", "valid_from", "valid_until",
)  # fmt: skip
#: Maximum facets per search.
MOST_FACETS = 16
MOST_FIELD_CHARS = 4_096


class Faceted(NamedTuple):
    """A field to count entries by.

    Attributes:
        by: bucket of times; None for other fields.
    """

    field: str
    by: Bucket | None

    @classmethod
    def of(cls, field: object, by: object) -> Faceted:
        """Check field and bucket.

        Raises:
            QueryError: unknown field, or a bucket that does not fit it.
        """
        name = field_of(field, FACET_FIELDS, "field")
        is_time = name in FACET_FIELDS[-4:]
        bucket = exact(by)
        if bucket is None:
            return cls(name, "day" if is_time else None)
        if not is_time or not isinstance(bucket, str) or bucket not in ("day", "month", "year"):
            cure = "wanted 'day', 'month' or 'year'" if is_time else f"{name} is not a time: omit it"
            raise QueryError(f"by is {shown(by)}: {cure}")
        return cls(name, bucket)  # type: ignore[arg-type]


def facets_asked(value: object) -> tuple[Faceted, ...]:
    """Check the option ``facets``.

    Raises:
        QueryError: no fields, an unknown or repeated field, or too many.
    """
    expected = "a field, (field, 'day' | 'month' | 'year') for a time, or a list of these"
    single = isinstance(value, str) or (isinstance(value, tuple) and value[1:] in (("day",), ("month",), ("year",)))
    items = listed([value] if single else value, "facets", QueryError, expected, MOST_FACETS)
    if odd := [item for item in items if isinstance(item, tuple) and len(item) != 2]:
        raise QueryError(f"facets has {shown(odd[0])}: wanted {expected}")
    facets = tuple(Faceted.of(*(item if isinstance(item, tuple) else (item, None))) for item in items)
    if not facets:
        raise QueryError(f"facets is empty: wanted {expected}, or None")
    if len({facet.field for facet in facets}) < len(facets):
        raise QueryError(f"facets is {shown(value)}: a field is repeated: name each once")
    return facets


def field_of(value: object, known: Sequence[str], name: str) -> str:
    """Return a known field or a path into attrs.

    Args:
        name: name of the argument.

    Raises:
        QueryError: neither a known field nor a path into attrs.
    """
    field = exact(value)
    if isinstance(field, str):
        if field in known:
            return field
        field = utf8(field, name, QueryError, MOST_FIELD_CHARS)
        if field.startswith("attrs.") and all(field.split(".")[1:]):
            return field
    raise QueryError(f"{name} is {shown(value)}: wanted one of {', '.join(known)}, or attrs.NAME")
