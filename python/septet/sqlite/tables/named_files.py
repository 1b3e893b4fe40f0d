"""The chunks of files named in a query: by path, by file name, or by its stem."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables.fragments import FINDABLE

#: Maximum candidates from named files, those of the best match first.
MOST_CHUNKS = 200
#: Maximum files read per name.
MOST_FILES = 10_000
#: Maximum characters of a query that may be a path.
MOST_CHARS = 4_096
#: Exactness of a match.
PATH, NAME, STEM = 3, 2, 1


def any_files(read: SqliteReading) -> bool:
    """Return True if the vault has files; older schemas lack the table."""
    exists = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'files'"
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
    return _chunks(read, sorted(match for match in exact if match[0]))


def _chunks(read: SqliteReading, files: Iterable[tuple[int, str, str]]) -> dict[int, int]:
    rows: dict[int, int] = {}
    sql = f"SELECT e.row FROM entries e WHERE e.parent = ? AND {FINDABLE} ORDER BY e.first_line, e.row LIMIT ?"
    for exactness, _, file_id in files:
        if len(rows) >= MOST_CHUNKS:
            break
        for (row,) in read.sql.execute(sql, (file_id, MOST_CHUNKS - len(rows))):
            rows[row] = -exactness
    return rows


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
