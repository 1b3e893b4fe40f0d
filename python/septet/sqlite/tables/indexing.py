"""Keeping the full-text tables equal to `entries`: rows leave before they change and enter after they were written.

Triggers would do the same, but FTS5 flushes its buffers to disk at every savepoint, and SQLite opens one for each row a
trigger fires on: loading was 2.4 times slower. One statement a batch keeps the buffers.

A transaction leaves FTS5 one segment for each time its buffers were full, and segments are merged, four to one, again
and again. So the buffers have room for the texts of a whole transaction of `Vault.add_many`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Literal, NamedTuple

from septet.sqlite.store.store import Reading, Writing
from septet.sqlite.tables.fragments import MEMORY, SEARCHABLE
from septet.sqlite.tables.typed import typed_pages

__all__ = [
    "IndexedTexts",
    "Totals",
    "emptied",
    "fill",
    "index",
    "indexed_texts",
    "last_row",
    "merge",
    "remade",
    "rows_of",
    "take",
    "totals",
    "unindex",
]

#: FTS5's buffers: room for the words of some 8,000 entries of 60 words. FTS5's default is a megabyte.
BUFFER_BYTES = 8 << 20
#: A transaction of fewer entries rarely fills a megabyte and needs no more.
MANY = 1_000


class _Table(NamedTuple):
    """A full-text table: its columns, the expressions over ``entries e`` that fill them, and which rows it has."""

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


def rows_of(write: Writing, ids: Sequence[str]) -> list[int]:
    """Return the rows of those ids that have one, live or not, in ascending order."""
    sql = "SELECT DISTINCT e.row FROM json_each(?) j JOIN entries e ON e.id = j.value ORDER BY e.row"
    return [row for (row,) in write.sql.execute(sql, (json.dumps(list(ids)),))]


def last_row(write: Writing) -> int:
    """Return the last row, 0 without any; every row inserted later has a higher number."""
    return int(write.sql.execute("SELECT coalesce(max(row), 0) FROM entries").fetchone()[0])


def unindex(write: Writing, rows: Sequence[int]) -> None:
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


def index(write: Writing, rows: Sequence[int], *, after: int, expected: int) -> None:
    """Add rows to the full-text tables; call it after `unindex` and the write.

    Args:
        rows: those that existed before.
        after: what `last_row` was before; every row with a higher number is new.
        expected: about how many new rows there are.
    """
    if not write.indexes:
        return
    if expected >= MANY:
        _widen(write)
    ids = json.dumps(rows)
    for t in _TABLES:
        into = f"INSERT INTO {t.name} (rowid, {t.columns}) SELECT e.row, {t.values} FROM"
        if rows:
            write.sql.execute(f"{into} json_each(?) j JOIN entries e ON e.row = j.value WHERE {t.condition}", (ids,))
        # In the order of rows: FTS5 flushes its buffers when a row's number is lower than the one before.
        write.sql.execute(f"{into} entries e WHERE e.row > ? AND {t.condition} ORDER BY e.row", (after,))


def emptied(write: Writing) -> Writing:
    """Empty the full-text tables and return the transaction as one that leaves them so, until `fill`.

    To remove a row costs as much as to add one: where more rows leave than stay, this is quicker.
    """
    for t in _TABLES:
        write.sql.execute(f"INSERT INTO {t.name} ({t.name}) VALUES ('delete-all')")
    return write._replace(indexes=False)


def remade(write: Writing) -> Writing:
    """Empty the full-text tables, also those that are too damaged to be opened, as `emptied` does with whole ones."""
    for t in _TABLES:
        try:
            write.sql.execute(f"INSERT INTO {t.name} ({t.name}) VALUES ('delete-all')")
        # A structure whose lengths make no sense is one that SQLite has no memory for.
        except (sqlite3.DatabaseError, MemoryError):
            _begin_anew(write, t.name)
    return write._replace(indexes=False)


def _begin_anew(write: Writing, name: str) -> None:
    """Give a full-text table what a new one has in the tables that FTS5 keeps it in; it cannot even be dropped."""
    from septet.sqlite.store.connection import schema

    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(schema())

        def create(statement: str) -> bool:
            """Create a table that is gone; say whether it was."""
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


def fill(write: Writing) -> None:
    """Add all rows to the full-text tables, which were emptied."""
    index(write._replace(indexes=True), [], after=-1, expected=MANY)


def take(write: Writing, prepared: object) -> None:
    """Do nothing: SQLite analyses texts in the transaction that writes them."""


def merge(write: Writing) -> None:
    """Write the full-text tables anew, without the words of what has left them; without such it costs nothing.

    FTS5 keeps the words of a row that was removed, with their places, until segments happen to be merged.
    """
    for t in _TABLES:
        write.sql.execute(f"INSERT INTO {t.name} ({t.name}) VALUES ('optimize')")


class IndexedTexts(NamedTuple):
    """What the full-text tables hold of one entry.

    Attributes:
        at: the position of the entry's row in the list given.
    """

    at: int
    id: str
    title: str
    description: str
    context: str
    tags: str
    grams: str


def indexed_texts(read: Reading, rows: Sequence[int]) -> Iterator[IndexedTexts]:
    """Yield what `entries_fts` and `grams_fts` hold of the given rows, or would of memories; dead ones are left out."""
    sql = (
        "SELECT j.key, e.id, e.title, e.description, e.context, e.tags, e.grams FROM json_each(?) j "
        "JOIN entries e ON e.row = j.value WHERE e.live ORDER BY j.key"
    )
    return typed_pages(IndexedTexts, read.sql.execute(sql, (json.dumps(list(rows)),)))


class Totals(NamedTuple):
    """The rows of a full-text table and the tokens in them."""

    rows: int
    tokens: int


def totals(read: Reading, table: Literal["entries_fts", "grams_fts", "memories_fts"]) -> Totals:
    """Return FTS5's own totals, from its record of averages: varints, the rows and then the tokens of each column."""
    block = read.sql.execute(f"SELECT block FROM {table}_data WHERE id = 1").fetchone()
    numbers, value = [], 0
    for byte in bytes(block[0]) if block is not None else b"":
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(value)
            value = 0
    return Totals(numbers[0], sum(numbers[1:])) if numbers else Totals(0, 0)


def _widen(write: Writing) -> None:
    """Give the full-text tables larger buffers; the setting is stored in the file."""
    for t in _TABLES:
        size = write.sql.execute(f"SELECT v FROM {t.name}_config WHERE k = 'hashsize'").fetchone()
        if size is None or size[0] != BUFFER_BYTES:
            write.sql.execute(f"INSERT INTO {t.name} ({t.name}, rank) VALUES ('hashsize', ?)", (BUFFER_BYTES,))
