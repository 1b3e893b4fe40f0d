"""Names of files and notes: mentions in chunks, aliases, and the chunks of files that a query names."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Sequence

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables.fragments import FINDABLE, THESE, listed
from septet.system.records import NamedTuple

#: The type of a row whose target is an alias of the note that the chunk begins.
ALIAS = "alias"
#: Maximum candidates from named files, those of the best match first.
MOST_CHUNKS = 200
#: Maximum files read per name.
MOST_FILES = 10_000
#: Maximum characters of a query that may be a path.
MOST_CHARS = 4_096
#: Exactness of a match.
PATH, NAME, STEM = 3, 2, 1


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
    sql = f"SELECT DISTINCT chunk FROM mentions WHERE file IN {THESE} AND type <> '{ALIAS}'"
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
    sql = f"SELECT DISTINCT target FROM mentions WHERE file IN {THESE} AND type = '{ALIAS}'"
    return {name for (name,) in read.sql.execute(sql, (json.dumps(list(files)),))}


# -- queries -----------------------------------------------------------------------------------------------------------


def any_files(read: SqliteReading) -> bool:
    """Return True if the vault has files; older schemas lack the table."""
    exists = "SELECT 1 FROM main.sqlite_master WHERE name = 'files'"
    if read.sql.execute(exists).fetchone() is None:
        return False
    return read.sql.execute("SELECT 1 FROM files LIMIT 1").fetchone() is not None


def chunks_named(read: SqliteReading, query: str) -> dict[int, int]:
    """Return the rows of chunks of files named in a query, with the exactness of the match (3, 2 or 1).

    Ordered by exactness, path and line. A path may be relative to its root, prefixed with the root's name, or absolute;
    either slash is accepted, and case and Unicode composition are ignored.
    """
    folded = _folded(query)
    if not folded or len(query) > MOST_CHARS:
        return {}
    name = folded.rpartition("/")[2]
    # Each half uses its own index.
    sql = (
        "SELECT f.id, f.path, f.name, r.name, r.path FROM (SELECT file FROM files WHERE name = ?1 "
        "UNION SELECT file FROM files WHERE stem = ?1 LIMIT ?2) JOIN files f USING (file) JOIN roots r USING (root)"
    )
    rows = read.sql.execute(sql, (name, MOST_FILES)).fetchall()
    exact = [(-_exactness(folded, name, *file[1:]), file[1], file[0]) for file in rows]
    chunks: dict[int, int] = {}
    sql = f"SELECT e.row FROM entries e WHERE e.parent = ? AND {FINDABLE} ORDER BY e.first_line, e.row LIMIT ?"
    for exactness, _, file_id in sorted(match for match in exact if match[0]):
        if len(chunks) >= MOST_CHUNKS:
            break
        for (row,) in read.sql.execute(sql, (file_id, MOST_CHUNKS - len(chunks))):
            chunks[row] = -exactness
    return chunks


def _exactness(query: str, name: str, path: str, name_in_root: str, root_name: str, root_path: str) -> int:
    if query in (_folded(path), _folded(f"{root_name}/{path}"), _folded(f"{root_path}/{path}")):
        return PATH
    if query != name:
        return 0
    return NAME if name_in_root == name else STEM


def _folded(path: str) -> str:
    """Normalise a path for comparison: NFC, case folded, forward slashes, without a leading ``./``."""
    plain = unicodedata.normalize("NFC", path.strip()).casefold().replace("\\", "/")
    while plain.startswith("./"):
        plain = plain[2:]
    return plain.rstrip("/") if plain.strip("./") else ""
