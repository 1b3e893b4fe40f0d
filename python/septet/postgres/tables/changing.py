"""Change or erase many entries, by row, with one statement for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from septet._core import gram_text
from septet.model.drafts import MOST_CHARS
from septet.model.entry import tags_of
from septet.postgres.store.packing import refuse_columns
from septet.postgres.store.transactions import PostgresReading, PostgresWriting, hold_rows
from septet.postgres.tables import history, indexing, links, parts
from septet.postgres.tables.conditions import filtered
from septet.postgres.tables.fragments import BY_PLACE, numbered, scalar
from septet.store.rows import Condition, Keeping
from septet.store.rules import INDEXED, contradiction, too_large

if TYPE_CHECKING:
    from septet.query.filters import Filter

_Read = PostgresReading | PostgresWriting

_THESE = "e.vault = %s AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row"
_AT = f"FROM {BY_PLACE}"
_ERASE = (
    "UPDATE septet.entries e SET live = false, title = '', description = '', context = '', tags = '[]', grams = '', "
    "attrs = '{}', type = '', domain = '', path = NULL, first_line = NULL, last_line = NULL, parent = NULL, "
    f"source = NULL, text_hash = '', generation = %s FROM unnest(%s::bigint[]) AS w (row) WHERE {_THESE}"
)
_ATTRS = (
    "UPDATE septet.entries e SET attrs = w.attrs, updated_at = greatest(%s::float8, e.created_at), generation = %s "
    f"FROM unnest(%s::bigint[], %s::text[]) AS w (row, attrs) WHERE {_THESE}"
)
_TAGS = (
    "UPDATE septet.entries e SET tags = w.tags, generation = %s "
    f"FROM unnest(%s::bigint[], %s::text[]) AS w (row, tags) WHERE {_THESE}"
)
_GRAMS = (
    "UPDATE septet.entries e SET grams = w.grams "
    f"FROM unnest(%s::bigint[], %s::text[]) AS w (row, grams) WHERE {_THESE}"
)
_WRONG = (
    f"SELECT e.id, coalesce(e.valid_until < e.valid_from, false) {_AT} "
    "WHERE e.valid_until < e.valid_from OR e.updated_at < e.created_at ORDER BY e.row LIMIT 1"
)
_SIZE = "length(e.title) + length(e.description) + length(e.context) + length(e.attrs)"
_LARGE = f"SELECT e.id, {_SIZE} {_AT} WHERE {_SIZE} > %s ORDER BY e.row LIMIT 1"


def rows_where(read: _Read, filters: Mapping[str, Filter]) -> list[int]:
    return _passing(read, filtered(filters))


def count_where(read: _Read, filters: Mapping[str, Filter]) -> int:
    condition = filtered(filters)
    sql = f"SELECT count(*) FROM septet.entries e WHERE e.vault = %s AND e.live AND {condition.sql}"
    return scalar(read, sql, (read.vault.number, *condition.parameters))


def expired(read: _Read, until: float, filters: Mapping[str, Filter]) -> list[int]:
    condition = filtered(filters)
    return _passing(read, Condition(f"e.valid_until <= %s::float8 AND {condition.sql}", (until, *condition.parameters)))


def erased(read: _Read) -> int:
    return scalar(read, "SELECT count(*) FROM septet.entries WHERE vault = %s AND NOT live", (read.vault.number,))


def set_columns(
    write: PostgresWriting, rows: Sequence[int], columns: Mapping[str, object], keeping: Keeping, *, touch: bool
) -> None:
    refuse_columns(columns)
    every = parts.with_parts(write, rows)
    history.keep(write, rows, columns, keeping)
    reindex = not INDEXED.isdisjoint(columns)
    before = indexing.indexed_at(write, every) if reindex else {}
    assignments, values = [f"{name} = %s" for name in columns], [*columns.values()]
    if touch and "updated_at" not in columns:
        assignments.append("updated_at = greatest(%s::float8, e.created_at)")
        values.append(keeping.at)
    sql = f"UPDATE septet.entries e SET {', '.join(assignments)}, generation = %s FROM unnest(%s::bigint[]) AS w (row)"
    write.sql.execute(f"{sql} WHERE {_THESE}", (*values, write.generation, *numbered(write.vault, every)))
    if "tags" in columns:
        _set_grams(write, every)
    if reindex:
        indexing.change(write, before, indexing.indexed_at(write, every))
    if (wrong := write.sql.execute(_WRONG, numbered(write.vault, every)).fetchone()) is not None:
        raise contradiction(*wrong)
    if "attrs" in columns:
        _check_sizes(write, every)


def attrs_at(read: _Read, rows: Sequence[int]) -> list[tuple[int, str]]:
    parameters = numbered(read.vault, parts.with_parts(read, rows))
    return [*read.sql.execute(f"SELECT e.row, e.attrs {_AT} ORDER BY w.place", parameters)]


def set_attrs(write: PostgresWriting, attrs: Sequence[tuple[int, str]], keeping: Keeping) -> None:
    for _, text in attrs:
        refuse_columns({"attrs": text})
    rows = [row for row, _ in attrs]
    if keeping.most:
        before = dict(attrs_at(write, rows))
        history.keep(write, [row for row, text in attrs if before[row] != text], {"attrs": ""}, keeping)
    numbers, vault, first = numbered(write.vault, rows)
    write.sql.execute(_ATTRS, (keeping.at, write.generation, numbers, [text for _, text in attrs], vault, first))
    _check_sizes(write, rows)


def set_tags(write: PostgresWriting, rows: Sequence[int], tags: Sequence[str], keeping: Keeping) -> None:
    for text in tags:
        refuse_columns({"tags": text})
    hold_rows(write, rows)
    before = indexing.indexed_at(write, rows)
    history.keep(write, rows, {"tags": ""}, keeping)
    numbers, vault, first = numbered(write.vault, rows)
    write.sql.execute(_TAGS, (write.generation, numbers, list(tags), vault, first))
    _set_grams(write, rows)
    indexing.change(write, before, indexing.indexed_at(write, rows))


def erase(write: PostgresWriting, rows: Sequence[int]) -> None:
    every = parts.with_parts(write, rows)
    if not every:
        return
    indexing.change(write, indexing.indexed_at(write, every), {})
    write.tables.vectors.drop_given(write, every)
    links.remove_of_rows(write, every)
    history.erase(write, every)
    write.sql.execute(_ERASE, (write.generation, *numbered(write.vault, every)))


def _passing(read: _Read, condition: Condition) -> list[int]:
    sql = f"SELECT e.row FROM septet.entries e WHERE e.vault = %s AND e.live AND {condition.sql}"
    parameters = (read.vault.number, *condition.parameters)
    rows = sorted(row for (row,) in read.sql.execute(sql, parameters))
    if isinstance(read, PostgresWriting) and rows:
        hold_rows(read, rows)
        # Entries may have changed before they were locked.
        passing = {row for (row,) in read.sql.execute(sql, parameters)}
        rows = [row for row in rows if row in passing]
    return rows


def _set_grams(write: PostgresWriting, rows: Sequence[int]) -> None:
    """Rebuild the grams of entries whose tags changed."""
    sql = f"SELECT e.row, e.id, e.title, e.description, e.context, e.tags, e.grams {_AT}"
    changed = []
    for row, entry_id, title, description, context, tags, before in write.sql.execute(sql, numbered(write.vault, rows)):
        text = gram_text(entry_id, title, (description, context, *tags_of(tags)))
        if text != before:
            changed.append((row, text))
    if changed:
        numbers, vault, first = numbered(write.vault, [row for row, _ in changed])
        write.sql.execute(_GRAMS, (numbers, [text for _, text in changed], vault, first))


def _check_sizes(write: PostgresWriting, rows: Sequence[int]) -> None:
    """Raise if an entry's texts and attrs together are too long."""
    wrong = write.sql.execute(_LARGE, (*numbered(write.vault, rows), MOST_CHARS)).fetchone()
    if wrong is not None:
        raise too_large(*wrong)
