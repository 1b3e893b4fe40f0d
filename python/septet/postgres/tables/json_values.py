"""Values of ``tags`` and ``attrs`` in SQL, compared as SQLite compares them.

The type is `json` rather than `jsonb`, as it keeps numbers as they are written: to SQLite ``1`` is an integer and
``1e18`` a double, and integers of more than 64 bits are doubles too.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from septet.sqlite.tables.conditions import Condition

__all__ = ["MEMBER_ORDER", "NUMBER", "canonical", "canonicals", "members", "source", "value_of"]

_LEAST, _BEYOND = -(2**63), 2**63

#: The number that the text of a member ``m`` stands for. What SQLite takes for a double becomes one first: whole ones
#: that fit into 64 bits count exactly, others by their shortest decimals, which keeps both equality and order.
NUMBER = (
    "CASE WHEN m.text ~ '^-?[0-9]{1,18}$' OR length(m.text) > 308 THEN m.text::numeric "
    f"WHEN m.text ~ '^-?[0-9]{{19}}$' AND m.text::numeric BETWEEN {_LEAST} AND {_BEYOND - 1} THEN m.text::numeric "
    "WHEN m.text::float8 = trunc(m.text::float8) AND m.text::float8 >= -9223372036854775808::float8 "
    "AND m.text::float8 < 9223372036854775808::float8 THEN m.text::float8::bigint::numeric "
    "ELSE m.text::float8::text::numeric END"
)
#: The columns that members ``m`` are ordered by: numbers, then texts by their characters, then False and True.
MEMBER_ORDER = (
    "CASE m.type WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'boolean' THEN 2 END",
    f"CASE m.type WHEN 'number' THEN {NUMBER} END",
    "CASE m.type WHEN 'string' THEN m.text END COLLATE \"C\"",
    "CASE m.type WHEN 'boolean' THEN m.text = 'true' END",
)


def canonical(number: float) -> str:
    """Return a number as `NUMBER` makes it of a member."""
    if isinstance(number, int):
        return str(number)
    return str(int(number)) if number.is_integer() and _LEAST <= number < _BEYOND else str(Decimal(repr(number)))


def canonicals(numbers: Sequence[float]) -> list[str]:
    """Return numbers as `canonical` does, each once."""
    return list(dict.fromkeys(map(canonical, numbers)))


def source(field: str) -> Condition:
    """Return the expression of ``tags`` or of a path into attrs, of type `json`; NULL where there is nothing."""
    if field == "tags":
        return Condition("e.tags::json")
    sql = "e.attrs::json"
    names: list[str] = []
    parameters: list[object] = []
    for name in field.split(".")[1:]:
        if any(map(str.isdigit, name)):
            # In a path it may also be a place in a list.
            if names:
                sql, names = f"({sql} #> %s::text[])", _moved(names, parameters)
            sql = f"({sql} -> %s::text)"
            parameters.append(_storable(name))
        else:
            names.append(name)
    if names:
        sql = f"({sql} #> %s::text[])"
        _moved(names, parameters)
    return Condition(sql, tuple(parameters))


def members(field: str, *, lists: bool = True) -> Condition:
    """Return what to select members ``m`` (``type``, ``text``, ``place``) of a field from, a scalar as a list of one.

    Values in objects are no members.

    Args:
        lists: look into lists; False leaves them out.
    """
    inside, within = source(field), "s.v" if lists else "'[]'::json"
    # What stands beside an unnest is made once. Citus takes neither OFFSET 0 nor json_build_array.
    return Condition(
        f"(SELECT unnest(ARRAY[{inside.sql}]) AS v) s CROSS JOIN LATERAL json_array_elements(CASE json_typeof(s.v) "
        f"WHEN 'array' THEN {within} WHEN 'object' THEN '[]'::json ELSE ('[' || s.v::text || ']')::json END) "
        "WITH ORDINALITY AS j(value, place) CROSS JOIN LATERAL "
        "(SELECT unnest(ARRAY[json_typeof(j.value)]) AS type, j.value #>> '{}' AS text, j.place) m",
        inside.parameters,
    )


def value_of(kind: str | None, text: str) -> Any:
    """Return the value of a member from its type and text; None for what is no text, number or truth value."""
    if kind == "string":
        return text
    if kind == "boolean":
        return text == "true"
    if kind != "number":
        return None
    if text.lstrip("-").isdigit() and len(text) < 25 and _LEAST <= int(text) < _BEYOND:
        return int(text)
    return float(text)


def _moved(names: list[str], parameters: list[object]) -> list[str]:
    parameters.append([_storable(name) for name in names])
    return []


def _storable(name: str) -> str:
    # No name has NUL here; U+FFFF keeps it from being another one.
    return name.replace("\0", "\uffff\uffff")
