"""Bulk changes and erasure of entries by row, in single statements."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from septet._core import gram_text
from septet.model.drafts import MOST_CHARS
from septet.model.entry import tags_of
from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables import history, indexing, links, parts, vectors
from septet.sqlite.tables.conditions import filtered
from septet.sqlite.tables.marks import note_altered
from septet.store.rows import Keeping
from septet.store.rules import INDEXED, contradiction, too_large

if TYPE_CHECKING:
    from septet.query.filters import Filter


_THESE = "row IN (SELECT value FROM json_each(?))"


def rows_where(read: SqliteReading | SqliteWriting, filters: Mapping[str, Filter]) -> list[int]:
    condition = filtered(filters)
    sql = f"SELECT e.row FROM entries e WHERE e.live AND {condition.sql}"
    return sorted(row for (row,) in read.sql.execute(sql, condition.parameters))


def count_where(read: SqliteReading | SqliteWriting, filters: Mapping[str, Filter]) -> int:
    condition = filtered(filters)
    sql = f"SELECT count(*) FROM entries e WHERE e.live AND {condition.sql}"
    return int(read.sql.execute(sql, condition.parameters).fetchone()[0])


def expired(read: SqliteReading | SqliteWriting, until: float, filters: Mapping[str, Filter]) -> list[int]:
    condition = filtered(filters)
    sql = f"SELECT e.row FROM entries e WHERE e.live AND e.valid_until <= ? AND {condition.sql}"
    return sorted(row for (row,) in read.sql.execute(sql, (until, *condition.parameters)))


def erased(read: SqliteReading | SqliteWriting) -> int:
    return int(read.sql.execute("SELECT count(*) FROM entries WHERE NOT live").fetchone()[0])


def set_columns(
    write: SqliteWriting, rows: Sequence[int], columns: Mapping[str, object], keeping: Keeping, *, touch: bool
) -> None:
    history.keep(write, rows, columns, keeping)
    note_altered(write, rows)
    every = parts.with_parts(write, rows)
    reindex = [] if INDEXED.isdisjoint(columns) else every
    indexing.unindex(write, reindex)
    assignments = [f"{name} = ?" for name in columns]
    values = [*columns.values()]
    if touch and "updated_at" not in columns:
        assignments.append("updated_at = max(?, created_at)")
        values.append(keeping.at)
    write.sql.execute(
        f"UPDATE entries SET {', '.join((*assignments, 'generation = ?'))} WHERE {_THESE}",
        (*values, write.generation, json.dumps(every)),
    )
    if "tags" in columns:
        _set_grams(write, every)
    if reindex:
        indexing.index(write, reindex, after=indexing.last_row(write), expected=0)
    _check(write, every)
    if "attrs" in columns:
        _check_sizes(write, every)


def attrs_at(read: SqliteReading | SqliteWriting, rows: Sequence[int]) -> list[tuple[int, str]]:
    sql = "SELECT e.row, e.attrs FROM json_each(?) j JOIN entries e ON e.row = j.value"
    return read.sql.execute(sql, (json.dumps(parts.with_parts(read, rows)),)).fetchall()


def set_attrs(write: SqliteWriting, attrs: Sequence[tuple[int, str]], keeping: Keeping) -> None:
    note_altered(write, [row for row, _ in attrs])
    if keeping.most:
        before = dict(attrs_at(write, [row for row, _ in attrs]))
        history.keep(write, [row for row, text in attrs if before[row] != text], {"attrs": ""}, keeping)
    write.sql.executemany(
        "UPDATE entries SET attrs = ?, updated_at = max(?, created_at), generation = ? WHERE row = ?",
        [(text, keeping.at, write.generation, row) for row, text in attrs],
    )
    _check_sizes(write, [row for row, _ in attrs])


def set_tags(write: SqliteWriting, rows: Sequence[int], tags: Sequence[str], keeping: Keeping) -> None:
    note_altered(write, rows)
    indexing.unindex(write, rows)
    history.keep(write, rows, {"tags": ""}, keeping)
    write.sql.executemany(
        "UPDATE entries SET tags = ?, generation = ? WHERE row = ?",
        [(text, write.generation, row) for row, text in zip(rows, tags)],
    )
    _set_grams(write, rows)
    indexing.index(write, rows, after=indexing.last_row(write), expected=0)


def erase(write: SqliteWriting, rows: Sequence[int]) -> None:
    every = parts.with_parts(write, rows)
    if not every:
        return
    note_altered(write, every)
    indexing.unindex(write, every)
    vectors.drop_given(write, every)
    links.remove_of_rows(write, every)
    history.erase(write, every)
    write.sql.execute(
        "UPDATE entries SET live = 0, title = '', description = '', context = '', tags = '[]', grams = '', "
        "attrs = '{}', type = '', domain = '', path = NULL, first_line = NULL, last_line = NULL, parent = NULL, "
        f"source = NULL, text_hash = '', generation = ? WHERE {_THESE}",
        (write.generation, json.dumps(every)),
    )


def _set_grams(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Recompute the terms of entries with changed tags."""
    sql = (
        "SELECT e.row, e.id, e.title, e.description, e.context, e.tags, e.grams FROM json_each(?) j "
        "JOIN entries e ON e.row = j.value"
    )
    changed = []
    for row, entry_id, title, description, context, tags, before in write.sql.execute(sql, (json.dumps(list(rows)),)):
        text = gram_text(entry_id, title, (description, context, *tags_of(tags)))
        if text != before:
            changed.append((text, row))
    write.sql.executemany("UPDATE entries SET grams = ? WHERE row = ?", changed)


def _check(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Raise if the times of an entry contradict each other."""
    sql = (
        f"SELECT id, valid_until < valid_from FROM entries WHERE {_THESE} "
        "AND (valid_until < valid_from OR updated_at < created_at) LIMIT 1"
    )
    wrong = write.sql.execute(sql, (json.dumps(list(rows)),)).fetchone()
    if wrong is not None:
        raise contradiction(*wrong)


def _check_sizes(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Raise if the texts and attrs of an entry are too large together."""
    size = "length(title) + length(description) + length(context) + length(attrs)"
    sql = f"SELECT id, {size} FROM entries WHERE {_THESE} AND {size} > ? LIMIT 1"
    wrong = write.sql.execute(sql, (json.dumps(list(rows)), MOST_CHARS)).fetchone()
    if wrong is not None:
        raise too_large(*wrong)
