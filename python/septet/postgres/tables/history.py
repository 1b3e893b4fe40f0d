"""History: earlier versions of entries. New entries have none and cost nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables.fragments import BY_ID, BY_ROW, SPLIT, named, numbered, scalar
from septet.postgres.tables.parts import VERSION, has_history, parents
from septet.ranking.pool import json_text
from septet.store.rows import Keeping, Stored
from septet.store.rules import COLUMNS, columns_of, replaced, versions

_Read = PostgresReading | PostgresWriting

#: Current versions of live entries.
_REPLACED = f"SELECT e.id, e.parent, e.row, e.created_at, {VERSION} FROM {BY_ID} WHERE e.live"
#: Append versions; `_TRIM` then drops the oldest above the maximum.
_ADD = (
    "INSERT INTO septet.history (vault, bucket, entry, version, at, call, columns) "
    "SELECT e.vault, e.bucket, e.row, 1 + coalesce((SELECT max(h.version) FROM septet.history h "
    "WHERE h.vault = e.vault AND h.bucket = e.bucket AND h.entry = e.row), 0), %s::float8, %s::text, w.columns "
    "FROM unnest(%s::integer[], %s::bigint[], %s::text[]) AS w (bucket, row, columns) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.row = w.row"
)
_TRIM = (
    "DELETE FROM septet.history h USING (SELECT o.bucket, o.entry, max(o.version) AS last "
    "FROM unnest(%s::integer[], %s::bigint[]) AS w (bucket, row) JOIN septet.history o "
    "ON o.vault = %s AND o.bucket = w.bucket AND o.entry = w.row GROUP BY o.bucket, o.entry) AS l "
    "WHERE h.vault = %s AND h.bucket = l.bucket AND h.entry = l.entry AND h.version <= l.last - %s::integer"
)
_NOW = (
    f"SELECT e.row, e.id, {', '.join(f'e.{name}' for name in COLUMNS)} FROM septet.entries e "
    "WHERE e.vault = %s AND e.bucket = %s AND e.id = %s::text AND e.live"
)
_VERSIONS = (
    "SELECT at, call, columns FROM septet.history WHERE vault = %s AND bucket = %s AND entry = %s ORDER BY version DESC"
)
_WAS = (
    "SELECT columns FROM septet.history "
    "WHERE vault = %s AND bucket = %s AND entry = %s AND call = %s::text ORDER BY version DESC"
)
_ERASE = (
    "DELETE FROM septet.history h USING unnest(%s::integer[], %s::bigint[]) AS w (bucket, row) "
    "WHERE h.vault = %s AND h.bucket = w.bucket AND h.entry = w.row"
)
#: Versions of all entries if the rows are NULL.
_OLDER = (
    "FROM septet.history WHERE vault = %s AND at <= %s::float8 AND (%s::bigint[] IS NULL OR entry = ANY(%s::bigint[]))"
)


def keep(write: PostgresWriting, rows: Sequence[int], columns: Mapping[str, object], keeping: Keeping) -> None:
    """Store the old values of columns, for entries in which any is about to change to its new value."""
    if not (keeping.most and rows and columns):
        return
    names = [*columns, *(() if "updated_at" in columns else ("updated_at",))]
    sql = f"SELECT e.id, e.parent, e.row, {', '.join(f'e.{name}' for name in names)} FROM {BY_ROW} WHERE e.live"
    new = tuple(columns.values())
    entries = write.sql.execute(sql, numbered(write.vault, rows)).fetchall()
    changed = _with_history(write, [entry for entry in entries if entry[3 : 3 + len(new)] != new])
    _add(write, [(row, json_text(dict(zip(names, old)))) for _, _, row, *old in changed], keeping)


def keep_replaced(
    write: PostgresWriting, rows: Sequence[Any], keeping: Keeping, current: Sequence[tuple[Any, ...]] | None
) -> None:
    """Store the columns that are about to be overwritten with other values of new entries (`EntryRow`).

    Args:
        current: id, row, ``created_at`` and the columns of `VERSION` of entries with a history; None if not read yet.
    """
    if not keeping.most:
        return
    coming = {row.id: row for row in rows}
    if current is None:
        entries = write.sql.execute(_REPLACED, named(write.vault, coming)).fetchall()
        current = [(entry_id, *values) for entry_id, _, *values in _with_history(write, entries)]
    texts = [(row, replaced(old, coming[entry_id])) for entry_id, row, *old in current if entry_id in coming]
    _add(write, [(row, text) for row, text in texts if text is not None], keeping)


def of_entry(read: _Read, entry_id: str) -> list[Stored]:
    if "\0" in entry_id:
        return []
    place = read.vault.number, read.vault.bucket_of(entry_id)
    now = read.sql.execute(_NOW, (*place, entry_id)).fetchone()
    return [] if now is None else versions(now, read.sql.execute(_VERSIONS, (*place, now[0])))


def was(read: _Read, row: int, call: str, column: str) -> Any:
    rows = read.sql.execute(_WAS, (read.vault.number, read.vault.bucket_of_row(row), row, call))
    stored = (columns_of(text) for (text,) in rows)
    return next((columns[column] for columns in stored if column in columns), None)


def erase(write: PostgresWriting, rows: Sequence[int]) -> None:
    """Remove the versions of entries."""
    write.sql.execute(_ERASE, (*_places(write, rows), write.vault.number))


def count_older(read: _Read, until: float, rows: Sequence[int] | None) -> int:
    return scalar(read, f"SELECT count(*) {_OLDER}", _older_parameters(read, until, rows))


def drop_older(write: PostgresWriting, until: float, rows: Sequence[int] | None) -> int:
    return write.sql.execute(f"DELETE {_OLDER}", _older_parameters(write, until, rows)).rowcount


def _older_parameters(read: _Read, until: float, rows: Sequence[int] | None) -> tuple[object, ...]:
    numbers = None if rows is None else list(rows)
    return read.vault.number, until, numbers, numbers


def _with_history(write: PostgresWriting, entries: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return the entries, each with id and parent first, that have a history."""
    parent_ids = parents(entry_id for entry_id, parent, *_ in entries if parent is not None)
    split = {entry_id for (entry_id,) in write.sql.execute(SPLIT, named(write.vault, parent_ids))} if parent_ids else ()
    return [entry for entry in entries if has_history(entry[0], entry[1], split)]


def _add(write: PostgresWriting, versions: Sequence[tuple[int, str]], keeping: Keeping) -> None:
    if not versions:
        return
    vault, texts = write.vault.number, [text for _, text in versions]
    buckets, rows = _places(write, [row for row, _ in versions])
    write.later(_ADD, (keeping.at, keeping.call, buckets, rows, texts, vault))
    write.later(_TRIM, (buckets, rows, vault, vault, keeping.most))


def _places(write: PostgresWriting, rows: Sequence[int]) -> tuple[list[int], list[int]]:
    return [write.vault.bucket_of_row(row) for row in rows], list(rows)
