"""Roots, their files, and the files' chunks."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables import parts
from septet.sqlite.tables.fragments import THESE, listed
from septet.sqlite.tables.marks import set_value, value_of
from septet.store.rows import EntryRow
from septet.store.typed import typed

#: The kind of the entries of files.
CHUNK = "chunk"
#: The size of a file that was not read yet: its chunks have another origin.
UNREAD = -1


class RootRow(NamedTuple):
    """A row of `roots`."""

    root: int
    path: str
    name: str
    options: str
    identity: str
    synced_at: float | None
    problem: str | None


class FileRow(NamedTuple):
    """A row of `files`, without columns derived from its path."""

    file: int
    id: str
    root: int
    path: str
    kind: str
    size: int
    mtime_ns: int
    hash: str
    state: str
    synced_at: float
    problem: str | None


class ChunkRow(NamedTuple):
    """A stored chunk: its row, and its columns in the order of `EntryRow`."""

    row: int
    columns: tuple[Any, ...]


_ROOT = "SELECT root, path, name, options, identity, synced_at, problem FROM roots"
_FILE = "SELECT file, id, root, path, kind, size, mtime_ns, hash, state, synced_at, problem FROM files"
#: The columns of a chunk that a sync compares and writes.
COMPARED = EntryRow._fields[:-1]
_CHUNKS = (
    f"SELECT e.row, {', '.join(f'e.{name}' for name in COMPARED)} FROM json_each(?) j "
    f"JOIN entries e ON e.parent = j.value WHERE e.live AND e.kind = '{CHUNK}' "
    "ORDER BY e.first_line, e.last_line, e.row"
)


def folded(text: str) -> str:
    """Normalise a path, name or target for comparison: NFC, case folded."""
    return unicodedata.normalize("NFC", text).casefold()


def stem_of(name: str) -> str:
    """Return a name without its extension; a name that begins with its only dot has none."""
    before, dot, _ = name.rpartition(".")
    return before if dot and before else name


# -- roots -------------------------------------------------------------------------------------------------------------


def roots(read: SqliteReading | SqliteWriting) -> list[RootRow]:
    """Return every root in insertion order."""
    return typed(RootRow, read.sql.execute(f"{_ROOT} ORDER BY root"))


def has_root(read: SqliteReading | SqliteWriting, root: int) -> bool:
    """Return True if a root has this number."""
    return read.sql.execute("SELECT 1 FROM roots WHERE root = ?", (root,)).fetchone() is not None


def add_root(write: SqliteWriting, path: str, name: str, options: str, identity: str) -> int:
    """Store a root; return its number."""
    sql = "INSERT INTO roots (path, name, options, identity) VALUES (?, ?, ?, ?)"
    return int(write.sql.execute(sql, (path, name, options, identity)).lastrowid or 0)


def set_options(write: SqliteWriting, root: int, options: str) -> None:
    """Store the options of a root."""
    write.sql.execute("UPDATE roots SET options = ? WHERE root = ?", (options, root))


def note_root(write: SqliteWriting, root: int, synced_at: float | None, problem: str | None) -> None:
    """Record the end of a root's sync: its time if it was complete, and its problem if it failed."""
    sql = "UPDATE roots SET synced_at = coalesce(?, synced_at), problem = ? WHERE root = ?"
    write.sql.execute(sql, (synced_at, problem, root))


def note_identity(write: SqliteWriting, root: int, identity: str) -> None:
    """Record the chunking identity of a root."""
    write.sql.execute("UPDATE roots SET identity = ?1 WHERE root = ?2 AND identity <> ?1", (identity, root))


def remove_root(write: SqliteWriting, root: int) -> None:
    """Remove a root whose files were removed."""
    write.sql.execute("DELETE FROM roots WHERE root = ?", (root,))
    write.sql.execute("DELETE FROM meta WHERE key = ?", (f"device:{root}",))


def device_of(read: SqliteReading | SqliteWriting, root: int) -> int | None:
    """Return the file system of a root at its last sync."""
    device = value_of(read, f"device:{root}")
    return None if device is None else int(device)


def set_device(write: SqliteWriting, root: int, device: int) -> None:
    """Record the file system of a root."""
    set_value(write, f"device:{root}", str(device))


# -- files -------------------------------------------------------------------------------------------------------------


def of_root(read: SqliteReading | SqliteWriting, root: int, below: str = "") -> list[FileRow]:
    """Return the files of a root in the order of their paths, or only those at a path and below it."""
    where, args = ("AND (path = ? OR path > ? AND path < ?)", (below, f"{below}/", f"{below}0")) if below else ("", ())
    return typed(FileRow, read.sql.execute(f"{_FILE} WHERE root = ? {where} ORDER BY path", (root, *args)))


def at(read: SqliteReading | SqliteWriting, root: int, paths: Sequence[str]) -> dict[str, FileRow]:
    """Return the files of a root at paths, by path."""
    source, parameter = listed(paths)
    sql = f"{_FILE} WHERE root = ? AND path IN (SELECT value FROM {source})"
    return {row.path: row for row in typed(FileRow, read.sql.execute(sql, (root, parameter)))}


def like(read: SqliteReading | SqliteWriting, root: int, hashes: Sequence[str]) -> list[FileRow]:
    """Return the files of a root that have one of the hashes."""
    sql = f"{_FILE} WHERE root = ? AND hash IN {THESE} ORDER BY path"
    return typed(FileRow, read.sql.execute(sql, (root, json.dumps(list(hashes)))))


def rows_of(read: SqliteReading | SqliteWriting, files: Iterable[int]) -> dict[int, FileRow]:
    """Return files by their numbers."""
    sql = f"{_FILE} WHERE file IN {THESE}"
    return {row.file: row for row in typed(FileRow, read.sql.execute(sql, (json.dumps(list(files)),)))}


def file_ids_taken(read: SqliteReading | SqliteWriting, ids: Sequence[str]) -> set[str]:
    """Return the ids in use by files."""
    sql = f"SELECT id FROM files WHERE id IN {THESE}"
    return {id for (id,) in read.sql.execute(sql, (json.dumps(list(ids)),))}


def put(write: SqliteWriting, row: FileRow) -> int:
    """Store a file, new if its number is 0; return its number."""
    name = folded(row.path.rpartition("/")[2])
    values = (*row[1:], name, stem_of(name))
    if not row.file:
        sql = (
            "INSERT INTO files (id, root, path, kind, size, mtime_ns, hash, state, synced_at, problem, name, stem) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        return int(write.sql.execute(sql, values).lastrowid or 0)
    write.sql.execute(
        "UPDATE files SET id = ?, root = ?, path = ?, kind = ?, size = ?, mtime_ns = ?, hash = ?, state = ?, "
        "synced_at = ?, problem = ?, name = ?, stem = ? WHERE file = ?",
        (*values, row.file),
    )
    return row.file


def touch(write: SqliteWriting, files: Iterable[tuple[int, int, float, int, str]]) -> None:
    """Update size, mtime (ns) and sync time of files with unchanged bytes: ``(size, mtime, synced, number, hash)``."""
    write.sql.executemany("UPDATE files SET size = ?, mtime_ns = ?, synced_at = ? WHERE file = ? AND hash = ?", files)


def unknown(write: SqliteWriting, files: Sequence[int]) -> None:
    """Forget the bytes of files, so that the next sync reads them again."""
    write.sql.execute(f"UPDATE files SET hash = '', mtime_ns = 0 WHERE file IN {THESE}", (json.dumps(list(files)),))


def remove(write: SqliteWriting, files: Sequence[int]) -> None:
    """Remove files and their mentions; the caller erases their chunks."""
    these = json.dumps(list(files))
    for table in ("mentions", "files", "staged"):
        write.sql.execute(f"DELETE FROM {table} WHERE file IN {THESE}", (these,))


# -- chunks ------------------------------------------------------------------------------------------------------------


def chunks_of(read: SqliteReading | SqliteWriting, ids: Sequence[str]) -> dict[str, list[ChunkRow]]:
    """Return the chunks of files, by the file's id, in their order."""
    place = COMPARED.index("parent")
    chunks: dict[str, list[ChunkRow]] = {}
    for row, *values in read.sql.execute(_CHUNKS, (json.dumps(list(ids)),)):
        chunks.setdefault(values[place], []).append(ChunkRow(row, tuple(values)))
    return chunks


def owners_of(read: SqliteReading | SqliteWriting, source: str) -> dict[str, str]:
    """Return, by path, the ids of files without a row that have chunks with this source."""
    sql = (
        "SELECT e.path, min(e.parent) FROM entries e WHERE e.source = ? AND e.live AND e.path IS NOT NULL "
        f"AND e.kind = '{CHUNK}' AND e.parent GLOB 'file-*' "
        "AND NOT EXISTS (SELECT 1 FROM files f WHERE f.id = e.parent) GROUP BY e.path"
    )
    return dict(read.sql.execute(sql, (source,)).fetchall())


def count_files(read: SqliteReading | SqliteWriting, root: int) -> int:
    """Return the number of files of a root."""
    return int(read.sql.execute("SELECT count(*) FROM files WHERE root = ?", (root,)).fetchone()[0])


def count_chunks(read: SqliteReading | SqliteWriting, root: int) -> int:
    """Return the number of chunks of a root."""
    sql = (
        "SELECT count(*) FROM files f JOIN entries e ON e.parent = f.id "
        f"WHERE f.root = ? AND e.live AND e.kind = '{CHUNK}'"
    )
    return int(read.sql.execute(sql, (root,)).fetchone()[0])


def others_with(read: SqliteReading | SqliteWriting, parents: Mapping[str, str]) -> set[str]:
    """Return the ids that exist and are not chunks of the given parent."""
    return {*parts.taken(read, parents)}


def move_chunks(write: SqliteWriting, moves: Iterable[tuple[str, int, int, int]]) -> None:
    """Set the spans of chunks: ``(path, first line, last line, row)``; they are not indexed."""
    write.sql.executemany(
        f"UPDATE entries SET path = ?, first_line = ?, last_line = ?, generation = {int(write.generation)} "
        "WHERE row = ? AND live",
        moves,
    )


def first_chunk(read: SqliteReading | SqliteWriting, file_id: str) -> str | None:
    """Return the id of a file's first chunk."""
    # Chunks of one long line have the same span; the first is not the target of a link ``next``.
    sql = (
        "SELECT e.id FROM entries e WHERE e.parent = ?1 AND e.live AND e.kind = 'chunk' AND e.first_line IS "
        "(SELECT min(o.first_line) FROM entries o WHERE o.parent = ?1 AND o.live AND o.kind = 'chunk') "
        "ORDER BY EXISTS (SELECT 1 FROM links l JOIN entries p ON p.id = l.source WHERE l.target = e.id "
        "AND l.type = 'next' AND p.parent = ?1), e.last_line, e.row LIMIT 1"
    )
    row = read.sql.execute(sql, (file_id,)).fetchone()
    return None if row is None else str(row[0])


def anchors(read: SqliteReading | SqliteWriting, file_id: str) -> list[tuple[str, str]]:
    """Return ``(id, headings as JSON)`` of the chunks of a file with headings, in their order."""
    sql = (
        "SELECT e.id, json_extract(e.attrs, '$.headings') FROM entries e WHERE e.parent = ? AND e.live "
        "AND e.kind = 'chunk' AND json_type(e.attrs, '$.headings') = 'array' ORDER BY e.first_line, e.last_line, e.row"
    )
    return read.sql.execute(sql, (file_id,)).fetchall()


# -- links -------------------------------------------------------------------------------------------------------------


def named(read: SqliteReading | SqliteWriting, root: int, name: str, *, stem: bool) -> list[tuple[str, str]]:
    """Return path and id of the files of a root with a folded name, or a folded stem, by path."""
    column = "stem" if stem else "name"
    # The plus prevents SQLite from scanning all files of the root by path.
    sql = f"SELECT path, id FROM files WHERE {column} = ? AND +root = ? ORDER BY path"
    return read.sql.execute(sql, (name, root)).fetchall()


def own_links(read: SqliteReading | SqliteWriting, chunks: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return the types of the links from chunks, by source and target."""
    sql = "SELECT l.source, l.target, l.type FROM json_each(?) j JOIN links l ON l.source = j.value"
    return {(source, target): type for source, target, type in read.sql.execute(sql, (json.dumps(list(chunks)),))}
