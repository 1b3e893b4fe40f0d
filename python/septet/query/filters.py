"""Filters: parse and check the ``where`` of a search into a tree that every tier translates."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from numbers import Number
from typing import Any, TypeAlias, TypeGuard

from septet.errors import EntryError, QueryError
from septet.inputs.arguments import as_epoch, exact, listed, shown, utf8
from septet.inputs.times import Times
from septet.model.entry import SEVERITIES, TRUSTS
from septet.system.records import dataclass

Scalar: TypeAlias = "str | int | float | bool | None"

_TEXT_FIELDS = frozenset(
    ["id", "kind", "type", "domain", "severity", "title", "description", "context", "path", "parent", "source", "trust"]
)
_TIME_FIELDS = frozenset(["created_at", "updated_at", "valid_from", "valid_until"])
#: Fields with a fixed set of values.
_LABELS: Mapping[str, Collection[str]] = {"severity": SEVERITIES, "trust": TRUSTS}
#: Values of these fields, ascending.
_RANKS: Mapping[str, Sequence[str]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}
_LINE_FIELDS = frozenset({"first_line", "last_line"})
#: Fields that filters accept, besides paths into attrs such as ``attrs.review.state``.
FILTER_FIELDS = _TEXT_FIELDS | _TIME_FIELDS | _LINE_FIELDS | {"tags"}

_ORDERING = frozenset({"$gt", "$gte", "$lt", "$lte"})
_LISTS = frozenset({"$in", "$nin", "$all"})
_OPERATORS = frozenset({"$eq", "$ne", "$exists", "$contains"}) | _ORDERING | _LISTS
MAX_DEPTH = 32
#: Maximum characters of a key of `where`.
MOST_KEY_CHARS = 4_096
#: Maximum filters in `$and`, `$or` or `$nor`; maximum values in `$in`, `$nin` or `$all`.
MOST_PARTS, MOST_VALUES = 100_000, 1_000_000
#: Maximum comparisons in a `where`, a list counted once: each may be evaluated for every entry.
MOST_COMPARISONS = 1_000
#: Smallest integer that overflows SQLite's.
_BEYOND = 2**63
#: Types of values that need no conversion.
_PLAIN = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Compare:
    """Comparison of a field with a value or values; ``operator`` is one of the ``$`` names."""

    field: str
    operator: str
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """True if all parts are; also without parts."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if any part is; False without parts."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True if the part is False."""

    part: Filter


@dataclass(frozen=True, slots=True)
class Holds:
    """Full-text match of an FTS5 expression (quoted words), or of all given grams."""

    match: str
    grams: tuple[str, ...]


Filter: TypeAlias = "Compare | AllOf | AnyOf | Not | Holds"


def parse_where(where: Mapping[str, Any]) -> dict[str, Filter]:
    """Return one named filter per top-level key; an entry must pass all of them.

    Operators: ``$eq $ne $gt $gte $lt $lte $in $nin $all $exists $contains`` on fields, and ``$and $or $nor $not``
    around filters. A bare value means equality, or membership for tags and for lists in attrs. Times are epoch seconds,
    datetimes with a zone, or ISO text: a date is its first instant, UTC is the default zone.

    Raises:
        QueryError: unknown field or operator, a value of the wrong type, or too many values.
    """
    if not isinstance(where, Mapping):
        raise QueryError(
            f"where is {type(where).__name__}, {shown(where)}: wanted a dict such as {{'attrs.team': 'core'}}"
        )
    filters: dict[str, Filter] = {}
    for key, value in where.items():
        parsed = _parse_item(key, value, 0)
        filters[f"where {key if type(key) is str else exact(key)}"] = parsed
    if (comparisons := sum(map(_comparisons, filters.values()))) > MOST_COMPARISONS:
        raise QueryError(
            f"where has {comparisons:,} comparisons: at most {MOST_COMPARISONS:,} are taken; "
            "a list of values ($in, $nin, $all), or of equalities of one field, counts as one"
        )
    return filters


def _comparisons(item: Filter) -> int:
    if isinstance(item, Not):
        return _comparisons(item.part)
    return sum(map(_comparisons, item.parts)) if isinstance(item, (AllOf, AnyOf)) else 1


def compare_text(field: str, value: str) -> Compare:
    """Return a filter for equality of a text field.

    Raises:
        QueryError: invalid Unicode, or an unknown severity.
    """
    return Compare(field, "$eq", _checked_text(field, value))


def names(item: Filter, field: str, value: str, *, negated: bool = False) -> bool:
    """Return True if a filter names this value of a field as wanted."""
    if isinstance(item, Not):
        return names(item.part, field, value, negated=not negated)
    if isinstance(item, Compare):
        operators = ("$ne", "$nin") if negated else ("$eq", "$in", "$all")
        values = item.value if isinstance(item.value, tuple) else (item.value,)
        return item.field == field and item.operator in operators and value in values
    return not isinstance(item, Holds) and any(names(part, field, value, negated=negated) for part in item.parts)


def _checked_text(field: str, value: str) -> str:
    if type(value) is not str:
        value = exact(value)
    for label, labels in _LABELS.items():
        if field == label and value not in labels:
            raise QueryError(f"{label} is {shown(value)}: wanted one of {', '.join(labels)}")
    return utf8(value, f"the value {field} is compared with", QueryError)


def _parse_item(key: object, value: Any, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise QueryError(f"where is nested deeper than {MAX_DEPTH} levels")
    if not isinstance(key, str):
        raise QueryError(f"where has the key {shown(key)}: wanted a field name")
    if type(key) is not str or len(key) > MOST_KEY_CHARS:
        key = utf8(key, "a key of where", QueryError, MOST_KEY_CHARS)
    if key in ("$and", "$or", "$nor"):
        if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence) or not value:
            raise QueryError(f"{key} requires a non-empty list of filters")
        if len(value) > MOST_PARTS:
            raise QueryError(
                f"{key} has {len(value):,} filters: at most {MOST_PARTS:,} are taken; for more values, use $in"
            )
        parts = _parse_parts(value, "$all" if key == "$and" else "$in", depth + 1)
        if key == "$and":
            return AllOf(parts)
        return AnyOf(parts) if key == "$or" else Not(AnyOf(parts))
    if key == "$not":
        return Not(_parse_filter(value, depth + 1))
    if key.startswith("$"):
        raise QueryError(f"unknown operator {shown(key)} in where: known are $and, $or, $nor, $not")
    return _parse_field(_field(key), value, depth)


def _parse_parts(items: Sequence[Any], joined: str, depth: int) -> tuple[Filter, ...]:
    """Parse a list of filters; merge equalities of one field into one comparison with a list.

    Args:
        joined: operator of the merged comparison.
    """
    if depth > MAX_DEPTH:
        raise QueryError(f"where is nested deeper than {MAX_DEPTH} levels")
    equal: dict[str, list[Any]] = {}
    others = []
    if set(map(type, items)) == {dict} and set(map(len, items)) == {1}:
        keys, operands = set(chain.from_iterable(items)), list(chain.from_iterable(map(dict.values, items)))
        key = keys.pop()
        if not keys and _is_field(key) and set(map(type, operands)) <= _PLAIN:
            # Fast path of the loop below, in a third of the time.
            equal, items = {key: operands}, ()
    for item in items:
        if type(item) is dict and len(item) == 1:
            [(key, value)] = item.items()
            if type(value) in _PLAIN and _is_field(key):
                equal.setdefault(key, []).append(value)
                continue
        others.append(item)
    parts: list[Filter] = []
    for key, values in equal.items():
        field = _field(key)
        scalars = _scalars(field, values)
        parts.append(Compare(field, "$eq", scalars[0]) if len(scalars) == 1 else Compare(field, joined, scalars))
    return (*parts, *(_parse_filter(item, depth) for item in others))


def _is_field(key: object) -> TypeGuard[str]:
    return isinstance(key, str) and not key.startswith("$")


def _parse_filter(value: Any, depth: int) -> Filter:
    if not isinstance(value, Mapping) or not value:
        raise QueryError(f"{shown(value)} is not a filter: wanted a non-empty dict")
    parts = tuple(_parse_item(k, v, depth) for k, v in value.items())
    return parts[0] if len(parts) == 1 else AllOf(parts)


def _parse_field(field: str, value: Any, depth: int) -> Filter:
    if not isinstance(value, Mapping):
        if isinstance(value, (list, tuple, set, frozenset)):
            raise QueryError(f"{field} is compared with a list: write {{'{field}': {{'$in': [...]}}}}")
        return Compare(field, "$eq", _scalar(field, value))
    if not value:
        raise QueryError(f"{field} has an empty condition")
    parts: list[Filter] = []
    for operator, operand in value.items():
        if operator == "$not":
            if depth > MAX_DEPTH:
                raise QueryError(f"where is nested deeper than {MAX_DEPTH} levels")
            parts.append(Not(_parse_field(field, operand, depth + 1)))
        else:
            parts.append(_parse_operator(field, operator, operand))
    return parts[0] if len(parts) == 1 else AllOf(tuple(parts))


def _parse_operator(field: str, operator: object, operand: Any) -> Compare:
    if type(operator) is not str:
        operator = exact(operator)
    if not isinstance(operator, str) or operator not in _OPERATORS:
        raise QueryError(f"unknown operator {shown(operator)} on {field}: known are {', '.join(sorted(_OPERATORS))}")
    if operator in _LISTS:
        if isinstance(operand, (str, bytes, Mapping)) or not isinstance(operand, (Sequence, set, frozenset)):
            raise QueryError(f"{operator} on {field} requires a list of values")
        if len(operand) > MOST_VALUES:
            raise QueryError(f"{operator} on {field} has {len(operand):,} values: at most {MOST_VALUES:,} are taken")
        values: Collection[Any] = operand
        if type(operand) not in (list, tuple, set, frozenset):
            values = listed(operand, f"{operator} on {field}", QueryError, "a list of values", MOST_VALUES)
        return Compare(field, operator, _scalars(field, values))
    if operator == "$exists":
        if not isinstance(operand, bool):
            raise QueryError(f"$exists on {field} requires true or false")
        return Compare(field, operator, operand)
    value = _scalar(field, operand)
    if operator in _ORDERING and (value is None or isinstance(value, bool) or field == "tags"):
        raise QueryError(f"{operator} on {field} cannot order {shown(operand)}")
    if operator == "$contains" and not isinstance(value, str):
        raise QueryError(f"$contains on {field} requires text")
    if field in _RANKS and operator in _ORDERING:
        return Compare(field, "$in", _levels(_RANKS[field], operator, str(value)))
    return Compare(field, operator, value)


def _levels(ranks: Sequence[str], operator: str, value: str) -> tuple[Scalar, ...]:
    """Return the labels that pass an ordering: the store contains texts, which sort alphabetically."""
    at = ranks.index(value)
    lower, higher = ranks[:at], ranks[at + 1 :]
    levels = lower if operator in ("$lt", "$lte") else higher
    return (*levels, value) if operator in ("$lte", "$gte") else tuple(levels)


def _field(key: str) -> str:
    if key in FILTER_FIELDS:
        return key
    if key.startswith("attrs."):
        if all(utf8(key, "a key of where", QueryError).split(".")[1:]):
            return key
        raise QueryError(f"{shown(key)} is not a path into attrs: wanted attrs.name or attrs.name.name")
    raise QueryError(
        f"unknown field {shown(key)} in where: known are {', '.join(sorted(FILTER_FIELDS))} and attrs.NAME"
    )


def _scalars(field: str, values: Collection[Any]) -> tuple[Scalar, ...]:
    """Convert values for comparison with a field."""
    scalars = _plain_values(field, values)
    if scalars is None:
        # True == 1 in Python, but not in a filter.
        scalars = {(isinstance(value, bool), value): value for value in (_scalar(field, v) for v in values)}.values()
    return tuple(scalars)


def _plain_values(field: str, values: Collection[Any]) -> Collection[Scalar] | None:
    """Return values that need no conversion, checked in bulk: a check per value takes longer than the search.

    None if any value needs a conversion, or is invalid.
    """
    types = set(map(type, values))
    in_attrs = field not in FILTER_FIELDS
    if types == {str} and field not in _LABELS and (in_attrs or field == "tags" or field in _TEXT_FIELDS):
        with suppress(QueryError):
            utf8("".join(values), field, QueryError)
            return values
    is_number = types and types <= {int, float} and (in_attrs or field in _LINE_FIELDS)
    in_range = is_number and min(values) >= -_BEYOND and max(values) < _BEYOND
    return values if in_range and (float not in types or all(map(math.isfinite, values))) else None


def _scalar(field: str, value: Any) -> Scalar:
    if type(value) not in _PLAIN and not isinstance(value, datetime):
        value = exact(value.item() if isinstance(value, Number) and hasattr(value, "item") else value)
    if field in _TIME_FIELDS:
        # An empty text stays as it is and is rejected as a time: only None means "without a time".
        if isinstance(value, str) and value.strip():
            try:
                value = Times().epoch(value, field)
            except EntryError as fault:
                raise QueryError(str(fault)) from None
        return as_epoch(value, field, QueryError)
    if value is None or isinstance(value, bool):
        if field in FILTER_FIELDS and isinstance(value, bool):
            raise QueryError(f"{field} is text: it cannot be compared with {shown(value)}")
        return value
    if isinstance(value, str):
        if field in _LINE_FIELDS:
            raise QueryError(f"{field} is a number: it cannot be compared with {shown(value)}")
        return _checked_text(field, value)
    if isinstance(value, (int, float)) and (field not in FILTER_FIELDS or field in _LINE_FIELDS):
        if isinstance(value, float) and not math.isfinite(value):
            reason = "NaN equals nothing and is in no order" if math.isnan(value) else "no number is infinite"
            raise QueryError(f"{field} is compared with {shown(value)}: {reason}; wanted a finite number")
        if isinstance(value, int) and not -_BEYOND <= value < _BEYOND:
            raise QueryError(f"{field} is compared with {shown(value)}, which is not a 64-bit integer")
        return value
    raise QueryError(f"{field} cannot be compared with {shown(value)} ({type(value).__name__})")
