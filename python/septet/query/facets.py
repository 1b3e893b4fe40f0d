"""What entries are counted by: a field, and into what times are gathered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import exact, listed, shown, utf8

__all__ = ["Bucket", "Faceted", "facets_asked", "field_of"]

#: Into what times are gathered, UTC.
Bucket: TypeAlias = Literal["day", "month", "year"]

FACET_FIELDS = (
    "domain", "type", "severity", "kind", "tags", "source", "trust", "parent", "path",
    "created_at", "updated_at", "valid_from", "valid_until",
)  # fmt: skip
#: By so many fields the matches of a search are counted at most.
MOST_FACETS = 16
MOST_FIELD_CHARS = 4_096


class Faceted(NamedTuple):
    """What entries are counted by.

    Attributes:
        by: into what times are gathered; None for a field that is no time.
    """

    field: str
    by: Bucket | None

    @classmethod
    def of(cls, field: object, by: object) -> Faceted:
        """Return what to count by.

        Raises:
            QueryError: an unknown field, or a bucket that does not fit.
        """
        name = field_of(field, FACET_FIELDS, "field")
        is_time = name in FACET_FIELDS[-4:]
        bucket = exact(by)
        if bucket is None:
            return cls(name, "day" if is_time else None)
        if not is_time or not isinstance(bucket, str) or bucket not in ("day", "month", "year"):
            wanted = "wanted 'day', 'month' or 'year'" if is_time else f"{name} is no time; leave it out"
            raise QueryError(f"by is {shown(by)}: {wanted}")
        return cls(name, bucket)  # type: ignore[arg-type]


def facets_asked(value: object) -> tuple[Faceted, ...]:
    """Return what the matches of a search are counted by.

    Raises:
        QueryError: no fields, an unknown one, one that is named twice, or too many.
    """
    wanted = "a field, (field, 'day' | 'month' | 'year') for a time, or a list of these"
    single = isinstance(value, str) or (isinstance(value, tuple) and value[1:] in (("day",), ("month",), ("year",)))
    given = listed([value] if single else value, "facets", QueryError, wanted, MOST_FACETS)
    found = tuple(Faceted.of(*_pair(item, wanted)) for item in given)
    if not found:
        raise QueryError(f"facets is empty: wanted {wanted}, or None")
    if len({one.field for one in found}) < len(found):
        raise QueryError(f"facets is {shown(value)}: it names a field twice")
    return found


def _pair(item: object, wanted: str) -> tuple[object, object]:
    if isinstance(item, tuple):
        if len(item) != 2:
            raise QueryError(f"facets has {shown(item)}: wanted {wanted}")
        return item[0], item[1]
    return item, None


def field_of(value: object, known: Sequence[str], name: str) -> str:
    """Return a field that is known, or a path into attrs.

    Args:
        name: of the argument.

    Raises:
        QueryError: neither.
    """
    field = exact(value)
    if isinstance(field, str):
        if field in known:
            return field
        field = utf8(field, name, QueryError, MOST_FIELD_CHARS)
        if field.startswith("attrs.") and all(field.split(".")[1:]):
            return field
    raise QueryError(f"{name} is {shown(value)}: wanted one of {', '.join(known)}, or attrs.NAME")
