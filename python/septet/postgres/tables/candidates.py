"""Entries that pass the filters of a plan. Filters must be settled; see `septet.postgres.tables.phrases`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.postgres.store.transactions import PostgresReading
from septet.postgres.tables.conditions import conditions, conjunction, filtered, validity
from septet.postgres.tables.fragments import named
from septet.postgres.tables.phrases import settled
from septet.query.plan import SearchPlan
from septet.store.rows import Condition

if TYPE_CHECKING:
    from septet.query.filters import Filter

_NAMED = (
    "unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS w (bucket, id, place) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id"
)


def passing_rows(read: PostgresReading, plan: SearchPlan, ids: Sequence[str]) -> list[int]:
    """Return the rows of the existing ids that pass every filter of a plan, in the order of the ids."""
    passing = conjunction(conditions(plan))
    sql = f"SELECT e.row FROM {_NAMED} WHERE {passing.sql} ORDER BY w.place"
    return [row for (row,) in read.sql.execute(sql, (*named(read.vault, ids), *passing.parameters))]


def any_passing(read: PostgresReading, plan: SearchPlan, filters: Sequence[Filter]) -> list[bool]:
    """Return for each filter whether any entry passes it, among those that the plan finds without filters."""
    others = conditions(plan._replace(filters={}, scores_memories=plan.include_memories))
    passed = []
    for item in filters:
        passing = conjunction({**others, "own": filtered(settled(read, {"own": item}))})
        sql = f"SELECT EXISTS (SELECT 1 FROM septet.entries e WHERE e.vault = %s AND {passing.sql})"
        row = read.sql.execute(sql, (read.vault.number, *passing.parameters)).fetchone()
        passed.append(bool(row and row[0]))
    return passed


def passing_among(read: PostgresReading, plan: SearchPlan, rows: Sequence[int]) -> frozenset[int]:
    """Return the rows whose entries pass every filter of a plan."""
    passing = conjunction(conditions(plan))
    sql = (
        "SELECT e.row FROM unnest(%s::integer[], %s::bigint[]) AS w (bucket, row) "
        "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.row = w.row "
        f"WHERE {passing.sql}"
    )
    places = [read.vault.bucket_of_row(row) for row in rows], list(rows), read.vault.number
    return frozenset(row for (row,) in read.sql.execute(sql, (*places, *passing.parameters)))


def rows_of(read: PostgresReading, ids: Sequence[str]) -> dict[str, int]:
    """Return the rows of the existing ids, by id."""
    return dict(read.sql.execute(f"SELECT e.id, e.row FROM {_NAMED} WHERE e.live", named(read.vault, ids)).fetchall())


def valid_ids(read: PostgresReading, plan: SearchPlan, ids: Sequence[str]) -> frozenset[str]:
    """Return the existing ids that are valid at the plan's time, or all of them if it includes expired entries."""
    valid = Condition("TRUE") if plan.include_expired else validity(plan.now)
    sql = f"SELECT e.id FROM {_NAMED} WHERE e.live AND {valid.sql}"
    return frozenset(entry_id for (entry_id,) in read.sql.execute(sql, (*named(read.vault, ids), *valid.parameters)))


def filters_passed(read: PostgresReading, plan: SearchPlan, row: int, *, memories: bool) -> dict[str, bool]:
    """Return whether an entry passes each filter of a plan, or of its memory leg if ``memories``, by name."""
    by_name = conditions(plan, memories=memories)
    columns = ", ".join(f"({condition.sql}) IS TRUE" for condition in by_name.values())
    values = [value for condition in by_name.values() for value in condition.parameters]
    sql = f"SELECT {columns} FROM septet.entries e WHERE e.vault = %s AND e.bucket = %s AND e.row = %s"
    result = read.sql.execute(sql, (*values, read.vault.number, read.vault.bucket_of_row(row), row)).fetchone()
    return {name: bool(passed) for name, passed in zip(by_name, result or ()) if name != "live"}
