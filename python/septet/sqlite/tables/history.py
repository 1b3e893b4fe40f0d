"""Earlier versions of entries. New entries have none, and cost nothing here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables import parts
from septet.sqlite.tables.fragments import THESE
from septet.sqlite.tables.marks import has_table, note_altered
from septet.store.rows import Keeping, Stored
from septet.store.rules import COLUMNS, COMPARED, TIMES, columns_of, replaced, versions
from septet.store.typed import typed
from septet.system.records import NamedTuple

#: Parts have no versions: they are replaced with each write of the split entry, which has.
_KEPT = f"{parts.IS_PART} IS NOT TRUE"
_NEXT = "1 + coalesce((SELECT max(h.version) FROM history h WHERE h.entry = {}), 0)"


class _Kept(NamedTuple):
    at: float
    call: str
    columns: str


def keep(write: SqliteWriting, rows: Sequence[int], columns: Mapping[str, object], keeping: Keeping) -> None:
    """Keep the values of entries in which any of the columns, here with their new values, is about to change."""
    if not (keeping.most and rows and columns):
        return
    pairs = ", ".join(f"'{name}', {_as_json(name)}" for name in (*columns, "updated_at"))
    changed = " OR ".join(f"p.{name} IS NOT ?" for name in columns)
    write.sql.execute(
        f"INSERT INTO history SELECT p.row, {_NEXT.format('p.row')}, ?, ?, json_object({pairs}) "
        f"FROM json_each(?) j JOIN entries p ON p.row = j.value WHERE p.live AND ({changed}) AND {_KEPT}",
        (keeping.at, keeping.call, json.dumps(list(rows)), *columns.values()),
    )
    _trim(write, rows, keeping.most)


def keep_replaced(write: SqliteWriting, rows: Sequence[Any], keeping: Keeping) -> None:
    """Keep the values that the new rows, each an `EntryRow`, are about to overwrite."""
    coming = {row.id: row for row in rows}
    selected = "SELECT e.row FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE e.live"
    note_altered(write, [at for (at,) in write.sql.execute(selected, (json.dumps(list(coming)),))] if coming else [])
    if not keeping.most:
        return
    sql = (
        f"SELECT p.id, p.row, p.created_at, p.updated_at, {', '.join(f'p.{name}' for name in COMPARED)} "
        f"FROM json_each(?) j JOIN entries p ON p.id = j.value WHERE p.live AND {_KEPT}"
    )
    versions = []
    for entry_id, at, *old in write.sql.execute(sql, (json.dumps(list(coming)),)):
        changes = replaced(old, coming[entry_id])
        if changes is not None:
            versions.append((at, keeping.at, keeping.call, changes))
    if versions:
        write.sql.executemany(f"INSERT INTO history SELECT ?1, {_NEXT.format('?1')}, ?2, ?3, ?4", versions)
        _trim(write, [version[0] for version in versions], keeping.most)


def of_entry(read: SqliteReading, entry_id: str) -> list[Stored]:
    now = read.sql.execute(
        f"SELECT e.row, e.id, {', '.join(f'e.{name}' for name in COLUMNS)} FROM entries e WHERE e.id = ? AND e.live",
        (entry_id,),
    ).fetchone()
    if now is None or not has_table(read, "history"):
        return []
    sql = "SELECT at, call, columns FROM history WHERE entry = ? ORDER BY version DESC"
    return versions(now, typed(_Kept, read.sql.execute(sql, (now[0],))))


def was(read: SqliteReading | SqliteWriting, row: int, call: str, column: str) -> Any:
    sql = (
        "SELECT columns FROM history WHERE entry = ? AND call = ? AND json_type(columns, '$.' || ?) IS NOT NULL "
        "ORDER BY version DESC LIMIT 1"
    )
    stored = read.sql.execute(sql, (row, call, column)).fetchone()
    return None if stored is None else columns_of(stored[0]).get(column)


def erase(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Remove the versions of entries."""
    write.sql.execute(f"DELETE FROM history WHERE entry IN {THESE}", (json.dumps(list(rows)),))


def count_older(read: SqliteReading, until: float, rows: Sequence[int] | None) -> int:
    if not has_table(read, "history"):
        return 0
    condition, parameters = _older(until, rows)
    return int(read.sql.execute(f"SELECT count(*) FROM history WHERE {condition}", parameters).fetchone()[0])


def drop_older(write: SqliteWriting, until: float, rows: Sequence[int] | None) -> int:
    condition, parameters = _older(until, rows)
    return write.sql.execute(f"DELETE FROM history WHERE {condition}", parameters).rowcount


def _older(until: float, rows: Sequence[int] | None) -> tuple[str, tuple[object, ...]]:
    if rows is None:
        return "at <= ?", (until,)
    return f"at <= ? AND entry IN {THESE}", (until, json.dumps(list(rows)))


def _trim(write: SqliteWriting, rows: Sequence[int], most: int) -> None:
    write.sql.execute(
        f"DELETE FROM history WHERE entry IN {THESE} "
        "AND version <= (SELECT max(h.version) FROM history h WHERE h.entry = history.entry) - ?",
        (json.dumps(list(rows)), most),
    )


def _as_json(name: str) -> str:
    # SQLite's JSON rounds numbers to 15 digits.
    column = f"p.{name}"
    return f"CASE WHEN {column} IS NULL THEN NULL ELSE printf('%!.17g', {column}) END" if name in TIMES else column
