"""Maintenance of a damaged or redacted file: faults, hidden rows, rebuilt full text, dead claims, erased bytes."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from septet.errors import StoreError
from septet.sqlite.store.connection import store_error
from septet.sqlite.store.soundness import Unsound, hide, unsound_rows
from septet.sqlite.store.store import PartReading, SqliteReading, SqliteStore
from septet.sqlite.tables import claims, indexing
from septet.store.owners import is_dead
from septet.system.forks import Connection

#: Maximum reported faults of a file.
MOST = 5


def file_faults(read: SqliteReading) -> list[str]:
    """Return SQLite's faults of the file itself, at most five; empty for a sound file."""
    try:
        messages = _checked(read, str(MOST))
    except sqlite3.DatabaseError as fault:
        messages = [str(fault)]
    except MemoryError:
        # SQLite 3.44 and newer check full-text tables, too, and a damaged one requests more memory than there is.
        stored = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
        messages = [message for (name,) in read.sql.execute(stored).fetchall() for message in _checked(read, name)][
            :MOST
        ]
    # Full-text tables are checked separately, and can be rebuilt.
    return [message for message in messages if message != "ok" and "fts" not in message.lower()]


def _checked(read: SqliteReading, what: str) -> list[str]:
    """Return what SQLite says of a table, or of the file for a number of faults."""
    return [str(message) for (message,) in read.sql.execute(f"PRAGMA quick_check({what})")]


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
    # WALs that were renamed when the vault's file was replaced.
    path = Path(store.file)
    with suppress(OSError):
        aside = sorted(entry.name for entry in path.parent.iterdir() if entry.name.startswith(f"{path.name}.before-"))
        problems += [f"{path.parent / name} was put aside and may hold secrets: delete it" for name in aside]
    return problems


def set_aside(store: SqliteStore, known: Sequence[Unsound]) -> bool:
    """Check every row of a file and hide unsound ones, if those ``known`` are hidden; return True if any are new."""
    if store.in_memory:
        return False
    if store.left_out is known:
        faults, _ = unsound_rows(store.file)
        if not set(faults) - set(known):
            return False

        def connected(connect: Callable[[], Connection]) -> Connection:
            connection = connect()
            try:
                hide(connection, faults)
            except BaseException:
                connection.close()
                raise
            return connection

        with suppress(sqlite3.Error, StoreError):
            connected(store._connect).close()
            store.search_by(connected, PartReading, faults)
    return store.left_out is not known


class SqliteSettings(NamedTuple):
    """SQLite's settings for a file.

    Attributes:
        journal_mode: ``wal``, ``delete`` or ``memory``.
        fts5_reported: True if SQLite reports FTS5 as compiled in.
        foreign_keys_on: True if references are checked.
    """

    journal_mode: str
    fts5_reported: bool
    foreign_keys_on: bool


def sqlite_settings(read: SqliteReading) -> SqliteSettings:
    """Return the settings of a connection."""
    mode, fts5, keys = read.sql.execute(
        "SELECT (SELECT journal_mode FROM pragma_journal_mode), sqlite_compileoption_used('ENABLE_FTS5'), "
        "(SELECT foreign_keys FROM pragma_foreign_keys)"
    ).fetchone()
    return SqliteSettings(str(mode), bool(fts5), bool(keys))
