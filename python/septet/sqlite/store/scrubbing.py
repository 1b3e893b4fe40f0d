"""Leaving nothing in a store's file but what is in its tables: no free pages, no old bytes in used ones, no log."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from septet.sqlite.store.connection import store_error
from septet.sqlite.store.store import Store

__all__ = ["scrub"]


def scrub(store: Store) -> list[str]:
    """Write a file anew from its tables and empty its log; return what could not be done, in sentences.

    Readers go on with what they see; other writers wait. It takes twice the room of the file meanwhile.

    Raises:
        StoreError: the file cannot be used any more.
    """
    problems = []
    with store.maintaining() as sql:
        try:
            # What it builds is as large as the file.
            sql.execute("PRAGMA temp_store = FILE")
            try:
                sql.execute("VACUUM")
            finally:
                sql.execute("PRAGMA temp_store = MEMORY")
        except sqlite3.Error as fault:
            said = store_error(fault, store.file)
            problems.append(f"bytes of secrets may be left in unused parts of the file ({said}): redact again")
        try:
            busy = bool(sql.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])
        except sqlite3.Error as fault:
            busy, problems = False, [*problems, f"the log could not be emptied ({store_error(fault, store.file)})"]
    if busy:
        problems.append("a search that has not ended keeps bytes of secrets in the log: redact again when it has")
    return problems + _put_aside(store.file)


def _put_aside(file: str) -> list[str]:
    """Name the logs that were put aside when another file took the name of the vault."""
    path = Path(file)
    try:
        names = sorted(one.name for one in path.parent.iterdir() if one.name.startswith(f"{path.name}.before-"))
    except OSError:
        return []
    return [f"{path.parent / name} was put aside and may hold secrets: delete it" for name in names]
