"""Parts: what of `entries` was made by splitting a long text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from septet.postgres.store.locks import hold, hold_rows
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables.foreseen import foresee, named
from septet.postgres.tables.fragments import NAMED_PART, SPLIT

__all__ = ["of", "taken", "with_parts"]

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
    """Return the ids of the parts that entries were split into; entries that only name a parent are no parts of it."""
    # A write asks this first: what it reads next comes along.
    if not (foresee(read, ids).split if isinstance(read, PostgresWriting) else _any(read)):
        return []
    return [one for _, one in _parts(read, read.sql.execute(SPLIT, _places(read, ids)).fetchall())]


def with_parts(read: _Read, rows: Sequence[int]) -> list[int]:
    """Return rows and those of the parts that the entries there were split into, ascending."""
    hold_rows(read, rows)
    if not rows or not _any(read):
        return [*rows]
    given = [int(row) for row in rows], read.vault.number, read.vault.first_bucket
    found = _parts(read, read.sql.execute(_SPLIT_AT, given).fetchall())
    if found and isinstance(read, PostgresWriting):
        # Again: somebody may have written one of them by its own id until now.
        hold(read, [entry_id for _, entry_id in found])
        found = _parts(read, read.sql.execute(_SPLIT_AT, given).fetchall())
    return sorted({*rows, *(row for row, _ in found)})


def taken(read: _Read, parents: Mapping[str, str]) -> list[str]:
    """Return those ids that live entries have already which are not parts of the parent named for the id."""
    hold(read, parents)
    found = read.sql.execute(_TAKEN, _places(read, list(parents)))
    return [one for one, parent in found if parent != parents[one]]


def _parts(read: _Read, split: Sequence[tuple[str]]) -> list[tuple[int, str]]:
    """Return row and id of the parts of entries that were split: in other buckets than these."""
    if not split:
        return []
    return read.sql.execute(_PARTS, (read.vault.number, [one for (one,) in split])).fetchall()


def _any(read: _Read) -> bool:
    """Say whether any entry has a parent: most vaults hold none, and this is asked with every write."""
    return read.sql.execute(_ANY, (read.vault.number,)).fetchone() is not None


def _places(read: _Read, ids: Sequence[str]) -> tuple[list[int], list[str], int]:
    return named(read.vault, [one for one in ids if "\0" not in one])
