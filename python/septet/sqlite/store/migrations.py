"""Migrations from older schemas, step by step; a file is upgraded in a single transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from septet._core import gram_text
from septet.model.entry import tags_of
from septet.sqlite.tables.fragments import SEARCHABLE

#: Placeholder among the steps for terms that SQLite cannot compute.
_GRAMS = "grams"

#: The statements that upgrade a file to each version from the one before. A file of an older version, opened for
#: reading, is not changed; `stand_ins` replace missing columns.
_STEPS: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        2: (
            "ALTER TABLE vectors ADD COLUMN generation INTEGER NOT NULL DEFAULT 0",
            "CREATE INDEX vectors_by_generation ON vectors (space, generation) WHERE generation > 0",
            "CREATE TABLE claims (model TEXT NOT NULL, key TEXT NOT NULL, owner TEXT NOT NULL, until REAL NOT NULL, "
            "PRIMARY KEY (model, key)) WITHOUT ROWID",
        ),
        3: (
            "CREATE TABLE jobs (job INTEGER PRIMARY KEY, model TEXT NOT NULL, place TEXT NOT NULL, name TEXT NOT NULL, "
            "batch TEXT, owner TEXT NOT NULL, until REAL NOT NULL, created_at REAL NOT NULL)",
        ),
        4: (
            "ALTER TABLE entries ADD COLUMN parent TEXT",
            "CREATE INDEX entries_by_parent ON entries (parent) WHERE parent IS NOT NULL",
            "CREATE TABLE link_changes (source INTEGER NOT NULL, target INTEGER NOT NULL, generation INTEGER NOT NULL, "
            "PRIMARY KEY (source, target)) WITHOUT ROWID",
            "CREATE INDEX link_changes_by_generation ON link_changes (generation)",
        ),
        5: (
            "ALTER TABLE entries ADD COLUMN source TEXT",
            # Entries stored before this column existed count as trusted.
            "ALTER TABLE entries ADD COLUMN trust TEXT NOT NULL DEFAULT 'trusted'",
            "CREATE TABLE history (entry INTEGER NOT NULL, version INTEGER NOT NULL, at REAL NOT NULL, "
            "call TEXT NOT NULL, columns TEXT NOT NULL, PRIMARY KEY (entry, version)) WITHOUT ROWID",
        ),
        6: (
            "CREATE TABLE roots (root INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, name TEXT NOT NULL "
            "UNIQUE, options TEXT NOT NULL, identity TEXT NOT NULL, synced_at REAL, problem TEXT)",
            "CREATE TABLE files (file INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, root INTEGER NOT NULL "
            "REFERENCES roots (root), path TEXT NOT NULL, name TEXT NOT NULL, stem TEXT NOT NULL, kind TEXT "
            "NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, hash TEXT NOT NULL, state TEXT NOT "
            "NULL DEFAULT '{}', synced_at REAL NOT NULL, problem TEXT, UNIQUE (root, path))",
            "CREATE INDEX files_by_name ON files (name)",
            "CREATE INDEX files_by_stem ON files (stem)",
            "CREATE TABLE mentions (chunk TEXT NOT NULL, file INTEGER NOT NULL, target TEXT NOT NULL, anchor "
            "TEXT NOT NULL, type TEXT NOT NULL, PRIMARY KEY (chunk, target, anchor)) WITHOUT ROWID",
            "CREATE INDEX mentions_by_file ON mentions (file)",
            "CREATE INDEX mentions_by_target ON mentions (target)",
            "CREATE TABLE staged (row INTEGER PRIMARY KEY, file INTEGER NOT NULL, hash TEXT NOT NULL, "
            "text_hash TEXT NOT NULL, entry TEXT NOT NULL)",
            "CREATE INDEX staged_by_file ON staged (file)",
        ),
        7: (
            # Names have terms since this version, and words of the entry are no longer terms.
            "INSERT INTO grams_fts (grams_fts) VALUES ('delete-all')",
            "INSERT INTO memories_fts (memories_fts) VALUES ('delete-all')",
            _GRAMS,
            "INSERT INTO grams_fts (rowid, grams) SELECT e.row, e.grams FROM entries e "
            f"WHERE e.live AND {SEARCHABLE} AND e.grams <> ''",
            "INSERT INTO memories_fts (rowid, id, context, summary, topics, grams) "
            "SELECT row, id, context, summary, topics, grams FROM memories",
        ),
    }
)

#: Temporary views that replace tables for one connection, by the version that added the columns. When another process
#: adds the columns, the view shows them: of two columns with one name the first wins. Searches do not need the ages of
#: links and their changes, which are not written in old files. `tables/history` checks for earlier versions itself.
_STAND_INS: Mapping[int, tuple[str, ...]] = MappingProxyType(
    {
        4: ("CREATE TEMP VIEW link_changes AS SELECT 0 AS source, 0 AS target, 0 AS generation WHERE 0",),
        5: (
            "CREATE TEMP VIEW entries AS SELECT *, NULL AS parent, NULL AS source, 'trusted' AS trust "
            "FROM main.entries",
        ),
    }
)

#: The oldest version that can be upgraded.
OLDEST = min(_STEPS) - 1


def stand_ins(version: int) -> Iterator[str]:
    """Yield the statements that emulate missing columns of an older file, for one reading connection."""
    for target, statements in _STAND_INS.items():
        if version < target:
            yield from statements


def upgrade(connection: sqlite3.Connection, version: int) -> None:
    """Upgrade a file of an older version, inside a transaction."""
    for target in sorted(_STEPS):
        for statement in _STEPS[target] if target > version else ():
            if statement != _GRAMS:
                connection.execute(statement)
                continue
            rows = connection.execute("SELECT row, id, title, description, context, tags FROM entries WHERE live")
            # Not in an SQL function, which would turn an interrupt into an error of SQLite.
            terms = (
                (gram_text(entry_id, title, (description, context, *tags_of(tags))), row)
                for row, entry_id, title, description, context, tags in rows
            )
            connection.executemany("UPDATE entries SET grams = ? WHERE row = ?", terms)
