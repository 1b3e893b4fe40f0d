"""Parts of split entries, and the prefetch of what a write of entries needs, in the round trip that locks them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import (
    MOST_IDS,
    Foreseen,
    PostgresReading,
    PostgresWriting,
    hold,
    hold_rows,
    locking,
)
from septet.postgres.tables.fragments import BY_ID, BY_ROW, NAMED_PART, SPLIT, named, numbered, parent_named
from septet.store.rules import COMPARED

_Read = PostgresReading | PostgresWriting

_ANY = "SELECT 1 FROM septet.entries WHERE vault = %s AND parent IS NOT NULL LIMIT 1"
_PARTS = (
    "SELECT p.row, p.id FROM septet.entries p "
    f"WHERE p.vault = %s AND p.parent = ANY(%s::text[]) AND p.live AND {NAMED_PART}"
)
_SPLIT_AT = f"SELECT e.id FROM {BY_ROW} WHERE e.live AND e.parent = e.id"
_TAKEN = (
    "SELECT e.id, e.parent FROM unnest(%s::integer[], %s::text[]) WITH ORDINALITY AS w (bucket, id, place) "
    "JOIN septet.entries e ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id WHERE e.live ORDER BY w.place"
)


def of(read: _Read, ids: Sequence[str]) -> list[str]:
    # The first read of a write, so prefetch the rest.
    if not (prefetch(read, ids).split if isinstance(read, PostgresWriting) else _any_parts(read)):
        return []
    return [entry_id for _, entry_id in _parts(read, read.sql.execute(SPLIT, named(read.vault, ids)).fetchall())]


def with_parts(read: _Read, rows: Sequence[int]) -> list[int]:
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


_COLUMNS = "row live kind parent id title description context tags grams created_at".split()
_NAMED = ", ".join(f"e.{name}" for name in _COLUMNS)
_STORED = f"SELECT {_NAMED} FROM {BY_ID}"
#: Columns of ``entries e`` that `history` compares.
VERSION = f"e.updated_at, {', '.join(f'e.{name}' for name in COMPARED)}"
_STORED_WHOLE = f"SELECT {_NAMED}, {VERSION} FROM {BY_ID}"
_SPACES = "SELECT s.space, s.keyed_by FROM septet.spaces s WHERE s.vault = %s"
_NUMBERS = "SELECT nextval('septet.row_numbers') FROM generate_series(1, %s::integer)"


def prefetch(write: PostgresWriting, ids: Sequence[str]) -> Foreseen:
    """Lock the entries to be written next, and prefetch what the write needs into `PostgresWriting.held`."""
    ids = list(dict.fromkeys(ids))
    locks = locking(write, ids)
    if not locks:
        hold(write, ids)
    vault, places = write.vault, named(write.vault, ids)
    # Most entries of a large write are new; `history` reads the versions of replaced ones itself.
    few, width = len(ids) <= MOST_IDS, len(_COLUMNS)
    queries = [
        Statement(_ANY, (vault.number,)),
        Statement(_STORED_WHOLE if few else _STORED, places),
        Statement(_SPACES, (vault.number,)),
        # Numbers for existing entries stay unused.
        Statement(_NUMBERS, (len(ids),)),
    ]
    parent_ids = parents(ids) if few else []
    if parent_ids:
        queries.append(Statement(SPLIT, named(vault, parent_ids)))
    results = write.settle(*locks, *queries)
    any_parts, rows, spaces, numbers, *split_rows = results[-len(queries) :]
    split = {entry_id for rows in split_rows for (entry_id,) in rows}
    replaced = [
        (entry_id, row, created_at, *version)
        for row, live, _, parent, entry_id, _, _, _, _, _, created_at, *version in rows
        if live and has_history(entry_id, parent, split)
    ]
    stored = [row[:width] for row in rows]
    write.held.foreseen = prefetched = Foreseen(
        ids, bool(any_parts), stored, dict(spaces), [number for (number,) in numbers], replaced if few else None
    )
    return prefetched


def parents(ids: Iterable[str]) -> list[str]:
    """Return the ids of the possible parents of entries, by their ids."""
    return list(dict.fromkeys(parent for parent in map(parent_named, ids) if parent is not None))


def has_history(entry_id: str, parent: str | None, split: Collection[str]) -> bool:
    """Return True if an entry has a history: parts do not, as each split rebuilds them; ``split`` are its `parents`."""
    return parent is None or parent != parent_named(entry_id) or parent not in split
