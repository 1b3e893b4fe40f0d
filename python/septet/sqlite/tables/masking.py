"""What masking secrets reads and writes: entries in pages, what they were, and every other text that a vault keeps."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from septet.sqlite.store.nul import listed
from septet.sqlite.store.store import Reading, Writing
from septet.sqlite.tables import entries, indexing, texts
from septet.sqlite.tables.entries import EntryRow
from septet.sqlite.tables.history import Keeping
from septet.sqlite.tables.typed import typed

__all__ = [
    "Held",
    "Text",
    "among_rows",
    "drop_mentions",
    "drop_staged",
    "drop_vectors",
    "erase_traces",
    "family",
    "has_files",
    "held_at",
    "mentions",
    "parents",
    "put",
    "read_again",
    "set_texts",
    "singles",
    "staged",
    "texts_of",
    "unchanged",
]

#: A page ends after so many rows, or so many characters.
PAGE_ROWS = 1_000
PAGE_CHARS = 4_000_000
_COLUMNS = ", ".join(f"e.{name}" for name in EntryRow._fields[:-1])
_THESE = "(SELECT value FROM json_each(?))"


class Held(NamedTuple):
    """A live entry: its row, the generation that wrote it, and its columns."""

    at: int
    generation: int
    row: EntryRow


class Text(NamedTuple):
    """A text of a table: what names its row there, and the text."""

    key: tuple[Any, ...]
    text: str


#: Texts beside the entries: table, key, column. What is masked in them is no part of an index.
_PLACES = {
    "history": ("history", ("entry", "version"), "columns"),
    "link_notes": ("links", ("source", "target"), "note"),
    "link_types": ("links", ("source", "target"), "type"),
    "feedback": ("feedback", ("row",), "query"),
    "file_problems": ("files", ("file",), "problem"),
    "root_problems": ("roots", ("root",), "problem"),
    "states": ("files", ("file",), "state"),
    # Ids of entries that are gone.
    "lost_feedback": ("feedback", ("row",), "entry_id"),
}
_LOST = " AND NOT EXISTS (SELECT 1 FROM entries e WHERE e.id = feedback.entry_id AND e.live)"


def parents(read: Reading, after: str) -> list[str]:
    """Return ids that live entries have for a parent, the next in order."""
    sql = (
        "SELECT DISTINCT parent FROM entries WHERE parent IS NOT NULL AND parent > ? AND live "
        f"ORDER BY parent LIMIT {PAGE_ROWS}"
    )
    return [parent for (parent,) in read.sql.execute(sql, (after,))]


def family(read: Reading, parent: str) -> list[Held]:
    """Return the live entries with a parent, in the order of their lines; those of one line as their links say."""
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
    ordered: dict[str, Held] = {}
    for entry in entries:
        at: str | None = entry.row.id if entry.row.id not in ends else None
        while at is not None and at in by_id and at not in ordered:
            ordered[at] = by_id[at]
            at = behind.get(at)
    return [*ordered.values(), *(entry for entry in entries if entry.row.id not in ordered)]


def singles(read: Reading, after: int) -> list[Held]:
    """Return live entries without a parent behind a row, a page of them."""
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


def unchanged(write: Writing, entries: Sequence[Held]) -> bool:
    """Say whether entries are still as they were read."""
    sql = f"SELECT e.row, e.generation FROM entries e WHERE e.live AND e.row IN {_THESE}"
    now = dict(write.sql.execute(sql, (json.dumps([entry.at for entry in entries]),)).fetchall())
    return all(now.get(entry.at) == entry.generation for entry in entries)


def put(write: Writing, rows: Sequence[EntryRow], now: float) -> None:
    """Store entries again under their ids; nothing of what they were is kept."""
    entries.upsert(write, rows, [], Keeping("redact", now, 0))


def drop_vectors(write: Writing, before: Iterable[EntryRow]) -> int:
    """Remove the vectors of texts that entries had, unless others have the same text; return how many."""
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
            f"DELETE FROM vectors WHERE key IN {_THESE} "
            "AND space IN (SELECT space FROM spaces WHERE keyed_by = 'text') AND key NOT IN "
            "(SELECT e.text_hash FROM json_each(?) j JOIN entries e ON e.text_hash = j.value AND e.live)",
            (json.dumps(sorted(hashes)),) * 2,
        ).rowcount
    return count


def texts_of(read: Reading, place: str, after: tuple[Any, ...]) -> list[Text]:
    """Return texts of a place (`_PLACES`) behind a key, a page of them; an empty key is before all."""
    table, key, column = _PLACES[place]
    names = ", ".join(key)
    behind = f"({names}) > ({', '.join('?' * len(key))})" if after else "1"
    sql = (
        f"SELECT {column}, {names} FROM {table} WHERE {behind} AND {column} IS NOT NULL AND {column} <> '' "
        f"ORDER BY {names} LIMIT {PAGE_ROWS}"
    )
    if place == "lost_feedback":
        sql = sql.replace(" ORDER BY", f"{_LOST} ORDER BY")
    if not _is_there(read, table):
        return []
    texts_, size = [], 0
    for text, *row_key in read.sql.execute(sql, after):
        texts_.append(Text(tuple(row_key), text))
        size += len(text)
        if size > PAGE_CHARS:
            break
    return typed(Text, texts_)


def among_rows(read: Reading, place: str, page: Sequence[Text], rows: frozenset[int] | None) -> list[Text]:
    """Return those texts of a page of versions, links or feedback that belong to the entries at some rows."""
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


def has_files(read: Reading) -> bool:
    """Say whether the file is of a version that follows folders."""
    return _is_there(read, "roots")


def held_at(read: Reading, rows: Sequence[int]) -> list[Held]:
    """Return the live entries at rows."""
    sql = f"SELECT e.row, e.generation, {_COLUMNS} FROM json_each(?) j JOIN entries e ON e.row = j.value WHERE e.live"
    return [_held(row) for row in read.sql.execute(sql, (json.dumps(list(rows)),))]


def set_texts(write: Writing, place: str, changed: Iterable[tuple[Text, str]]) -> int:
    """Put other texts in the place of some that are still there; return how many."""
    table, key, column = _PLACES[place]
    names = " AND ".join(f"{name} = ?" for name in key)
    sql = f"UPDATE {table} SET {column} = ? WHERE {names} AND {column} = ?"
    return write.sql.executemany(sql, [(masked, *item.key, item.text) for item, masked in changed]).rowcount


def staged(read: Reading, after: int) -> list[Text]:
    """Return what is staged behind a row, each with its row and file, a page of them."""
    sql = f"SELECT entry, row, file FROM staged WHERE row > ? ORDER BY row LIMIT {PAGE_ROWS}"
    return typed(Text, [((row, file), text) for text, row, file in read.sql.execute(sql, (after,))])


def drop_staged(write: Writing, files: Iterable[int]) -> int:
    """Remove what is staged of files, which is made anew then; return how many rows."""
    return write.sql.execute(f"DELETE FROM staged WHERE file IN {_THESE}", (json.dumps(sorted(files)),)).rowcount


def read_again(write: Writing, files: Iterable[int]) -> None:
    """Let files be read from their beginning at the next sync, whatever their time says."""
    these = json.dumps(sorted(files))
    write.sql.execute(f"UPDATE files SET state = '{{}}', hash = '', mtime_ns = 0 WHERE file IN {_THESE}", (these,))


def mentions(read: Reading | Writing, chunks: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return chunk, target and anchor of what chunks mention."""
    source, parameter = listed(chunks)
    sql = f"SELECT m.chunk, m.target, m.anchor FROM {source} j JOIN mentions m ON m.chunk = j.value"
    return read.sql.execute(sql, (parameter,)).fetchall()


def drop_mentions(write: Writing, mentions: Iterable[tuple[str, str, str]]) -> None:
    """Remove mentions by chunk, target and anchor."""
    write.sql.executemany("DELETE FROM mentions WHERE chunk = ? AND target = ? AND anchor = ?", mentions)


def erase_traces(write: Writing) -> int:
    """Remove what is left of texts that are gone, and have every array be made anew; return how many vectors went.

    That is the empty rows of deleted entries, vectors of texts that no entry has, and words in the full-text index.
    """
    count = texts.drop_orphans(write)
    entries.purge(write)
    entries.begin_anew(write)
    indexing.merge(write)
    return count


def _is_there(read: Reading, table: str) -> bool:
    return read.sql.execute("SELECT 1 FROM main.sqlite_master WHERE name = ?", (table,)).fetchone() is not None


def _held(row: Sequence[Any]) -> Held:
    # The creation time was given: it stays.
    return Held(row[0], row[1], typed(EntryRow, [(*row[2:], True)])[0])
