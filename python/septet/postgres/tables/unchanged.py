"""Detects entries and vectors that are already stored unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet.postgres.store.locks import hold
from septet.postgres.store.packing import sent, unpacked
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables.fragments import named
from septet.store.rows import EntryRow, GivenVectors
from septet.store.rules import SELECTED, same

_Read = PostgresReading | PostgresWriting

_ROWS = (
    f"SELECT {', '.join(f'e.{name}' for name in SELECTED)} FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id WHERE e.live"
)
_VECTORS = (
    "SELECT w.place, s.model, s.dimensions, {sent} "
    "FROM septet.spaces s CROSS JOIN unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS w (bucket, key, place) "
    "JOIN septet.vectors v ON v.vault = s.vault AND v.bucket = w.bucket AND v.space = s.space "
    'AND v.key = w.key COLLATE "C" '
    "WHERE s.vault = %s AND s.keyed_by = 'entry'"
)


def rows_stored(read: _Read, rows: Sequence[EntryRow], timed: Sequence[bool]) -> list[bool]:
    buckets, ids, vault = named(read.vault, dict.fromkeys(row.id for row in rows))
    hold(read, ids)
    return same(read.sql.execute(_ROWS, (buckets, ids, vault)), rows, timed)


def vectors_stored(read: _Read, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
    keys = [f"{item.text_hash}:{item.entry_id}" for item in vectors]
    buckets = [read.vault.bucket_of(item.entry_id) for item in vectors]
    kind, stored = read.vault.vectors, dict[str, dict[str, bytes]]()
    sql = _VECTORS.format(sent=sent(kind))
    for place, model, dimensions, blob in read.sql.execute(sql, (buckets, keys, read.vault.number), binary=True):
        stored.setdefault(vectors[place - 1].entry_id, {})[model] = unpacked(kind, [blob], dimensions).tobytes()
    return dict(stored)
