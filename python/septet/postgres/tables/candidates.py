"""Which entries pass a plan's filters, asked of PostgreSQL; the filters of every plan here are settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.postgres.store.store import PostgresReading
from septet.postgres.tables.conditions import Condition, conditions, conjunction, filtered, validity
from septet.postgres.tables.fragments import FINDABLE
from septet.postgres.tables.phrases import settled
from septet.query.plan import Plan

if TYPE_CHECKING:
    from septet.query.filters import Filter

__all__ = ["any_passing", "filters_passed", "passing_among", "passing_rows", "rows_of", "rows_where", "valid_ids"]

#: Ids with their buckets, and the entries that have them.
_NAMED = (
    "unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS w (bucket, id, place) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id"
)


def rows_where(read: PostgresReading, condition: Condition) -> list[int]:
    """Return the rows of the entries that a search may find and that pass a condition, in any order."""
    sql = f"SELECT e.row FROM septet.entries e WHERE e.vault = %s AND {FINDABLE} AND {condition.sql}"
    return [row for (row,) in read.sql.execute(sql, (read.vault.number, *condition.parameters))]


def passing_rows(read: PostgresReading, plan: Plan, ids: Sequence[str]) -> list[int]:
    """Return the rows of those ids that exist and pass every filter of a plan, in the order of the ids."""
    passing = conjunction(conditions(plan))
    sql = f"SELECT e.row FROM {_NAMED} WHERE {passing.sql} ORDER BY w.place"
    return [row for (row,) in read.sql.execute(sql, (*_named(read, ids), *passing.parameters))]


def any_passing(read: PostgresReading, plan: Plan, filters: Sequence[Filter]) -> list[bool]:
    """Say for each filter whether an entry passes it that a plan may find without its own filters."""
    others = conditions(plan._replace(filters={}, scores_memories=plan.include_memories))
    found = []
    for item in filters:
        passing = conjunction({**others, "own": filtered(settled(read, {"own": item}))})
        sql = f"SELECT EXISTS (SELECT 1 FROM septet.entries e WHERE e.vault = %s AND {passing.sql})"
        row = read.sql.execute(sql, (read.vault.number, *passing.parameters)).fetchone()
        found.append(bool(row and row[0]))
    return found


def passing_among(read: PostgresReading, plan: Plan, rows: Sequence[int]) -> frozenset[int]:
    """Return those of the rows whose entries pass every filter of a plan."""
    passing = conjunction(conditions(plan))
    sql = (
        "SELECT e.row FROM unnest(%s::integer[], %s::bigint[]) AS w (bucket, row) "
        "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.row = w.row "
        f"WHERE {passing.sql}"
    )
    given = [read.vault.bucket_of_row(row) for row in rows], list(rows), read.vault.number
    return frozenset(row for (row,) in read.sql.execute(sql, (*given, *passing.parameters)))


def rows_of(read: PostgresReading, ids: Sequence[str]) -> dict[str, int]:
    """Return the row of each of the ids that exists, by id."""
    return dict(read.sql.execute(f"SELECT e.id, e.row FROM {_NAMED} WHERE e.live", _named(read, ids)).fetchall())


def valid_ids(read: PostgresReading, plan: Plan, ids: Sequence[str]) -> frozenset[str]:
    """Return those of the ids that exist and are valid at the plan's moment, or exist, if it includes expired ones."""
    valid = Condition("TRUE") if plan.include_expired else validity(plan.now)
    sql = f"SELECT e.id FROM {_NAMED} WHERE e.live AND {valid.sql}"
    return frozenset(entry_id for (entry_id,) in read.sql.execute(sql, (*_named(read, ids), *valid.parameters)))


def filters_passed(read: PostgresReading, plan: Plan, row: int, *, memories: bool) -> dict[str, bool]:
    """Return every filter of a plan by name, and whether an entry passes it.

    Args:
        memories: ask the filters of the leg that searches memories.
    """
    named = conditions(plan, memories=memories)
    columns = ", ".join(f"({condition.sql}) IS TRUE" for condition in named.values())
    values = [value for condition in named.values() for value in condition.parameters]
    sql = f"SELECT {columns} FROM septet.entries e WHERE e.vault = %s AND e.bucket = %s AND e.row = %s"
    found = read.sql.execute(sql, (*values, read.vault.number, read.vault.bucket_of_row(row), row)).fetchone()
    return {name: bool(passed) for name, passed in zip(named, found or ()) if name != "live"}


def _named(read: PostgresReading, ids: Sequence[str]) -> tuple[list[int], list[str], int]:
    # No id that is stored has NUL.
    known = [one for one in ids if "\0" not in one]
    return [read.vault.bucket_of(one) for one in known], known, read.vault.number
