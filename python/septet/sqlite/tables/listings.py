"""Reads of listings: rows, times, values of a field, and rows that pass a condition."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from septet.errors import StoreError
from septet.ranking.pool import Candidate
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables.conditions import json_source, rows_of
from septet.sqlite.tables.fragments import unescaped
from septet.sqlite.tables.indexing import last_row as last_row
from septet.store.rows import CANDIDATE, Condition
from septet.store.rules import RUN_CHARS, RUN_ROWS
from septet.store.typed import typed_pages

#: Times of an entry, in the order in which they are read.
TIMES = ("created_at", "updated_at", "valid_from", "valid_until")

_DATED = "e.row, e.live, " + ", ".join(f"e.{name}" for name in TIMES)


class Dated(NamedTuple):
    """A row, its liveness, and its times; None for no limit."""

    row: int
    live: int
    created_at: float
    updated_at: float
    valid_from: float | None
    valid_until: float | None


def dated(read: SqliteReading) -> list[Dated]:
    """Return all live entries in the order of rows."""
    return read.sql.execute(f"SELECT {_DATED} FROM entries e WHERE e.live ORDER BY e.row").fetchall()


def changed(read: SqliteReading, since: int) -> list[Dated]:
    """Return the entries written after a generation, including deleted ones, in the order of rows."""
    return sorted(read.sql.execute(f"SELECT {_DATED} FROM entries e WHERE e.generation > ?", (since,)))


def values(read: SqliteReading, column: str, rows: Sequence[int] | None = None) -> Iterator[tuple[int, Any]]:
    """Yield row and value of a column, skipping NULL, of these rows or of every live entry."""
    source, parameters = _source(rows)
    sql = f"SELECT e.row, e.{column} FROM {source} AND e.{column} IS NOT NULL"
    fetched = read.sql.execute(sql, parameters).fetchall()
    if bytes in set(map(type, map(itemgetter(1), fetched))):
        raise StoreError(
            f"a {column} contains bytes: damaged, or written by another program; `septet doctor` lists all such rows"
        )
    return iter(fetched)


def members(
    read: SqliteReading, field: str, rows: Sequence[int] | None = None, *, lists: bool = True
) -> Iterator[tuple[int, Any]]:
    """Yield row and value for each text, number and boolean in ``tags``, or at a path of attrs.

    Each member of a list counts, unless ``lists`` is False; objects, and nested lists, do not.
    """
    source, parameters = _source(rows)
    inside, path = json_source(field)
    # json_each would iterate over the values of an object like those of a list.
    without = "('object')" if lists else "('object', 'array')"
    plain = "" if field == "tags" else f" AND json_type({inside}) NOT IN {without}"
    sql = (
        f"SELECT e.row, j.type, j.value FROM {source.replace(' WHERE ', f', json_each({inside}) j WHERE ')}{plain} "
        "AND j.type IN ('text', 'integer', 'real', 'true', 'false')"
    )
    values = (*parameters, *path, *(path if plain else ()))
    for row, kind, value in read.sql.execute(sql, values):
        if kind == "text":
            yield row, unescaped(value)
        else:
            yield row, value if kind in ("integer", "real") else kind == "true"


def passing(read: SqliteReading, condition: Condition, rows: Sequence[int] | None = None) -> list[int]:
    """Return the rows of the live entries that pass a condition."""
    source, parameters = _source(rows)
    sql = f"SELECT e.row FROM {source} AND {condition.sql}"
    return [row for (row,) in read.sql.execute(sql, (*parameters, *condition.parameters))]


def in_order_of_ids(read: SqliteReading) -> list[int]:
    """Return the rows of all entries, including deleted ones, in the order of ids."""
    # Answered by the index of ids, without reading rows.
    return [row for (row,) in read.sql.execute("SELECT row FROM entries ORDER BY id")]


def ids(read: SqliteReading, rows: Sequence[int] | None = None) -> Iterator[tuple[int, str]]:
    """Yield row and id, including deleted entries unless rows are passed."""
    if rows is None:
        return read.sql.execute("SELECT row, id FROM entries")
    source, parameters = _source(rows)
    return read.sql.execute(f"SELECT e.row, e.id FROM {source}", parameters)


def held(read: SqliteReading, entry_ids: Sequence[str]) -> frozenset[str]:
    return frozenset(rows_of(read, entry_ids))


def run(read: SqliteReading, after: int, last: int) -> list[Candidate]:
    sql = f"SELECT {CANDIDATE} FROM entries e WHERE e.row > ? AND e.row <= ? AND e.live ORDER BY e.row LIMIT {RUN_ROWS}"
    candidates, chars = [], 0
    for entry in typed_pages(Candidate, read.sql.execute(sql, (after, last))):
        candidates.append(entry)
        chars += len(entry.title) + len(entry.description) + len(entry.context) + len(entry.attrs_json)
        if chars > RUN_CHARS:
            break
    return candidates


def _source(rows: Sequence[int] | None) -> tuple[str, tuple[object, ...]]:
    """Return the FROM clause of live entries ``e``, and its parameters."""
    if rows is None:
        return "entries e WHERE e.live", ()
    return "json_each(?) r CROSS JOIN entries e ON e.row = r.value WHERE e.live", (json.dumps(list(rows)),)
