"""Reads and writes of masking: pages of entries, their versions, and all other texts of a vault."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables import entries, indexing, texts
from septet.sqlite.tables.fragments import THESE, listed
from septet.sqlite.tables.marks import has_table
from septet.store.rows import EntryRow, Keeping
from septet.store.typed import typed

#: Maximum rows, and characters, of a page.
PAGE_ROWS = 1_000
PAGE_CHARS = 4_000_000
_COLUMNS = ", ".join(f"e.{name}" for name in EntryRow._fields[:-1])


class LiveEntry(NamedTuple):
    """A live entry: its row, generation and columns."""

    at: int
    generation: int
    row: EntryRow


class Text(NamedTuple):
    """A text of a table with the key of its row."""

    key: tuple[Any, ...]
    text: str


#: Texts outside entries: table, key, column. They are not indexed.
_PLACES = {
    "history": ("history", ("entry", "version"), "columns"),
    "link_notes": ("links", ("source", "target"), "note"),
    "link_types": ("links", ("source", "target"), "type"),
    "feedback": ("feedback", ("row",), "query"),
    "file_problems": ("files", ("file",), "problem"),
    "root_problems": ("roots", ("root",), "problem"),
    "states": ("files", ("file",), "state"),
    # Ids of deleted entries.
    "lost_feedback": ("feedback", ("row",), "entry_id"),
}
_LOST = " AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.id = feedback.entry_id AND e.live)"


def parents(read: SqliteReading, after: str) -> list[str]:
    """Return the next page of parents' ids of live entries, in order."""
    sql = (
        "SELECT DISTINCT parent FROM entries WHERE parent IS NOT NULL AND parent > ? AND live "
        f"ORDER BY parent LIMIT {PAGE_ROWS}"
    )
    return [parent for (parent,) in read.sql.execute(sql, (after,))]


def family(read: SqliteReading, parent: str) -> list[LiveEntry]:
    """Return the live children of a parent by line; those of one line in the order of their links."""
    sql = (
        f"SELECT e.row, e.generation, {_COLUMNS} FROM entries e WHERE e.parent = ? AND e.live "
        "ORDER BY e.first_line, e.last_line, e.row"
    )
    entries = [_held(row) for row in read.sql.execute(sql, (parent,))]
    source, parameter = listed([entry.row.id for entry in entries])
    sql = f"SELECT l.source, l.target FROM {source} j JOIN links l ON l.source = j.value WHERE l.type = 'next'"
    behind: dict[str, str] = dict(read.sql.execute(sql, (parameter,)).fetchall())
    by_id = {entry.row.id: entry for entry in entries}
    ends = set(behind.values())
    ordered: dict[str, LiveEntry] = {}
    for entry in entries:
        at: str | None = entry.row.id if entry.row.id not in ends else None
        while at is not None and at in by_id and at not in ordered:
            ordered[at] = by_id[at]
            at = behind.get(at)
    return [*ordered.values(), *(entry for entry in entries if entry.row.id not in ordered)]


def singles(read: SqliteReading, after: int) -> list[LiveEntry]:
    """Return the next page of live entries without a parent, after a row."""
    sql = (
        f"SELECT e.row, e.generation, {_COLUMNS} FROM entries e WHERE e.row > ? AND e.parent IS NULL AND e.live "
        f"ORDER BY e.row LIMIT {PAGE_ROWS}"
    )
    entries, size = [], 0
    for row in read.sql.execute(sql, (after,)):
        entries.append(_held(row))
        size += entries[-1].row.size
        if size > PAGE_CHARS:
            break
    return entries


def unchanged(write: SqliteWriting, entries: Sequence[LiveEntry]) -> bool:
    """Return True if entries are unchanged since they were read."""
    sql = f"SELECT e.row, e.generation FROM entries e WHERE e.live AND e.row IN {THESE}"
    now = dict(write.sql.execute(sql, (json.dumps([entry.at for entry in entries]),)).fetchall())
    return all(now.get(entry.at) == entry.generation for entry in entries)


def put(write: SqliteWriting, rows: Sequence[EntryRow], now: float) -> None:
    """Overwrite entries without keeping versions."""
    entries.upsert(write, rows, [], Keeping("redact", now, 0))


def drop_vectors(write: SqliteWriting, before: Iterable[EntryRow]) -> int:
    """Remove the vectors of old texts, unless other entries have the same text; return their number."""
    hashes, stored = set(), []
    for row in before:
        hashes.add(row.text_hash)
        stored.append(f"{row.text_hash}:{row.id}")
    kinds = {kind for (kind,) in write.sql.execute("SELECT DISTINCT keyed_by FROM spaces")}
    count = 0
    if "entry" in kinds:
        source, parameter = listed(stored)
        count = write.sql.execute(
            f"DELETE FROM vectors WHERE key IN (SELECT value FROM {source}) "
            "AND space IN (SELECT space FROM spaces WHERE keyed_by = 'entry')",
            (parameter,),
        ).rowcount
    if "text" in kinds:
        count += write.sql.execute(
            f"DELETE FROM vectors WHERE key IN {THESE} "
            "AND space IN (SELECT space FROM spaces WHERE keyed_by = 'text') AND key NOT IN "
            "(SELECT e.text_hash FROM json_each(?) j JOIN entries e ON e.text_hash = j.value AND e.live)",
            (json.dumps(sorted(hashes)),) * 2,
        ).rowcount
    return count


def texts_of(read: SqliteReading, place: str, after: tuple[Any, ...]) -> list[Text]:
    """Return the next page of texts of a place (`_PLACES`), after a key; an empty key precedes all."""
    table, key, column = _PLACES[place]
    names = ", ".join(key)
    behind = f"({names}) > ({', '.join('?' * len(key))})" if after else "1"
    sql = (
        f"SELECT {column}, {names} FROM {table} WHERE {behind} AND {column} IS NOT NULL AND {column} <> '' "
        f"ORDER BY {names} LIMIT {PAGE_ROWS}"
    )
    if place == "lost_feedback":
        sql = sql.replace(" ORDER BY", f"{_LOST} ORDER BY")
    if not has_table(read, table):
        return []
    texts_, size = [], 0
    for text, *row_key in read.sql.execute(sql, after):
        texts_.append(Text(tuple(row_key), text))
        size += len(text)
        if size > PAGE_CHARS:
            break
    return typed(Text, texts_)


def among_rows(read: SqliteReading, place: str, page: Sequence[Text], rows: frozenset[int] | None) -> list[Text]:
    """Return the texts of a page of versions, links or feedback that belong to entries at these rows."""
    if rows is None:
        return [*page]
    if place == "history":
        return [item for item in page if item.key[0] in rows]
    ids = set(entries.ids_at(read, sorted(rows)))
    if place == "feedback":
        sql = "SELECT f.row, f.entry_id FROM json_each(?) j JOIN feedback f ON f.row = j.value"
        of = dict(read.sql.execute(sql, (json.dumps([item.key[0] for item in page]),)).fetchall())
        return [item for item in page if of.get(item.key[0]) in ids]
    return [item for item in page if not ids.isdisjoint(item.key)]


def has_files(read: SqliteReading) -> bool:
    """Return True if the file's schema supports roots."""
    return has_table(read, "roots")


def held_at(read: SqliteReading, rows: Sequence[int]) -> list[LiveEntry]:
    """Return the live entries at rows."""
    sql = f"SELECT e.row, e.generation, {_COLUMNS} FROM json_each(?) j JOIN entries e ON e.row = j.value WHERE e.live"
    return [_held(row) for row in read.sql.execute(sql, (json.dumps(list(rows)),))]


def set_texts(write: SqliteWriting, place: str, changed: Iterable[tuple[Text, str]]) -> int:
    """Replace texts that are unchanged since they were read; return their number."""
    table, key, column = _PLACES[place]
    names = " AND ".join(f"{name} = ?" for name in key)
    sql = f"UPDATE {table} SET {column} = ? WHERE {names} AND {column} = ?"
    return write.sql.executemany(sql, [(masked, *item.key, item.text) for item, masked in changed]).rowcount


def staged(read: SqliteReading, after: int) -> list[Text]:
    """Return the next page of staged texts, after a row, each with its row and file."""
    sql = f"SELECT entry, row, file FROM staged WHERE row > ? ORDER BY row LIMIT {PAGE_ROWS}"
    return typed(Text, [((row, file), text) for text, row, file in read.sql.execute(sql, (after,))])


def drop_staged(write: SqliteWriting, files: Iterable[int]) -> int:
    """Remove the staged rows of files, which are then staged again; return their number."""
    return write.sql.execute(f"DELETE FROM staged WHERE file IN {THESE}", (json.dumps(sorted(files)),)).rowcount


def read_again(write: SqliteWriting, files: Iterable[int]) -> None:
    """Mark files to be read completely by the next sync, regardless of their times."""
    these = json.dumps(sorted(files))
    write.sql.execute(f"UPDATE files SET state = '{{}}', hash = '', mtime_ns = 0 WHERE file IN {THESE}", (these,))


def mentions(read: SqliteReading | SqliteWriting, chunks: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return ``(chunk, target, anchor)`` of the mentions of chunks."""
    source, parameter = listed(chunks)
    sql = f"SELECT m.chunk, m.target, m.anchor FROM {source} j JOIN mentions m ON m.chunk = j.value"
    return read.sql.execute(sql, (parameter,)).fetchall()


def drop_mentions(write: SqliteWriting, mentions: Iterable[tuple[str, str, str]]) -> None:
    """Remove mentions by chunk, target and anchor."""
    write.sql.executemany("DELETE FROM mentions WHERE chunk = ? AND target = ? AND anchor = ?", mentions)


def erase_traces(write: SqliteWriting) -> int:
    """Remove traces of deleted texts, and invalidate every array; return the number of removed vectors.

    Traces are the empty rows of deleted entries, vectors of deleted texts, and their words in the full-text index.
    """
    count = texts.drop_orphans(write)
    entries.purge(write)
    entries.begin_anew(write)
    indexing.merge(write)
    return count


def _held(row: Sequence[Any]) -> LiveEntry:
    # True: keep the creation time.
    return LiveEntry(row[0], row[1], typed(EntryRow, [(*row[2:], True)])[0])
