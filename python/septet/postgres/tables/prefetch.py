"""Prefetch of what a write of entries needs, in the round trip that locks them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from septet.postgres.store.locks import MOST_IDS, hold, locking
from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import Foreseen, PostgresWriting
from septet.postgres.tables.fragments import SPLIT, named, parent_named
from septet.store.versions import COMPARED

_PARTS = "SELECT 1 FROM septet.entries WHERE vault = %s AND parent IS NOT NULL LIMIT 1"
_COLUMNS = "row live kind parent id title description context tags grams created_at".split()
_NAMED = ", ".join(f"p.{name}" for name in _COLUMNS)
_ENTRIES = (
    "FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries p "
    "ON p.vault = %s AND p.bucket = w.bucket AND p.id = w.id"
)
_STORED = f"SELECT {_NAMED} {_ENTRIES}"
#: Columns of ``entries p`` that `history` compares.
VERSION = f"p.updated_at, {', '.join(f'p.{name}' for name in COMPARED)}"
_STORED_WHOLE = f"SELECT {_NAMED}, {VERSION} {_ENTRIES}"
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
        Statement(_PARTS, (vault.number,)),
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
    """Return True if an entry has a history: parts do not, as each split rebuilds them.

    Args:
        split: the `parents` that were split.
    """
    return parent is None or parent != parent_named(entry_id) or parent not in split
