"""Rows of `staged`: rebuilt chunks of a root, kept beside the live ones until one transaction swaps them.

Each file has a first row, with an empty ``text_hash``, about the file itself, followed by a row per chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from septet.model.vector import Space
from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables.fragments import THESE
from septet.sqlite.tables.marks import set_value, value_of
from septet.store.rules import joined

#: Maximum rows removed per transaction, so that other writers do not wait long.
DROPPED_ROWS = 2_000


class Staged(NamedTuple):
    """A staged file: its facts and the fields of its chunks, as JSON, with the hash of its bytes."""

    file: int
    hash: str
    facts: str
    chunks: tuple[str, ...]


class Target(NamedTuple):
    """The new chunking of a root, and the time it began (epoch seconds)."""

    identity: str
    begun: float


def target(read: SqliteReading | SqliteWriting, root: int) -> Target | None:
    """Return the new chunking of a root in progress; None if there is none."""
    value = value_of(read, f"staged:{root}")
    return None if value is None else Target(*json.loads(value))


def begin(write: SqliteWriting, root: int, made_with: Target) -> None:
    """Record the new chunking of a root."""
    set_value(write, f"staged:{root}", json.dumps(made_with))


def end(write: SqliteWriting, root: int) -> None:
    """Record the end of a root's rebuild."""
    write.sql.execute("DELETE FROM meta WHERE key = ?", (f"staged:{root}",))


def any_of(read: SqliteReading | SqliteWriting) -> bool:
    """Return True if anything is staged."""
    return read.sql.execute("SELECT 1 FROM staged LIMIT 1").fetchone() is not None


def put(write: SqliteWriting, files: Sequence[Staged], hashes: Sequence[Sequence[str]]) -> None:
    """Stage files, with the hashes of the texts of their chunks, replacing their previous staged rows."""
    write.sql.execute(f"DELETE FROM staged WHERE file IN {THESE}", (json.dumps([f.file for f in files]),))
    write.sql.executemany(
        "INSERT INTO staged (file, hash, text_hash, entry) VALUES (?, ?, ?, ?)",
        (
            (file.file, file.hash, text_hash, entry)
            for file, of_chunks in zip(files, hashes)
            for text_hash, entry in (("", file.facts), *zip(of_chunks, file.chunks))
        ),
    )


def files(read: SqliteReading | SqliteWriting, root: int) -> dict[int, tuple[str, str]]:
    """Return the staged files of a root by number: the hash of their bytes and their path when read."""
    sql = (
        "SELECT s.file, s.hash, json_extract(s.entry, '$.path') FROM staged s JOIN files f ON f.file = s.file "
        "WHERE f.root = ? AND s.text_hash = ''"
    )
    return {row[0]: row[1:] for row in read.sql.execute(sql, (root,))}


def read(read: SqliteReading | SqliteWriting, files: Iterable[int]) -> Iterator[Staged]:
    """Yield staged files."""
    for file in files:
        sql = "SELECT hash, entry FROM staged WHERE file = ? ORDER BY row"
        (hash, facts), *chunks = read.sql.execute(sql, (file,)).fetchall()
        yield Staged(file, hash, facts, tuple(entry for _, entry in chunks))


def count_new(read: SqliteReading | SqliteWriting, root: int) -> int:
    """Return the number of staged chunks of a root with new texts."""
    sql = (
        "SELECT count(*) FROM staged s JOIN files f ON f.file = s.file WHERE f.root = ? AND s.text_hash <> '' "
        "AND s.text_hash NOT IN (SELECT text_hash FROM entries WHERE live)"
    )
    return int(read.sql.execute(sql, (root,)).fetchone()[0])


def count(read: SqliteReading | SqliteWriting, root: int) -> int:
    """Return the number of staged chunks of a root."""
    sql = "SELECT count(*) FROM staged s JOIN files f ON f.file = s.file WHERE f.root = ? AND s.text_hash <> ''"
    return int(read.sql.execute(sql, (root,)).fetchone()[0])


def texts_of(read: SqliteReading, space: Space | None, *, after: int, limit: int) -> tuple[int, list[tuple[str, str]]]:
    """Return staged texts after a row that lack a vector in a space (all in None), and the row of the last."""
    sql = (
        "SELECT s.row, s.text_hash, json_extract(s.entry, '$.title'), json_extract(s.entry, '$.description'), "
        "json_extract(s.entry, '$.context') FROM staged s WHERE s.row > ? AND s.text_hash <> '' "
        "AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key = s.text_hash AND v.space = ?) ORDER BY s.row LIMIT ?"
    )
    number = -1 if space is None else space.space
    rows = read.sql.execute(sql, (after, number, limit)).fetchall()
    texts = [(key, joined([part or "" for part in parts])) for _, key, *parts in rows]
    return (rows[-1][0] if rows else after), texts


def drop(write: SqliteWriting, root: int | None) -> int:
    """Remove some staged rows of a root, the last with its chunking, or of deleted roots; return their number."""
    of = "f.root = ?1" if root is not None else "f.file IS NULL"
    cursor = write.sql.execute(
        "DELETE FROM staged WHERE row IN (SELECT s.row FROM staged s LEFT JOIN files f ON f.file = s.file "
        f"WHERE {of} LIMIT {DROPPED_ROWS})",
        () if root is None else (root,),
    ).rowcount
    if cursor < DROPPED_ROWS and root is not None:
        end(write, root)
    return cursor
