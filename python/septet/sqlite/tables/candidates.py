"""Candidates by a plan's filters, in SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.query.plan import Plan
from septet.sqlite.store.nul import listed
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables.conditions import conditions, conjunction, filtered, validity
from septet.sqlite.tables.fragments import FINDABLE
from septet.store.rows import Condition

if TYPE_CHECKING:
    from septet.query.filters import Filter


def rows_where(read: SqliteReading, condition: Condition) -> list[int]:
    """Return the rows of searchable entries that pass a condition, in any order."""
    sql = f"SELECT e.row FROM entries e WHERE {FINDABLE} AND {condition.sql}"
    return [row for (row,) in read.sql.execute(sql, condition.parameters)]


def passing_rows(read: SqliteReading, plan: Plan, ids: Sequence[str]) -> list[int]:
    """Return the rows of the ids that pass every filter of a plan, in the order of the ids."""
    passing = conjunction(conditions(plan))
    source, parameter = listed(list(ids))
    sql = f"SELECT e.row FROM {source} j JOIN entries e ON e.id = j.value WHERE {passing.sql} ORDER BY j.key"
    return [row for (row,) in read.sql.execute(sql, (parameter, *passing.parameters))]


def any_passing(read: SqliteReading, plan: Plan, filters: Sequence[Filter]) -> list[bool]:
    """Return True for each filter that some entry passes, ignoring the plan's own filters."""
    others = conditions(plan._replace(filters={}, scores_memories=plan.include_memories))
    candidates = []
    for item in filters:
        passing = conjunction({**others, "own": filtered({"own": item})})
        sql = f"SELECT EXISTS (SELECT 1 FROM entries e WHERE {passing.sql})"
        candidates.append(bool(read.sql.execute(sql, passing.parameters).fetchone()[0]))
    return candidates


def rows_of(read: SqliteReading, ids: Sequence[str]) -> dict[str, int]:
    """Return the rows of existing ids, by id."""
    source, parameter = listed(list(ids))
    sql = f"SELECT e.id, e.row FROM {source} j CROSS JOIN entries e ON e.id = j.value WHERE e.live"
    return dict(read.sql.execute(sql, (parameter,)))


def valid_ids(read: SqliteReading, plan: Plan, ids: Sequence[str]) -> frozenset[str]:
    """Return the existing ids that are valid at the plan's time; all of them if it includes expired entries."""
    valid = Condition("1") if plan.include_expired else validity(plan.now)
    source, parameter = listed(list(ids))
    sql = f"SELECT e.id FROM {source} j JOIN entries e ON e.id = j.value WHERE e.live AND ({valid.sql})"
    return frozenset(entry_id for (entry_id,) in read.sql.execute(sql, (parameter, *valid.parameters)))


def filters_passed(read: SqliteReading, plan: Plan, row: int, *, memories: bool) -> dict[str, bool]:
    """Return True for each filter of a plan, by name, that an entry passes.

    Args:
        memories: use the filters of the leg that searches memories.
    """
    named = conditions(plan, memories=memories)
    columns = ", ".join(f"coalesce(({condition.sql}), 0)" for condition in named.values())
    values = [value for condition in named.values() for value in condition.parameters]
    values_row = read.sql.execute(f"SELECT {columns} FROM entries e WHERE e.row = ?", (*values, row)).fetchone()
    return {name: bool(passed) for name, passed in zip(named, values_row) if name != "live"}
