"""A plan's filters as SQL over ``entries e``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from septet.query.plan import Plan
from septet.ranking.pool import json_text
from septet.storage.tables.fragments import MEMORY, SEARCHABLE

if TYPE_CHECKING:
    from septet.query.filters import Compare, Filter

__all__ = ["Condition", "chosen", "conditions", "conjunction", "validity"]

_COMPARISONS = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


class Condition(NamedTuple):
    """A piece of SQL with its parameters.

    Attributes:
        depth: how many joins are in each other.
    """

    sql: str
    parameters: tuple[object, ...] = ()
    depth: int = 0


def conditions(plan: Plan, *, memories: bool = False) -> dict[str, Condition]:
    """Return every condition that a candidate must pass, by name.

    Args:
        memories: the condition on kinds for memories alone, rather than for all that the plan asks for.
    """
    out = {"live": Condition("e.live")}
    if memories:
        out["kind"] = Condition(MEMORY)
    elif not plan.scores_memories:
        out["kind"] = Condition(SEARCHABLE)
    if not plan.include_expired:
        out["valid"] = validity(plan.now)
    out.update((name, _translate(f)) for name, f in plan.filters.items())
    return out


def chosen(plan: Plan) -> Condition | None:
    """Return the caller's own filters joined, without validity and kinds; None when there are none."""
    return conjunction([_translate(f) for f in plan.filters.values()]) if plan.filters else None


def validity(now: float) -> Condition:
    """Return the condition that an entry is valid at a moment: ``valid_from <= now < valid_until``."""
    return Condition(
        "(e.valid_until IS NULL OR e.valid_until > ?) AND (e.valid_from IS NULL OR e.valid_from <= ?)", (now, now)
    )


def conjunction(parts: Mapping[str, Condition] | Sequence[Condition]) -> Condition:
    """Join conditions by AND."""
    listed = list(parts.values()) if isinstance(parts, Mapping) else list(parts)
    return _joined(listed, " AND ", "1")


def _translate(item: Filter, *, negated: bool = False) -> Condition:
    """Translate a filter, or what it does not let through.

    Negations go down to the comparisons: around groups they would be deeper than SQLite's parser, however few.
    """
    # Here, because most searches have no filter.
    from septet.query.filters import AllOf, AnyOf, Not

    if isinstance(item, Not):
        return _translate(item.part, negated=not negated)
    if isinstance(item, (AllOf, AnyOf)):
        parts = (_translate(part, negated=negated) for part in item.parts)
        return _joined(parts, " AND ", "1") if isinstance(item, AllOf) != negated else _joined(parts, " OR ", "0")
    return _negated(_compare(item)) if negated else _compare(item)


def _negated(inner: Condition) -> Condition:
    # Unknown counts as false, so that `not` of it is true.
    return Condition(f"NOT coalesce(({inner.sql}), 0)", inner.parameters)


def _joined(parts: Iterable[Condition], word: str, empty: str) -> Condition:
    """Join conditions pairwise: SQLite bounds the depth of an expression, and a long chain is as deep as it is long."""
    # The deepest comes first: SQLite's parser keeps what stands before a bracket until the bracket is closed.
    listed = sorted(parts, key=attrgetter("depth"), reverse=True) or [Condition(empty)]
    while len(listed) > 1:
        pairs = [listed[i : i + 2] for i in range(0, len(listed), 2)]
        listed = [
            Condition(
                word.join(f"({p.sql})" for p in pair), tuple(v for p in pair for v in p.parameters), pair[0].depth + 1
            )
            for pair in pairs
        ]
    return listed[0]


def _compare(item: Compare) -> Condition:
    if item.operator == "$ne":
        return _negated(_compare(replace(item, operator="$eq")))
    if item.operator == "$nin":
        return _negated(_compare(replace(item, operator="$in")))
    if item.operator == "$all":
        values = item.value if isinstance(item.value, tuple) else (item.value,)
        return _joined((_compare(replace(item, operator="$eq", value=v)) for v in values), " AND ", "1")
    if item.field == "tags" or item.field.startswith("attrs."):
        return _compare_json(item)
    column = f"e.{item.field}"
    if item.operator == "$exists":
        return Condition(f"{column} IS {'NOT ' if item.value else ''}NULL")
    if item.operator == "$contains":
        return Condition(f"instr(casefold({column}), casefold(?)) > 0", (item.value,))
    if item.operator == "$in":
        values = item.value if isinstance(item.value, tuple) else (item.value,)
        inside = Condition(
            f"{column} IN (SELECT value FROM json_each(?))", (json_text([v for v in values if v is not None]),)
        )
        return _joined([inside, Condition(f"{column} IS NULL")], " OR ", "0") if None in values else inside
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
    values = item.value if isinstance(item.value, tuple) else (item.value,)
    inner = _joined(_members(item.operator, [v for v in values if v is not None]), " OR ", "0")
    # json_each would walk the values of an object like those of a list.
    sql = f"json_type({arguments}) <> 'object' AND EXISTS (SELECT 1 FROM json_each({arguments}) j WHERE {inner.sql})"
    some = Condition(sql, (*parameters, *parameters, *inner.parameters))
    if None not in values:
        return some
    return _joined([some, Condition(f"coalesce(json_type({arguments}), 'null') = 'null'", parameters)], " OR ", "0")


def _json_arguments(field: str) -> tuple[str, tuple[object, ...]]:
    if field == "tags":
        return "e.tags", ()
    # SQLite compares a path with the names in the JSON text as written there, so they are escaped in the same way.
    path = "$" + "".join(f".{json_text(part)}" for part in field.split(".")[1:])
    return "e.attrs, ?", (path,)


def _members(operator: str, values: Sequence[object]) -> list[Condition]:
    """Compare one member ``j``; JSON's booleans are not numbers, and text is not ordered with numbers."""
    truths = [v for v in values if isinstance(v, bool)]
    texts = [v for v in values if isinstance(v, str)]
    numbers = [v for v in values if not isinstance(v, (bool, str))]
    if operator == "$contains":
        return [Condition("j.type = 'text' AND instr(casefold(j.value), casefold(?)) > 0", (v,)) for v in texts]
    out = [Condition(f"j.type = '{'true' if v else 'false'}'") for v in truths]
    for kind, some in (("j.type = 'text'", texts), ("j.type IN ('integer', 'real')", numbers)):
        if operator == "$in":
            inside = f"{kind} AND j.value IN (SELECT value FROM json_each(?))"
            out += [Condition(inside, (json_text(some),))] if some else []
        else:
            out += [Condition(f"{kind} AND j.value {_COMPARISONS[operator]} ?", (v,)) for v in some]
    return out
