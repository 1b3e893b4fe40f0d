"""A plan's filters as SQL over ``entries e``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from septet.profiles.filters import AllOf, AnyOf, Compare, Filter, Not
from septet.profiles.plan import Plan

__all__ = ["Condition", "conditions", "conjunction", "validity"]

_COMPARISONS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


@dataclass(frozen=True, slots=True)
class Condition:
    """A piece of SQL with its parameters."""

    sql: str
    parameters: tuple[object, ...] = ()


def conditions(plan: Plan, *, memories: bool = False) -> dict[str, Condition]:
    """Return everything a candidate has to pass, by name.

    Args:
        memories: the condition on kinds for the leg that searches memories, rather than for all others.
    """
    out = {"live": Condition("e.live")}
    out["kind"] = Condition("e.kind = 'memory'" if memories else "e.kind <> 'memory'")
    if not plan.include_expired:
        out["valid"] = validity(plan.now)
    # Whoever asks for memories gets them, also next to entries of certain kinds.
    out.update((name, _translate(f)) for name, f in plan.filters.items() if not (memories and name == "kinds"))
    return out


def validity(now: float) -> Condition:
    """Return the condition that an entry is valid at a moment: ``valid_from <= now < valid_until``."""
    return Condition(
        "(e.valid_until IS NULL OR e.valid_until > ?) AND (e.valid_from IS NULL OR e.valid_from <= ?)", (now, now)
    )


def conjunction(parts: Mapping[str, Condition] | Sequence[Condition]) -> Condition:
    """Join conditions by AND."""
    listed = list(parts.values()) if isinstance(parts, Mapping) else list(parts)
    return _joined(listed, " AND ", "1")


def _translate(item: Filter) -> Condition:
    if isinstance(item, AllOf):
        return _joined(map(_translate, item.parts), " AND ", "1")
    if isinstance(item, AnyOf):
        return _joined(map(_translate, item.parts), " OR ", "0")
    if isinstance(item, Not):
        inner = _translate(item.part)
        # Unknown counts as false, so that `not` of it is true.
        return Condition(f"NOT coalesce(({inner.sql}), 0)", inner.parameters)
    return _compare(item)


def _joined(parts: Iterable[Condition], word: str, empty: str) -> Condition:
    listed = list(parts)
    if not listed:
        return Condition(empty)
    sql = word.join(f"({p.sql})" for p in listed)
    return Condition(sql, tuple(v for p in listed for v in p.parameters))


def _compare(item: Compare) -> Condition:
    if item.operator == "$ne":
        return _translate(Not(Compare(item.field, "$eq", item.value)))
    if item.operator == "$nin":
        return _translate(Not(Compare(item.field, "$in", item.value)))
    if item.operator == "$all":
        values = item.value if isinstance(item.value, tuple) else (item.value,)
        return _joined((_compare(Compare(item.field, "$eq", v)) for v in values), " AND ", "1")
    if item.field == "tags" or item.field.startswith("attrs."):
        return _compare_json(item)
    column = f"e.{item.field}"
    if item.operator == "$exists":
        return Condition(f"{column} IS {'NOT ' if item.value else ''}NULL")
    if item.operator == "$contains":
        return Condition(f"instr(lower({column}), lower(?)) > 0", (item.value,))
    if item.operator == "$in":
        values = item.value if isinstance(item.value, tuple) else (item.value,)
        return Condition(f"{column} IN ({_marks(values)})", values)
    if item.value is None:
        return Condition(f"{column} IS NULL")
    return Condition(f"{column} {_COMPARISONS[item.operator]} ?", (item.value,))


def _compare_json(item: Compare) -> Condition:
    """Compare a JSON value: a list matches when one of its members does, a scalar counts as a list of one."""
    arguments, parameters = _json_arguments(item.field)
    if item.operator == "$exists":
        if item.field == "tags":
            return Condition(f"e.tags {'<>' if item.value else '='} '[]'")
        return Condition(f"json_type({arguments}) IS {'NOT ' if item.value else ''}NULL", parameters)
    if item.value is None:
        return Condition(f"coalesce(json_type({arguments}), 'null') = 'null'", parameters)
    values = item.value if isinstance(item.value, tuple) else (item.value,)
    tests = [_member(item.operator, v) for v in values]
    inner = _joined(tests, " OR ", "0")
    sql = f"EXISTS (SELECT 1 FROM json_each({arguments}) j WHERE {inner.sql})"
    return Condition(sql, (*parameters, *inner.parameters))


def _json_arguments(field: str) -> tuple[str, tuple[object, ...]]:
    if field == "tags":
        return "e.tags", ()
    path = "$" + "".join(f'."{part}"' for part in field.split(".")[1:])
    return "e.attrs, ?", (path,)


def _member(operator: str, value: object) -> Condition:
    """Compare one member ``j``; JSON's booleans are no numbers, and text is not ordered with numbers."""
    if isinstance(value, bool):
        return Condition(f"j.type = '{'true' if value else 'false'}'")
    if operator == "$contains":
        return Condition("j.type = 'text' AND instr(lower(j.value), lower(?)) > 0", (value,))
    kind = "j.type = 'text'" if isinstance(value, str) else "j.type IN ('integer', 'real')"
    return Condition(f"{kind} AND j.value {_COMPARISONS.get(operator, '=')} ?", (value,))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
