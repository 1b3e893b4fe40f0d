"""Making anew what is derived inside a store's file, and clearing what ended processes left in it."""

from __future__ import annotations

import sqlite3
import time

from septet.errors import StoreError
from septet.sqlite.store.store import Reading, Store
from septet.sqlite.tables import claims, indexing

__all__ = ["clear_claims", "dead_claims", "file_faults", "rebuild_full_text", "version_of"]

#: So many faults of a file are told.
MOST = 5


def file_faults(read: Reading) -> list[str]:
    """Return what SQLite finds wrong with the file itself, five sentences at most; empty for a sound one."""
    try:
        found = [str(said) for (said,) in read.sql.execute(f"PRAGMA quick_check({MOST})")]
    except sqlite3.DatabaseError as fault:
        found = [str(fault)]
    # Full-text tables have a check of their own, and are mended.
    return [said for said in found if said != "ok" and "fts" not in said.lower()]


def version_of(read: Reading) -> int:
    """Return the version of a file's schema."""
    return int(read.sql.execute("PRAGMA user_version").fetchone()[0])


def rebuild_full_text(store: Store) -> int:
    """Make the full-text tables anew from the entries, in one transaction; return how many rows they have now.

    Raises:
        StoreError: the file itself is damaged, or takes no writes: nothing was changed.
    """
    with store.reading() as read:
        if faults := file_faults(read):
            raise StoreError(f"{store.path} is damaged beyond its full-text tables ({faults[0]}): restore a backup")
    with store.writing() as write:
        indexing.fill(indexing.remade(write))
    with store.reading() as read:
        return indexing.totals(read, "entries_fts").rows + indexing.totals(read, "memories_fts").rows


def dead_claims(read: Reading) -> int:
    """Return how many texts are claimed by processes of this machine that ended, or were until a time that is over."""
    now = time.time()
    return sum(until <= now or claims.is_dead(owner) for owner, until in claims.owners(read))


def clear_claims(store: Store) -> int:
    """Remove such claims; return how many."""
    with store.bookkeeping() as write:
        return claims.drop_dead(write) + claims.drop_expired(write, time.time())
