"""Mentions of names in chunks, and aliases of notes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables.fragments import listed

#: The type of a row whose target is an alias of the note that the chunk begins.
ALIAS = "alias"
_THESE = "(SELECT value FROM json_each(?))"


class Mentioned(NamedTuple):
    """A row of `mentions`, without its file."""

    chunk: str
    target: str
    anchor: str
    type: str


def put(write: SqliteWriting, file: int, mentions: Iterable[Mentioned]) -> None:
    """Replace the mentions of a file's chunks."""
    write.sql.execute("DELETE FROM mentions WHERE file = ?", (file,))
    write.sql.executemany(
        "INSERT OR IGNORE INTO mentions (chunk, file, target, anchor, type) VALUES (?, ?, ?, ?, ?)",
        [(mention.chunk, file, mention.target, mention.anchor, mention.type) for mention in mentions],
    )


def of_files(read: SqliteReading | SqliteWriting, files: Iterable[int]) -> set[str]:
    """Return the chunks of files with mentions."""
    sql = f"SELECT DISTINCT chunk FROM mentions WHERE file IN {_THESE} AND type <> '{ALIAS}'"
    return {chunk for (chunk,) in read.sql.execute(sql, (json.dumps(list(files)),))}


def naming(read: SqliteReading | SqliteWriting, root: int, targets: Sequence[str]) -> set[str]:
    """Return the chunks of a root's files that mention one of the targets."""
    source, parameter = listed(targets)
    sql = (
        f"SELECT DISTINCT m.chunk FROM {source} j CROSS JOIN mentions m ON m.target = j.value "
        f"JOIN files f ON f.file = m.file WHERE f.root = ? AND m.type <> '{ALIAS}'"
    )
    return {chunk for (chunk,) in read.sql.execute(sql, (parameter, root))}


def of_chunks(read: SqliteReading | SqliteWriting, chunks: Sequence[str]) -> dict[str, list[tuple[Mentioned, str]]]:
    """Return the mentions of chunks, by chunk, in a stable order, with the path of the file."""
    sql = (
        "SELECT m.chunk, m.target, m.anchor, m.type, f.path FROM json_each(?) j JOIN mentions m ON m.chunk = j.value "
        f"JOIN files f ON f.file = m.file WHERE m.type <> '{ALIAS}' ORDER BY m.chunk, m.target, m.anchor"
    )
    by_chunk: dict[str, list[tuple[Mentioned, str]]] = {}
    for *mention, path in read.sql.execute(sql, (json.dumps(list(chunks)),)):
        by_chunk.setdefault(mention[0], []).append((Mentioned._make(mention), path))
    return by_chunk


def aliased(read: SqliteReading | SqliteWriting, root: int, name: str) -> list[tuple[str, str]]:
    """Return ``(path, id)`` of the files of a root with a folded alias, by path."""
    sql = (
        "SELECT f.path, f.id FROM mentions m JOIN files f ON f.file = m.file "
        f"WHERE m.target = ? AND m.type = '{ALIAS}' AND f.root = ? ORDER BY f.path"
    )
    return read.sql.execute(sql, (name, root)).fetchall()


def aliases_of(read: SqliteReading | SqliteWriting, files: Iterable[int]) -> set[str]:
    """Return the folded aliases of files."""
    sql = f"SELECT DISTINCT target FROM mentions WHERE file IN {_THESE} AND type = '{ALIAS}'"
    return {name for (name,) in read.sql.execute(sql, (json.dumps(list(files)),))}
