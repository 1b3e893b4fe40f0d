"""What is stored already just as it would be written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet.postgres.store.locks import hold
from septet.postgres.store.packing import sent, unpacked
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.sqlite.tables.entries import EntryRow
from septet.sqlite.tables.unchanged import SELECTED, same
from septet.sqlite.tables.vectors import GivenVectors

__all__ = ["rows_stored", "vectors_stored"]

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
    """Return of each row whether a live entry has exactly its values.

    Args:
        timed: whether the caller gave the row's times; others are the clock's and not compared.
    """
    ids = [one for one in dict.fromkeys(row.id for row in rows) if "\0" not in one]
    hold(read, ids)
    found = read.sql.execute(_ROWS, ([read.vault.bucket_of(one) for one in ids], ids, read.vault.number))
    return same(found, rows, timed)


def vectors_stored(read: _Read, vectors: Sequence[GivenVectors]) -> dict[str, Mapping[str, bytes]]:
    """Return the vectors that were given with entries of these ids and texts, as little-endian float32 by model."""
    keys = [f"{one.text_hash}:{one.entry_id}" for one in vectors]
    buckets = [read.vault.bucket_of(one.entry_id) for one in vectors]
    kind, found = read.vault.vectors, dict[str, dict[str, bytes]]()
    sql = _VECTORS.format(sent=sent(kind))
    for place, model, dimensions, blob in read.sql.execute(sql, (buckets, keys, read.vault.number), binary=True):
        found.setdefault(vectors[place - 1].entry_id, {})[model] = unpacked(kind, [blob], dimensions).tobytes()
    return dict(found)
