"""Erasing deleted data from a store's file: free pages, old bytes in used pages, and the WAL."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from septet.sqlite.store.connection import store_error
from septet.sqlite.store.store import SqliteStore


def scrub(store: SqliteStore) -> list[str]:
    """Rewrite a file from its tables and empty its WAL; return the failures as sentences.

    Readers keep their snapshots; other writers wait. Needs temporary space of twice the file's size.

    Raises:
        StoreError: the file cannot be used.
    """
    problems = []
    with store.maintaining() as sql:
        try:
            # The temporary copy is as large as the file.
            sql.execute("PRAGMA temp_store = FILE")
            try:
                sql.execute("VACUUM")
            finally:
                sql.execute("PRAGMA temp_store = MEMORY")
        except sqlite3.Error as fault:
            error = store_error(fault, store.file)
            problems.append(f"bytes of secrets may be left in unused parts of the file ({error}): redact again")
        try:
            busy = bool(sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        except sqlite3.Error as fault:
            busy, problems = False, [*problems, f"the log could not be emptied ({store_error(fault, store.file)})"]
    if busy:
        problems.append("a search that has not ended keeps bytes of secrets in the log: redact again when it has")
    return problems + _put_aside(store.file)


def _put_aside(file: str) -> list[str]:
    """Report the WALs that were renamed when the vault's file was replaced."""
    path = Path(file)
    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.name.startswith(f"{path.name}.before-"))
    except OSError:
        return []
    return [f"{path.parent / name} was put aside and may hold secrets: delete it" for name in names]
