"""Rebuilding derived data in a store's file, and removing claims of dead processes."""

from __future__ import annotations

import sqlite3
import time

from septet.errors import StoreError
from septet.sqlite.store.store import SqliteReading, SqliteStore
from septet.sqlite.tables import claims, indexing
from septet.store.owners import is_dead

#: Maximum reported faults of a file.
MOST = 5


def file_faults(read: SqliteReading) -> list[str]:
    """Return SQLite's faults of the file itself, at most five; empty for a sound file."""
    try:
        messages = [str(message) for (message,) in read.sql.execute(f"PRAGMA quick_check({MOST})")]
    except sqlite3.DatabaseError as fault:
        messages = [str(fault)]
    # Full-text tables are checked separately, and can be rebuilt.
    return [message for message in messages if message != "ok" and "fts" not in message.lower()]


def version_of(read: SqliteReading) -> int:
    """Return the version of a file's schema."""
    return int(read.sql.execute("PRAGMA user_version").fetchone()[0])


def rebuild_full_text(store: SqliteStore) -> int:
    """Rebuild the full-text tables from the entries, in one transaction; return their number of rows.

    Raises:
        StoreError: the file itself is damaged or not writable; nothing was changed.
    """
    with store.reading() as read:
        if faults := file_faults(read):
            raise StoreError(f"{store.path} is damaged beyond its full-text tables ({faults[0]}): restore a backup")
    with store.writing() as write:
        indexing.fill(indexing.remade(write))
    with store.reading() as read:
        return indexing.totals(read, "entries_fts").rows + indexing.totals(read, "memories_fts").rows


def dead_claims(read: SqliteReading) -> int:
    """Return the number of texts claimed by dead processes of this machine, or with expired claims."""
    now = time.time()
    return sum(until <= now or is_dead(owner) for owner, until in claims.owners(read))


def clear_claims(store: SqliteStore) -> int:
    """Remove dead and expired claims; return their number."""
    with store.bookkeeping() as write:
        return claims.drop_dead(write) + claims.drop_expired(write, time.time())
