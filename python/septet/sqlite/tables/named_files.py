"""The chunks of files that a query names: by path, by file name, or by the name without its ending."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from septet.sqlite.store.store import Reading
from septet.sqlite.tables.fragments import FINDABLE

__all__ = ["MOST_CHUNKS", "any_files", "chunks_named"]

#: So many chunks of files that a query names become candidates, those of the best match first.
MOST_CHUNKS = 200
#: Of one name, so many files are looked at.
MOST_FILES = 10_000
#: A longer query is no path.
MOST_CHARS = 4_096
#: A whole path says more than a name, and that more than its stem.
PATH, NAME, STEM = 3, 2, 1


def any_files(read: Reading) -> bool:
    """Say whether the vault holds files; a file of an older library has no table for them."""
    exists = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'files'"
    if read.sql.execute(exists).fetchone() is None:
        return False
    return read.sql.execute("SELECT 1 FROM files LIMIT 1").fetchone() is not None


def chunks_named(read: Reading, query: str) -> dict[int, int]:
    """Return the rows of the chunks of files that a query names, each with how exactly it does (3, 2 or 1).

    The most exact come first, of those by path and line. A path counts below its root, with the root's name before it,
    or from the top of the file system; slashes may lean either way, and case and composed letters do not matter.
    """
    folded = _folded(query)
    if not folded or len(query) > MOST_CHARS:
        return {}
    name = folded.rpartition("/")[2]
    # Each half has an index of its own.
    sql = (
        "SELECT f.id, f.path, f.name, r.name, r.path FROM (SELECT file FROM files WHERE name = ?1 "
        "UNION SELECT file FROM files WHERE stem = ?1 LIMIT ?2) JOIN files f USING (file) JOIN roots r USING (root)"
    )
    rows = read.sql.execute(sql, (name, MOST_FILES)).fetchall()
    exact = [(-_exactness(folded, name, *file[1:]), file[1], file[0]) for file in rows]
    return _chunks(read, sorted(match for match in exact if match[0]))


def _chunks(read: Reading, files: Iterable[tuple[int, str, str]]) -> dict[int, int]:
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
    """Return a path as it is compared: NFC, case folded, forward slashes, without a beginning that says nothing."""
    plain = unicodedata.normalize("NFC", path.strip()).casefold().replace("\\", "/")
    while plain.startswith("./"):
        plain = plain[2:]
    return plain.rstrip("/") if plain.strip("./") else ""
