"""Which entries pass a plan's filters, asked of SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.query.plan import Plan
from septet.sqlite.store.nul import listed
from septet.sqlite.store.store import Reading
from septet.sqlite.tables.conditions import Condition, conditions, conjunction, filtered, validity
from septet.sqlite.tables.fragments import FINDABLE

if TYPE_CHECKING:
    from septet.query.filters import Filter

__all__ = ["any_passing", "filters_passed", "passing_rows", "rows_of", "rows_where", "valid_ids"]


def rows_where(read: Reading, condition: Condition) -> list[int]:
    """Return the rows of the entries that a search may find and that pass a condition, in any order."""
    sql = f"SELECT e.row FROM entries e WHERE {FINDABLE} AND {condition.sql}"
    return [row for (row,) in read.sql.execute(sql, condition.parameters)]


def passing_rows(read: Reading, plan: Plan, ids: Sequence[str]) -> list[int]:
    """Return the rows of those ids that exist and pass every filter of a plan, in the order of the ids."""
    passing = conjunction(conditions(plan))
    source, parameter = listed(list(ids))
    sql = f"SELECT e.row FROM {source} j JOIN entries e ON e.id = j.value WHERE {passing.sql} ORDER BY j.key"
    return [row for (row,) in read.sql.execute(sql, (parameter, *passing.parameters))]


def any_passing(read: Reading, plan: Plan, filters: Sequence[Filter]) -> list[bool]:
    """Say for each filter whether an entry passes it that a plan may find without its own filters."""
    others = conditions(plan._replace(filters={}, scores_memories=plan.include_memories))
    candidates = []
    for item in filters:
        passing = conjunction({**others, "own": filtered({"own": item})})
        sql = f"SELECT EXISTS (SELECT 1 FROM entries e WHERE {passing.sql})"
        candidates.append(bool(read.sql.execute(sql, passing.parameters).fetchone()[0]))
    return candidates


def rows_of(read: Reading, ids: Sequence[str]) -> dict[str, int]:
    """Return the row of each of the ids that exists, by id."""
    source, parameter = listed(list(ids))
    sql = f"SELECT e.id, e.row FROM {source} j CROSS JOIN entries e ON e.id = j.value WHERE e.live"
    return dict(read.sql.execute(sql, (parameter,)))


def valid_ids(read: Reading, plan: Plan, ids: Sequence[str]) -> frozenset[str]:
    """Return those of the ids that exist and are valid at the plan's moment, or exist, if it includes expired ones."""
    valid = Condition("1") if plan.include_expired else validity(plan.now)
    source, parameter = listed(list(ids))
    sql = f"SELECT e.id FROM {source} j JOIN entries e ON e.id = j.value WHERE e.live AND ({valid.sql})"
    return frozenset(entry_id for (entry_id,) in read.sql.execute(sql, (parameter, *valid.parameters)))


def filters_passed(read: Reading, plan: Plan, row: int, *, memories: bool) -> dict[str, bool]:
    """Return every filter of a plan by name, and whether an entry passes it.

    Args:
        memories: ask the filters of the leg that searches memories.
    """
    named = conditions(plan, memories=memories)
    columns = ", ".join(f"coalesce(({condition.sql}), 0)" for condition in named.values())
    values = [value for condition in named.values() for value in condition.parameters]
    values_row = read.sql.execute(f"SELECT {columns} FROM entries e WHERE e.row = ?", (*values, row)).fetchone()
    return {name: bool(passed) for name, passed in zip(named, values_row) if name != "live"}
