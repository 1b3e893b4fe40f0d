"""Links between entries."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from septet.model.links import NEXT, Link
from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.store.typed import typed, typed_pages

#: Links ``l`` from ``s`` to ``t`` that count for distances. Links between chunks of a file do not: every file has them,
#: so they only show that several chunks of a file match.
_WALKED = f"(l.type <> '{NEXT}' OR s.kind <> 'chunk' OR t.kind <> 'chunk' OR t.parent IS NOT s.parent)"


def put(write: SqliteWriting, links: Iterable[Link]) -> None:
    stored = list(links)
    write.sql.executemany(
        "INSERT INTO links VALUES (?, ?, ?, ?) "
        "ON CONFLICT (source, target) DO UPDATE SET type = excluded.type, note = excluded.note",
        stored,
    )
    _note_changes(write, ((link.source, link.target) for link in stored))


def remove(write: SqliteWriting, source: str, target: str) -> bool:
    there = write.sql.execute("DELETE FROM links WHERE source = ? AND target = ?", (source, target)).rowcount > 0
    if there:
        _note_changes(write, [(source, target)])
    return there


def remove_of_rows(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Remove the links from and to the entries at the given rows."""
    if not any_links(write):
        return
    these = "(SELECT e.id FROM json_each(?1) j JOIN entries e ON e.row = j.value)"
    ends = write.sql.execute(
        f"SELECT source, target FROM links WHERE source IN {these} "
        f"UNION SELECT source, target FROM links WHERE target IN {these}",
        (json.dumps(list(rows)),),
    ).fetchall()
    unlink(write, ends)


def unlink(write: SqliteWriting, ends: Sequence[tuple[str, str]]) -> None:
    """Remove links by their ends, and record the change."""
    write.sql.executemany("DELETE FROM links WHERE source = ? AND target = ?", ends)
    _note_changes(write, ends)


def linked_by(read: SqliteReading | SqliteWriting, target: str, type: str) -> str | None:
    row = read.sql.execute("SELECT source FROM links WHERE target = ? AND type = ?", (target, type)).fetchone()
    return None if row is None else str(row[0])


def _note_changes(write: SqliteWriting, ends: Iterable[tuple[str, str]]) -> None:
    write.sql.executemany(
        "INSERT INTO link_changes SELECT s.row, t.row, ? FROM entries s, entries t WHERE s.id = ? AND t.id = ? "
        "ON CONFLICT (source, target) DO UPDATE SET generation = excluded.generation",
        ((write.generation, source, target) for source, target in ends),
    )


def purge(write: SqliteWriting) -> None:
    """Remove the links of deleted entries, whose rows are about to be removed."""
    dead = "(SELECT row FROM entries WHERE NOT live)"
    write.sql.execute(f"DELETE FROM link_changes WHERE source IN {dead} OR target IN {dead}")


def row_links(read: SqliteReading) -> list[tuple[int, int, int]]:
    """Return ``(row, row, generation)`` of every link that counts for distances; generation 0 if unknown."""
    sql = (
        "SELECT s.row, t.row, coalesce(c.generation, 0) FROM links l CROSS JOIN entries s ON s.id = l.source "
        "CROSS JOIN entries t ON t.id = l.target LEFT JOIN link_changes c ON c.source = s.row AND c.target = t.row "
        f"WHERE {_WALKED}"
    )
    return read.sql.execute(sql).fetchall()


def changed_row_links(read: SqliteReading, since: int) -> list[tuple[int, int, int, int]]:
    """Return the links changed after a generation: ``(row, row, generation, 1 if it counts for distances)``."""
    sql = (
        "SELECT c.source, c.target, c.generation, EXISTS (SELECT 1 FROM links l WHERE l.source = s.id "
        f"AND l.target = t.id AND {_WALKED}) FROM link_changes c CROSS JOIN entries s ON s.row = c.source "
        "CROSS JOIN entries t ON t.row = c.target WHERE c.generation > ?"
    )
    return read.sql.execute(sql, (since,)).fetchall()


def links_of(read: SqliteReading, entry_ids: Sequence[str]) -> list[Link]:
    these = f"({', '.join('?' * len(entry_ids))})"
    sql = (
        f"SELECT source, target, type, note FROM links WHERE source IN {these} OR target IN {these} "
        "ORDER BY source, target"
    )
    return typed(Link, read.sql.execute(sql, (*entry_ids, *entry_ids)))


def all_links(read: SqliteReading) -> Iterator[Link]:
    return typed_pages(Link, read.sql.execute("SELECT source, target, type, note FROM links"))


def count(read: SqliteReading) -> int:
    return int(read.sql.execute("SELECT count(*) FROM links").fetchone()[0])


def any_links(read: SqliteReading | SqliteWriting) -> bool:
    """Return True if the store has any link."""
    return read.sql.execute("SELECT 1 FROM links LIMIT 1").fetchone() is not None
