"""Filters: the ``where`` of a search, checked and brought into one small tree that every tier can translate."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from numbers import Number
from typing import Any, TypeAlias, TypeGuard

from septet.errors import EntryError, QueryError
from septet.inputs.arguments import as_epoch, exact, listed, shown, utf8
from septet.inputs.times import Times
from septet.model.entry import SEVERITIES, TRUSTS

__all__ = [
    "FILTER_FIELDS",
    "AllOf",
    "AnyOf",
    "Compare",
    "Filter",
    "Holds",
    "Not",
    "compare_text",
    "names",
    "parse_where",
]

Scalar: TypeAlias = "str | int | float | bool | None"

_TEXT_FIELDS = frozenset(
    ["id", "kind", "type", "domain", "severity", "title", "description", "context", "path", "parent", "source", "trust"]
)
_TIME_FIELDS = frozenset(["created_at", "updated_at", "valid_from", "valid_until"])
#: Fields that have one of a few values.
_LABELS: Mapping[str, Collection[str]] = {"severity": SEVERITIES, "trust": TRUSTS}
#: Of those the words in ascending order.
_RANKS: Mapping[str, Sequence[str]] = {"severity": SEVERITIES[::-1], "trust": TRUSTS}
_LINE_FIELDS = frozenset({"first_line", "last_line"})
#: Fields a filter may name; attrs take a path, ``attrs.team`` or ``attrs.review.state``.
FILTER_FIELDS = _TEXT_FIELDS | _TIME_FIELDS | _LINE_FIELDS | {"tags"}

_ORDERING = frozenset({"$gt", "$gte", "$lt", "$lte"})
_LISTS = frozenset({"$in", "$nin", "$all"})
_OPERATORS = frozenset({"$eq", "$ne", "$exists", "$contains"}) | _ORDERING | _LISTS
MAX_DEPTH = 32
#: Characters of a key of `where`.
MOST_KEY_CHARS = 4_096
#: So many filters a list of `$and`, `$or` or `$nor` may have, so many values a list of `$in`, `$nin` or `$all`.
MOST_PARTS, MOST_VALUES = 100_000, 1_000_000
#: So many comparisons a `where` may have, a list counted once: each may be made with every entry of the vault.
MOST_COMPARISONS = 1_000
#: The first integer that SQLite does not take.
_BEYOND = 2**63
#: Values that need no conversion.
_PLAIN = frozenset({str, int, float, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Compare:
    """One field against one value or list of values; ``operator`` is one of the ``$`` names."""

    field: str
    operator: str
    value: Scalar | tuple[Scalar, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds; true when there is none."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds; false when there is none."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: Filter


@dataclass(frozen=True, slots=True)
class Holds:
    """The full text matches an expression of FTS5 (quoted words), or holds all of some grams."""

    match: str
    grams: tuple[str, ...]


Filter: TypeAlias = "Compare | AllOf | AnyOf | Not | Holds"


def parse_where(where: Mapping[str, Any]) -> dict[str, Filter]:
    """Return one named filter per top-level key; an entry must pass all of them.

    Operators: ``$eq $ne $gt $gte $lt $lte $in $nin $all $exists $contains`` on fields, and ``$and $or $nor $not``
    around filters. A bare value means equality, or membership for tags and for lists in attrs. Times are epoch seconds,
    datetimes with a zone, or ISO text: a date is its first instant, and what has no zone is UTC.

    Raises:
        QueryError: an unknown field or operator, a value that does not fit, or too many of them.
    """
    if not isinstance(where, Mapping):
        raise QueryError(
            f"where is {type(where).__name__}, {shown(where)}: wanted a dict such as {{'attrs.team': 'core'}}"
        )
    found: dict[str, Filter] = {}
    for key, value in where.items():
        parsed = _parse_item(key, value, 0)
        found[f"where {key if type(key) is str else exact(key)}"] = parsed
    if (comparisons := sum(map(_comparisons, found.values()))) > MOST_COMPARISONS:
        raise QueryError(
            f"where has {comparisons:,} comparisons: at most {MOST_COMPARISONS:,} are taken; "
            "a list of values ($in, $nin, $all), or of equalities of one field, counts as one"
        )
    return found


def _comparisons(item: Filter) -> int:
    if isinstance(item, Not):
        return _comparisons(item.part)
    return sum(map(_comparisons, item.parts)) if isinstance(item, (AllOf, AnyOf)) else 1


def compare_text(field: str, value: str) -> Compare:
    """Return the filter that a text field equals a value.

    Raises:
        QueryError: no valid Unicode, or a severity that does not exist.
    """
    return Compare(field, "$eq", _checked_text(field, value))


def names(item: Filter, field: str, value: str, *, negated: bool = False) -> bool:
    """Say whether a filter asks for entries with this value in a field, by its name."""
    if isinstance(item, Not):
        return names(item.part, field, value, negated=not negated)
    if isinstance(item, Compare):
        wanted = ("$ne", "$nin") if negated else ("$eq", "$in", "$all")
        values = item.value if isinstance(item.value, tuple) else (item.value,)
        return item.field == field and item.operator in wanted and value in values
    return not isinstance(item, Holds) and any(names(part, field, value, negated=negated) for part in item.parts)


def _checked_text(field: str, value: str) -> str:
    if type(value) is not str:
        value = exact(value)
    for named, known in _LABELS.items():
        if field == named and value not in known:
            raise QueryError(f"{named} is {shown(value)}: wanted one of {', '.join(known)}")
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
            raise QueryError(f"{key} wants a non-empty list of filters")
        if len(value) > MOST_PARTS:
            raise QueryError(
                f"{key} has {len(value):,} filters: at most {MOST_PARTS:,} are taken; $in takes more values"
            )
        parts = _parse_parts(value, "$all" if key == "$and" else "$in", depth + 1)
        if key == "$and":
            return AllOf(parts)
        return AnyOf(parts) if key == "$or" else Not(AnyOf(parts))
    if key == "$not":
        return Not(_parse_filter(value, depth + 1))
    if key.startswith("$"):
        raise QueryError(f"unknown operator {shown(key)} around filters: known are $and, $or, $nor, $not")
    return _parse_field(_field(key), value, depth)


def _parse_parts(items: Sequence[Any], joined: str, depth: int) -> tuple[Filter, ...]:
    """Return the filters of a list; equalities on one field become one comparison with the list of their values.

    Args:
        joined: the operator that joins them.
    """
    if depth > MAX_DEPTH:
        raise QueryError(f"where is nested deeper than {MAX_DEPTH} levels")
    equal: dict[str, list[Any]] = {}
    others = []
    if set(map(type, items)) == {dict} and set(map(len, items)) == {1}:
        keys, given = set(chain.from_iterable(items)), list(chain.from_iterable(map(dict.values, items)))
        key = keys.pop()
        if not keys and _is_field(key) and set(map(type, given)) <= _PLAIN:
            # The same as below, in a third of the time.
            equal, items = {key: given}, ()
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
        known = _scalars(field, values)
        parts.append(Compare(field, "$eq", known[0]) if len(known) == 1 else Compare(field, joined, known))
    return (*parts, *(_parse_filter(item, depth) for item in others))


def _is_field(key: object) -> TypeGuard[str]:
    return isinstance(key, str) and not key.startswith("$")


def _parse_filter(value: Any, depth: int) -> Filter:
    if not isinstance(value, Mapping) or not value:
        raise QueryError(f"{shown(value)} is no filter: wanted a non-empty dict")
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
            raise QueryError(f"{operator} on {field} wants a list of values")
        if len(operand) > MOST_VALUES:
            raise QueryError(f"{operator} on {field} has {len(operand):,} values: at most {MOST_VALUES:,} are taken")
        values: Collection[Any] = operand
        if type(operand) not in (list, tuple, set, frozenset):
            values = listed(operand, f"{operator} on {field}", QueryError, "a list of values", MOST_VALUES)
        return Compare(field, operator, _scalars(field, values))
    if operator == "$exists":
        if not isinstance(operand, bool):
            raise QueryError(f"$exists on {field} wants true or false")
        return Compare(field, operator, operand)
    value = _scalar(field, operand)
    if operator in _ORDERING and (value is None or isinstance(value, bool) or field == "tags"):
        raise QueryError(f"{operator} on {field} cannot order {shown(operand)}")
    if operator == "$contains" and not isinstance(value, str):
        raise QueryError(f"$contains on {field} wants text")
    if field in _RANKS and operator in _ORDERING:
        return Compare(field, "$in", _levels(_RANKS[field], operator, str(value)))
    return Compare(field, operator, value)


def _levels(ranks: Sequence[str], operator: str, value: str) -> tuple[Scalar, ...]:
    """Return the words that an ordering lets through: the store has words, whose order is another."""
    at = ranks.index(value)
    below, above = ranks[:at], ranks[at + 1 :]
    chosen = below if operator in ("$lt", "$lte") else above
    return (*chosen, value) if operator in ("$lte", "$gte") else tuple(chosen)


def _field(key: str) -> str:
    if key in FILTER_FIELDS:
        return key
    if key.startswith("attrs."):
        if all(utf8(key, "a key of where", QueryError).split(".")[1:]):
            return key
        raise QueryError(f"{shown(key)} is no path into attrs: wanted attrs.name or attrs.name.name")
    raise QueryError(
        f"unknown field {shown(key)} in where: known are {', '.join(sorted(FILTER_FIELDS))} and attrs.NAME"
    )


def _scalars(field: str, values: Collection[Any]) -> tuple[Scalar, ...]:
    """Return values as a field is compared with them."""
    known = _plain_values(field, values)
    if known is None:
        # True and 1 are equal to Python, and not in a comparison.
        known = {(isinstance(value, bool), value): value for value in (_scalar(field, v) for v in values)}.values()
    return tuple(known)


def _plain_values(field: str, values: Collection[Any]) -> Collection[Scalar] | None:
    """Return values that need no conversion, checked all at once: one by one that takes longer than the search.

    None when a value needs one, or is wrong.
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
        return as_epoch(_time(field, value) if isinstance(value, str) else value, field, QueryError)
    if value is None or isinstance(value, bool):
        if field in FILTER_FIELDS and isinstance(value, bool):
            raise QueryError(f"{field} is text: it cannot be compared with {shown(value)}")
        return value
    if isinstance(value, str):
        if field in _LINE_FIELDS:
            raise QueryError(f"{field} is a number: it cannot be compared with {shown(value)}")
        return _checked_text(field, value)
    if isinstance(value, (int, float)) and (field not in FILTER_FIELDS or field in _LINE_FIELDS):
        return _finite(field, value) if isinstance(value, float) else _bounded(field, value)
    raise QueryError(f"{field} cannot be compared with {shown(value)} ({type(value).__name__})")


def _time(field: str, text: str) -> object:
    """Return a time that is written as ISO text, as JSON has it; a date is its first instant, UTC without a zone."""
    try:
        # Half of a character would be no Unicode, an empty text no time at all, which is what None asks for.
        return Times().epoch(text, field) if text.strip() else text
    except EntryError as fault:
        raise QueryError(str(fault)) from None


def _finite(field: str, value: float) -> float:
    if not math.isfinite(value):
        why = "NaN equals nothing and is in no order" if math.isnan(value) else "no number is infinite"
        raise QueryError(f"{field} is compared with {shown(value)}: {why}; wanted a finite number")
    return value


def _bounded(field: str, value: int) -> int:
    if not -_BEYOND <= value < _BEYOND:
        raise QueryError(f"{field} is compared with {shown(value)}, which is no 64-bit integer")
    return value
