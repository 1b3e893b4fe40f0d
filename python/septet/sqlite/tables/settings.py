"""SQLite's settings on a reading connection."""

from __future__ import annotations

from typing import NamedTuple

from septet.sqlite.store.store import SqliteReading


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
