"""Updating the full-text tables: rows are removed before they change and added after they are written.

With triggers loading was 2.4 times slower: FTS5 flushes its buffers at every savepoint, and SQLite opens one for each
row a trigger fires on. One statement per batch keeps the buffers.

FTS5 writes a segment each time its buffers are full, and merges segments repeatedly, four to one. So the buffers hold
the texts of a whole transaction of `Vault.add_many`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Literal

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables.fragments import MEMORY, SEARCHABLE
from septet.store.typed import typed_pages
from septet.system.records import NamedTuple

#: Size of FTS5's buffers, for the words of some 8,000 entries of 60 words. FTS5's default is a megabyte.
BUFFER_BYTES = 8 << 20
#: A transaction of fewer entries rarely fills a megabyte and needs no more.
MANY = 1_000


class _Table(NamedTuple):
    """A full-text table: its columns, their expressions over ``entries e``, and the condition on its rows."""

    name: str
    columns: str
    values: str
    condition: str


_TABLES = (
    _Table(
        "entries_fts",
        "id, title, description, context, tags",
        "e.id, e.title, e.description, e.context, e.tags",
        f"e.live AND {SEARCHABLE}",
    ),
    _Table("grams_fts", "grams", "e.grams", f"e.live AND {SEARCHABLE} AND e.grams <> ''"),
    _Table(
        "memories_fts",
        "id, context, summary, topics, grams",
        "e.id, e.title, e.description, e.tags, e.grams",
        f"e.live AND {MEMORY}",
    ),
)


def rows_of(write: SqliteWriting, ids: Sequence[str]) -> list[int]:
    sql = "SELECT DISTINCT e.row FROM json_each(?) j JOIN entries e ON e.id = j.value ORDER BY e.row"
    return [row for (row,) in write.sql.execute(sql, (json.dumps(list(ids)),))]


def last_row(read: SqliteReading | SqliteWriting) -> int:
    """Return the last row; 0 if empty. Rows inserted later have higher numbers."""
    return int(read.sql.execute("SELECT coalesce(max(row), 0) FROM entries").fetchone()[0])


def unindex(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Remove rows from the full-text tables; call it before their text changes."""
    if not (rows and write.indexes):
        return
    ids = json.dumps(rows)
    for t in _TABLES:
        write.sql.execute(
            f"INSERT INTO {t.name} ({t.name}, rowid, {t.columns}) SELECT 'delete', e.row, {t.values} "
            f"FROM json_each(?) j JOIN entries e ON e.row = j.value WHERE {t.condition}",
            (ids,),
        )


def index(write: SqliteWriting, rows: Sequence[int], *, after: int, expected: int) -> None:
    """Add rows to the full-text tables; call it after `unindex` and the write.

    Args:
        rows: rows that existed before.
        after: `last_row` before the write; rows with a higher number are new.
        expected: approximate number of new rows.
    """
    if not write.indexes:
        return
    for t in _TABLES if expected >= MANY else ():
        # The setting is stored in the file.
        size = write.sql.execute(f"SELECT v FROM {t.name}_config WHERE k = 'hashsize'").fetchone()
        if size is None or size[0] != BUFFER_BYTES:
            write.sql.execute(f"INSERT INTO {t.name} ({t.name}, rank) VALUES ('hashsize', ?)", (BUFFER_BYTES,))
    ids = json.dumps(rows)
    for t in _TABLES:
        into = f"INSERT INTO {t.name} (rowid, {t.columns}) SELECT e.row, {t.values} FROM"
        if rows:
            write.sql.execute(f"{into} json_each(?) j JOIN entries e ON e.row = j.value WHERE {t.condition}", (ids,))
        # In the order of rows: FTS5 flushes its buffers when a row number decreases.
        write.sql.execute(f"{into} entries e WHERE e.row > ? AND {t.condition} ORDER BY e.row", (after,))


def emptied(write: SqliteWriting) -> SqliteWriting:
    """Empty the full-text tables; the returned transaction does not update them until `fill`.

    Faster than removing rows one by one if more than half are removed.
    """
    for t in _TABLES:
        write.sql.execute(f"INSERT INTO {t.name} ({t.name}) VALUES ('delete-all')")
    return write._replace(indexes=False)


def remade(write: SqliteWriting) -> SqliteWriting:
    """Empty the full-text tables as `emptied`, even if they are too damaged to be opened."""
    for t in _TABLES:
        try:
            write.sql.execute(f"INSERT INTO {t.name} ({t.name}) VALUES ('delete-all')")
        # A damaged length makes SQLite request more memory than it gets.
        except (sqlite3.DatabaseError, MemoryError):
            _recreate(write, t.name)
    return write._replace(indexes=False)


def _recreate(write: SqliteWriting, name: str) -> None:
    """Reset the shadow tables of a damaged full-text table, which cannot be dropped."""
    from septet.sqlite.store.connection import schema

    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(schema())

        def create(statement: str) -> bool:
            """Create a missing table; return True if it was missing."""
            of = "SELECT sql FROM main.sqlite_master WHERE name = ?"
            missing = write.sql.execute(of, (statement,)).fetchone() is None
            if missing:
                write.sql.execute(fresh.execute(of, (statement,)).fetchone()[0])
            return missing

        if create(name):
            return
        for inner, places in {"data": "?, ?", "idx": "?, ?, ?", "docsize": "?, ?", "config": "?, ?"}.items():
            rows = fresh.execute(f"SELECT * FROM {name}_{inner}").fetchall()
            create(f"{name}_{inner}")
            write.sql.execute(f"DELETE FROM {name}_{inner}")
            write.sql.executemany(f"INSERT INTO {name}_{inner} VALUES ({places})", rows)


def fill(write: SqliteWriting) -> None:
    """Fill the emptied full-text tables from all entries."""
    index(write._replace(indexes=True), [], after=-1, expected=MANY)


def take(write: SqliteWriting, prepared: object) -> None:
    """Do nothing: FTS5 tokenises texts in the write transaction."""


def merge(write: SqliteWriting) -> None:
    """FTS5 keeps the words of removed rows, with their positions, until it merges their segments."""
    for t in _TABLES:
        write.sql.execute(f"INSERT INTO {t.name} ({t.name}) VALUES ('optimize')")


class IndexedTexts(NamedTuple):
    """The texts of one entry in the full-text tables.

    Attributes:
        at: position of the row in the argument.
    """

    at: int
    id: str
    title: str
    description: str
    context: str
    tags: str
    grams: str


def indexed_texts(read: SqliteReading, rows: Sequence[int]) -> Iterator[IndexedTexts]:
    """Yield the texts of the given rows in `entries_fts` and `grams_fts`, also for memories; skips deleted rows."""
    sql = (
        "SELECT j.key, e.id, e.title, e.description, e.context, e.tags, e.grams FROM json_each(?) j "
        "JOIN entries e ON e.row = j.value WHERE e.live ORDER BY j.key"
    )
    return typed_pages(IndexedTexts, read.sql.execute(sql, (json.dumps(list(rows)),)))


class Totals(NamedTuple):
    """Numbers of rows and of tokens in a full-text table."""

    rows: int
    tokens: int


def totals(read: SqliteReading, table: Literal["entries_fts", "grams_fts", "memories_fts"]) -> Totals:
    """Return FTS5's own totals, from its averages record: varints of the rows and of the tokens per column."""
    block = read.sql.execute(f"SELECT block FROM {table}_data WHERE id = 1").fetchone()
    numbers, value = [], 0
    for byte in bytes(block[0]) if block is not None else b"":
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return Totals(numbers[0], sum(numbers[1:])) if numbers else Totals(0, 0)
