"""Keeping the full-text tables equal to `entries`: what is about to change leaves them, what was written enters them.

Triggers would do the same, but FTS5 flushes its buffers to disk at every savepoint, and SQLite opens one for each row a
trigger fires on: loading was 2.4 times slower. One statement a batch keeps the buffers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from septet.storage.store import Writing

__all__ = ["index", "unindex"]


class _Table(NamedTuple):
    """A full-text table: its columns, the expressions over ``entries e`` that fill them, and the rows it holds."""

    name: str
    columns: str
    values: str
    holds: str


_TABLES = (
    _Table(
        "entries_fts",
        "id, title, description, context, tags",
        "e.id, e.title, e.description, e.context, e.tags",
        "e.live AND e.kind <> 'memory'",
    ),
    _Table("grams_fts", "grams", "e.grams", "e.live AND e.kind <> 'memory' AND e.grams <> ''"),
    _Table(
        "memories_fts",
        "id, context, summary, topics, grams",
        "e.id, e.title, e.description, e.tags, e.grams",
        "e.live AND e.kind = 'memory'",
    ),
)


def unindex(write: Writing, ids: Iterable[str]) -> None:
    """Take the entries with these ids out of the full-text tables; call it before their text changes."""
    wanted = json.dumps(list(ids))
    for t in _TABLES:
        write.sql.execute(
            f"INSERT INTO {t.name} ({t.name}, rowid, {t.columns}) SELECT 'delete', e.row, {t.values} "
            f"FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE {t.holds} GROUP BY e.row",
            (wanted,),
        )


def index(write: Writing, ids: Iterable[str]) -> None:
    """Put the entries with these ids into the full-text tables; call it after `unindex` and the write."""
    wanted = json.dumps(list(ids))
    for t in _TABLES:
        write.sql.execute(
            f"INSERT INTO {t.name} (rowid, {t.columns}) SELECT e.row, {t.values} "
            f"FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE {t.holds} GROUP BY e.row",
            (wanted,),
        )
