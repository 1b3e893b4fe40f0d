"""Detection of rows and vectors that are already stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables.fragments import listed
from septet.store.rows import EntryRow, GivenVectors
from septet.store.rules import SELECTED, same


def rows_stored(read: SqliteReading, rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
    source, parameter = listed([row.id for row in rows])
    sql = (
        f"SELECT {', '.join(f'e.{name}' for name in SELECTED)} FROM {source} j "
        "JOIN entries e ON e.id = j.value WHERE e.live"
    )
    return same(read.sql.execute(sql, (parameter,)), rows, timed)


def vectors_stored(read: SqliteReading, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
    source, parameter = listed([f"{vector.text_hash}:{vector.entry_id}" for vector in vectors])
    sql = (
        f"SELECT j.key, s.model, v.vector FROM {source} j JOIN vectors v ON v.key = j.value "
        "JOIN spaces s ON s.space = v.space WHERE s.keyed_by = 'entry'"
    )
    stored: dict[str, dict[str, bytes]] = {}
    for at, model, blob in read.sql.execute(sql, (parameter,)):
        stored.setdefault(vectors[at].entry_id, {})[model] = bytes(blob)
    return dict(stored)
