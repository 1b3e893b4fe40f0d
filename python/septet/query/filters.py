"""Filters: the ``where`` of a search, checked and brought into one small tree that every tier can translate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from septet.entry import SEVERITIES, as_epoch, utf8
from septet.errors import QueryError

__all__ = ["FILTER_FIELDS", "AllOf", "AnyOf", "Compare", "Filter", "Not", "compare_text", "names", "parse_where"]

Scalar: TypeAlias = "str | int | float | bool | None"

_TEXT_FIELDS = frozenset(
    ["id", "kind", "type", "domain", "severity", "title", "description", "context", "path", "parent"]
)
_TIME_FIELDS = frozenset(["created_at", "updated_at", "valid_from", "valid_until"])
_LINE_FIELDS = frozenset({"first_line", "last_line"})
#: Fields a filter may name; attrs take a path, ``attrs.team`` or ``attrs.review.state``.
FILTER_FIELDS = _TEXT_FIELDS | _TIME_FIELDS | _LINE_FIELDS | {"tags"}

_ORDERING = frozenset({"$gt", "$gte", "$lt", "$lte"})
_LISTS = frozenset({"$in", "$nin", "$all"})
_OPERATORS = frozenset({"$eq", "$ne", "$exists", "$contains"}) | _ORDERING | _LISTS
MAX_DEPTH = 32


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


Filter: TypeAlias = "Compare | AllOf | AnyOf | Not"


def parse_where(where: Mapping[str, Any]) -> dict[str, Filter]:
    """Return one named filter per top-level key; an entry must pass all of them.

    Operators: ``$eq $ne $gt $gte $lt $lte $in $nin $all $exists $contains`` on fields, and ``$and $or $nor $not``
    around filters. A bare value means equality, or membership for tags and for lists in attrs.

    Raises:
        QueryError: an unknown field or operator, or a value that does not fit.
    """
    if not isinstance(where, Mapping):
        raise QueryError(f"where is {type(where).__name__}: wanted a dict such as {{'attrs.team': 'core'}}")
    return {f"where {key}": _parse_item(key, value, 0) for key, value in where.items()}


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
    return any(names(part, field, value, negated=negated) for part in item.parts)


def _checked_text(field: str, value: str) -> str:
    if field == "severity" and value not in SEVERITIES:
        raise QueryError(f"severity is {value!r}: wanted one of {', '.join(SEVERITIES)}")
    return utf8(value, f"the value {field} is compared with", QueryError)


def _parse_item(key: object, value: Any, depth: int) -> Filter:
    if depth > MAX_DEPTH:
        raise QueryError(f"where is nested deeper than {MAX_DEPTH} levels")
    if key in ("$and", "$or", "$nor"):
        if isinstance(value, (str, Mapping)) or not isinstance(value, Sequence) or not value:
            raise QueryError(f"{key} wants a non-empty list of filters")
        parts = tuple(_parse_filter(v, depth + 1) for v in value)
        if key == "$and":
            return AllOf(parts)
        return AnyOf(parts) if key == "$or" else Not(AnyOf(parts))
    if key == "$not":
        return Not(_parse_filter(value, depth + 1))
    if not isinstance(key, str):
        raise QueryError(f"where has the key {key!r}: wanted a field name")
    if key.startswith("$"):
        raise QueryError(f"unknown operator {key!r} around filters: known are $and, $or, $nor, $not")
    return _parse_field(_field(key), value, depth)


def _parse_filter(value: Any, depth: int) -> Filter:
    if not isinstance(value, Mapping) or not value:
        raise QueryError(f"{value!r} is no filter: wanted a non-empty dict")
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
    if not isinstance(operator, str) or operator not in _OPERATORS:
        raise QueryError(f"unknown operator {operator!r} on {field}: known are {', '.join(sorted(_OPERATORS))}")
    if operator in _LISTS:
        if isinstance(operand, (str, bytes, Mapping)) or not isinstance(operand, (Sequence, set, frozenset)):
            raise QueryError(f"{operator} on {field} wants a list of values")
        return Compare(field, operator, tuple(_scalar(field, v) for v in operand))
    if operator == "$exists":
        if not isinstance(operand, bool):
            raise QueryError(f"$exists on {field} wants true or false")
        return Compare(field, operator, operand)
    value = _scalar(field, operand)
    if operator in _ORDERING and (value is None or isinstance(value, bool) or field == "tags"):
        raise QueryError(f"{operator} on {field} cannot order {operand!r}")
    if operator == "$contains" and not isinstance(value, str):
        raise QueryError(f"$contains on {field} wants text")
    return Compare(field, operator, value)


def _field(key: str) -> str:
    if key in FILTER_FIELDS:
        return key
    if key.startswith("attrs."):
        if all(utf8(key, "a key of where", QueryError).split(".")[1:]):
            return key
        raise QueryError(f"{key!r} is no path into attrs: wanted attrs.name or attrs.name.name")
    raise QueryError(f"unknown field {key!r} in where: known are {', '.join(sorted(FILTER_FIELDS))} and attrs.NAME")


def _scalar(field: str, value: Any) -> Scalar:
    if field in _TIME_FIELDS:
        return as_epoch(value, field, QueryError)
    if value is None or isinstance(value, bool):
        if field in FILTER_FIELDS and isinstance(value, bool):
            raise QueryError(f"{field} is text: it cannot be compared with {value!r}")
        return value
    if isinstance(value, str):
        if field in _LINE_FIELDS:
            raise QueryError(f"{field} is a number: it cannot be compared with {value!r}")
        return _checked_text(field, value)
    if isinstance(value, (int, float)) and (field not in FILTER_FIELDS or field in _LINE_FIELDS):
        return as_epoch(value, field, QueryError) if isinstance(value, float) else _bounded(field, value)
    raise QueryError(f"{field} cannot be compared with {value!r} ({type(value).__name__})")


def _bounded(field: str, value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise QueryError(f"{field} is compared with {value}, which is no 64-bit integer")
    return value
