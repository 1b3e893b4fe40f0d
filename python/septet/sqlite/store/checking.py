"""Checks of a vault's full-text tables, by FTS5's own check and by counting rows."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from septet.sqlite.store.connection import connect, translated
from septet.sqlite.tables.fragments import MEMORY, SEARCHABLE
from septet.system.forks import using_sqlite

#: The condition on entries for a row, by table.
_TABLES = {
    "entries_fts": f"e.live AND {SEARCHABLE}",
    "memories_fts": f"e.live AND {MEMORY}",
    "grams_fts": f"e.live AND {SEARCHABLE} AND e.grams <> ''",
}
#: A check must neither block a writer nor wait long for one.
_BUSY_TIMEOUT_S = 1.0


def full_text_faults(path: str) -> list[str]:
    """Return the faults of the full-text tables of a vault's file; empty if they are sound.

    FTS5's check counts as a write; it is rolled back, and nothing changes.

    Raises:
        ReadOnly: the file is not writable, so it cannot be checked.
        StoreBusy: another process is writing.
        StoreError: the file cannot be read.
    """
    faults = []
    with using_sqlite(), closing(connect(path, mode="rw", busy_timeout_s=_BUSY_TIMEOUT_S)) as sql, translated(path):
        sql.execute("BEGIN IMMEDIATE")
        for table, holds in _TABLES.items():
            try:
                sql.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")
            # A damaged length makes SQLite request more memory than it gets.
            except (sqlite3.DatabaseError, MemoryError) as fault:
                faults.append(f"{table}: {fault or 'it asks for more memory than there is'}")
                continue
            rows = sql.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]
            expected = sql.execute(f"SELECT count(*) FROM entries e WHERE {holds}").fetchone()[0]
            if rows != expected:
                faults.append(f"{table} has {rows} rows for {expected} entries")
        sql.execute("ROLLBACK")
    return faults
