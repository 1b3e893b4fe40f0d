"""Parts of split entries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from septet.sqlite.store.store import SqliteReading, SqliteWriting

_PART = (
    "substr(p.id, 1, length(e.id) + 1) = e.id || '#' AND length(p.id) > length(e.id) + 1 "
    "AND substr(p.id, length(e.id) + 2) NOT GLOB '*[^0-9]*'"
)
#: True if ``entries p`` is a part, not just a child.
IS_PART = (
    "(p.parent <> p.id AND EXISTS (SELECT 1 FROM entries e "
    f"WHERE e.id = p.parent AND e.parent = e.id AND e.live AND {_PART}))"
)
_ANY = "SELECT 1 FROM entries WHERE parent IS NOT NULL LIMIT 1"


def of(read: SqliteReading | SqliteWriting, ids: Sequence[str]) -> list[str]:
    # Most vaults have no parts, and every write calls this.
    if read.sql.execute(_ANY).fetchone() is None:
        return []
    sql = (
        "SELECT p.id FROM json_each(?) j JOIN entries e ON e.id = j.value AND e.live AND e.parent = e.id "
        f"JOIN entries p ON p.parent = e.id AND p.live WHERE {_PART}"
    )
    return [id for (id,) in read.sql.execute(sql, (json.dumps(list(ids)),))]


def with_parts(read: SqliteReading | SqliteWriting, rows: Sequence[int]) -> list[int]:
    if not rows or read.sql.execute(_ANY).fetchone() is None:
        return [*rows]
    sql = (
        "SELECT p.row FROM json_each(?) j JOIN entries e ON e.row = j.value AND e.live AND e.parent = e.id "
        f"JOIN entries p ON p.parent = e.id AND p.live WHERE {_PART}"
    )
    return sorted({*rows, *(row for (row,) in read.sql.execute(sql, (json.dumps(list(rows)),)))})


def taken(read: SqliteReading | SqliteWriting, parents: Mapping[str, str]) -> list[str]:
    sql = "SELECT e.id, e.parent FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE e.live ORDER BY j.key"
    rows = read.sql.execute(sql, (json.dumps(list(parents)),))
    return [id for id, parent in rows if parent != parents[id]]
