"""Values of ``tags`` and ``attrs`` in SQL, compared as in SQLite.

The type is `json` rather than `jsonb`, to preserve the spelling of numbers: in SQLite ``1`` is an integer, and ``1e18``
and integers of more than 64 bits are doubles.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from septet.store.rows import Condition

_LEAST, _BEYOND = -(2**63), 2**63

#: The number in the text of a member ``m``. Doubles of SQLite are cast to float8 first; then 64-bit integers compare
#: exactly, and others by their shortest decimals, which preserves equality and order.
NUMBER = (
    "CASE WHEN m.text ~ '^-?[0-9]{1,18}$' OR length(m.text) > 308 THEN m.text::numeric "
    f"WHEN m.text ~ '^-?[0-9]{{19}}$' AND m.text::numeric BETWEEN {_LEAST} AND {_BEYOND - 1} THEN m.text::numeric "
    "WHEN m.text::float8 = trunc(m.text::float8) AND m.text::float8 >= -9223372036854775808::float8 "
    "AND m.text::float8 < 9223372036854775808::float8 THEN m.text::float8::bigint::numeric "
    "ELSE m.text::float8::text::numeric END"
)
#: Sort columns of members ``m``: numbers, then texts by code point, then False and True.
MEMBER_ORDER = (
    "CASE m.type WHEN 'number' THEN 0 WHEN 'string' THEN 1 WHEN 'boolean' THEN 2 END",
    f"CASE m.type WHEN 'number' THEN {NUMBER} END",
    "CASE m.type WHEN 'string' THEN m.text END COLLATE \"C\"",
    "CASE m.type WHEN 'boolean' THEN m.text = 'true' END",
)


def canonical(number: float) -> str:
    """Return a number as the text of its `NUMBER`."""
    if isinstance(number, int):
        return str(number)
    return str(int(number)) if number.is_integer() and _LEAST <= number < _BEYOND else str(Decimal(repr(number)))


def canonicals(numbers: Sequence[float]) -> list[str]:
    """Return the unique `canonical` texts of numbers."""
    return list(dict.fromkeys(map(canonical, numbers)))


def source(field: str) -> Condition:
    """Return the expression, of type `json`, for ``tags`` or a path into attrs; NULL for a missing path."""
    if field == "tags":
        return Condition("e.tags::json")
    sql = "e.attrs::json"
    names: list[str] = []
    parameters: list[object] = []
    for name in field.split(".")[1:]:
        if any(map(str.isdigit, name)):
            # `#>` would also take a number as a list index.
            if names:
                sql, names = f"({sql} #> %s::text[])", _flush(names, parameters)
            sql = f"({sql} -> %s::text)"
            parameters.append(_storable(name))
        else:
            names.append(name)
    if names:
        sql = f"({sql} #> %s::text[])"
        _flush(names, parameters)
    return Condition(sql, tuple(parameters))


def members(field: str, *, lists: bool = True) -> Condition:
    """Return the FROM item for members ``m`` (``type``, ``text``, ``place``) of a field; a scalar is a list of one.

    Objects have no members.

    Args:
        lists: include members of lists.
    """
    inside, within = source(field), "s.v" if lists else "'[]'::json"
    # unnest evaluates the expression once. Citus refuses OFFSET 0 and json_build_array.
    return Condition(
        f"(SELECT unnest(ARRAY[{inside.sql}]) AS v) s CROSS JOIN LATERAL json_array_elements(CASE json_typeof(s.v) "
        f"WHEN 'array' THEN {within} WHEN 'object' THEN '[]'::json ELSE ('[' || s.v::text || ']')::json END) "
        "WITH ORDINALITY AS j(value, place) CROSS JOIN LATERAL "
        "(SELECT unnest(ARRAY[json_typeof(j.value)]) AS type, j.value #>> '{}' AS text, j.place) m",
        inside.parameters,
    )


def value_of(kind: str | None, text: str) -> Any:
    """Return the value of a member from its type and text; None unless it is a text, number or boolean."""
    if kind == "string":
        return text
    if kind == "boolean":
        return text == "true"
    if kind != "number":
        return None
    if text.lstrip("-").isdigit() and len(text) < 25 and _LEAST <= int(text) < _BEYOND:
        return int(text)
    return float(text)


def _flush(names: list[str], parameters: list[object]) -> list[str]:
    parameters.append([_storable(name) for name in names])
    return []


def _storable(name: str) -> str:
    # Stored names have no NUL; U+FFFF prevents a match with another name.
    return name.replace("\0", "\uffff\uffff")
