"""Parts: entries made by splitting a long text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet.postgres.store.locks import hold, hold_rows
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables.fragments import NAMED_PART, SPLIT, named, numbered
from septet.postgres.tables.prefetch import prefetch

_Read = PostgresReading | PostgresWriting

_ANY = "SELECT 1 FROM septet.entries WHERE vault = %s AND parent IS NOT NULL LIMIT 1"
_PARTS = (
    "SELECT p.row, p.id FROM septet.entries p "
    f"WHERE p.vault = %s AND p.parent = ANY(%s::text[]) AND p.live AND {NAMED_PART}"
)
_SPLIT_AT = (
    "SELECT e.id FROM unnest(%s::bigint[]) AS w (row) JOIN septet.entries e ON e.vault = %s "
    "AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row WHERE e.live AND e.parent = e.id"
)
_TAKEN = (
    "SELECT e.id, e.parent FROM unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS w (bucket, id, place) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id WHERE e.live ORDER BY w.place"
)


def of(read: _Read, ids: Sequence[str]) -> list[str]:
    """Return the ids of the parts of split entries; an entry that merely names a parent is not its part."""
    # The first read of a write, so prefetch the rest.
    if not (prefetch(read, ids).split if isinstance(read, PostgresWriting) else _any_parts(read)):
        return []
    return [entry_id for _, entry_id in _parts(read, read.sql.execute(SPLIT, named(read.vault, ids)).fetchall())]


def with_parts(read: _Read, rows: Sequence[int]) -> list[int]:
    """Return the rows and those of the entries' parts, ascending."""
    hold_rows(read, rows)
    if not rows or not _any_parts(read):
        return [*rows]
    parameters = numbered(read.vault, rows)
    parts = _parts(read, read.sql.execute(_SPLIT_AT, parameters).fetchall())
    if parts and isinstance(read, PostgresWriting):
        # Read again after locking: another writer may have overwritten a part by its id.
        hold(read, [entry_id for _, entry_id in parts])
        parts = _parts(read, read.sql.execute(_SPLIT_AT, parameters).fetchall())
    return sorted({*rows, *(row for row, _ in parts)})


def taken(read: _Read, parents: Mapping[str, str]) -> list[str]:
    """Return the ids of live entries that are not parts of the parent mapped to the id."""
    hold(read, parents)
    rows = read.sql.execute(_TAKEN, named(read.vault, parents))
    return [entry_id for entry_id, parent in rows if parent != parents[entry_id]]


def _parts(read: _Read, split: Sequence[tuple[str]]) -> list[tuple[int, str]]:
    """Return row and id of the parts of split entries, from all buckets."""
    if not split:
        return []
    return read.sql.execute(_PARTS, (read.vault.number, [entry_id for (entry_id,) in split])).fetchall()


def _any_parts(read: _Read) -> bool:
    """Return True if any entry has a parent. Most vaults have none, so this shortens every write."""
    return read.sql.execute(_ANY, (read.vault.number,)).fetchone() is not None
