"""What a write of entries must know of the vault, read in the round trip that locks them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from septet.postgres.store.locks import MOST_IDS, hold, locking
from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import Foreseen, PostgresWriting
from septet.postgres.store.vaults import VaultRow
from septet.postgres.tables.fragments import SPLIT, parent_named
from septet.sqlite.tables.history import COMPARED

__all__ = ["VERSION", "foresee", "kept", "named", "parents"]

_PARTS = "SELECT 1 FROM septet.entries WHERE vault = %s AND parent IS NOT NULL LIMIT 1"
_COLUMNS = "row live kind parent id title description context tags grams created_at".split()
_NAMED = ", ".join(f"p.{name}" for name in _COLUMNS)
_ENTRIES = (
    "FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries p "
    "ON p.vault = %s AND p.bucket = w.bucket AND p.id = w.id"
)
_STORED = f"SELECT {_NAMED} {_ENTRIES}"
#: What `history` compares of ``entries p``.
VERSION = f"p.updated_at, {', '.join(f'p.{name}' for name in COMPARED)}"
_STORED_WHOLE = f"SELECT {_NAMED}, {VERSION} {_ENTRIES}"
_SPACES = "SELECT s.space, s.keyed_by FROM septet.spaces s WHERE s.vault = %s"
_NUMBERS = "SELECT nextval('septet.row_numbers') FROM generate_series(1, %s::integer)"


def foresee(write: PostgresWriting, ids: Sequence[str]) -> Foreseen:
    """Lock entries that are written next, and read what that must know; `PostgresWriting.held` has it."""
    ids = list(dict.fromkeys(ids))
    locks = locking(write, ids)
    if not locks:
        hold(write, ids)
    vault, wanted = write.vault, [one for one in ids if "\0" not in one]
    places = [vault.bucket_of(one) for one in wanted], wanted, vault.number
    # Of many, most are new as a rule, and who replaces many asks for what they were.
    few, width = len(ids) <= MOST_IDS, len(_COLUMNS)
    asked = [
        Statement(_PARTS, (vault.number,)),
        Statement(_STORED_WHOLE if few else _STORED, places),
        Statement(_SPACES, (vault.number,)),
        # Those of entries that are there already are given up.
        Statement(_NUMBERS, (len(ids),)),
    ]
    above = parents(wanted) if few else []
    if above:
        asked.append(Statement(SPLIT, named(vault, above)))
    answers = write.settle(*locks, *asked)
    some, rows, spaces, numbers, *whole = answers[-len(asked) :]
    split = {one for rows in whole for (one,) in rows}
    replaced = [(row[4], row[0], row[10], *row[width:]) for row in rows if row[1] and kept(row[4], row[3], split)]
    stored = [row[:width] for row in rows]
    found = Foreseen(
        ids, bool(some), stored, dict(spaces), [number for (number,) in numbers], replaced if few else None
    )
    write.held.foreseen = found
    return found


def named(vault: VaultRow, ids: Iterable[str]) -> tuple[list[int], list[str], int]:
    """Return ids with their buckets, and the vault, as parameters."""
    wanted = [*ids]
    return [vault.bucket_of(one) for one in wanted], wanted, vault.number


def parents(ids: Iterable[str]) -> list[str]:
    """Return the ids of the entries that some may be parts of."""
    return list(dict.fromkeys(one for one in map(parent_named, ids) if one is not None))


def kept(entry_id: str, parent: str | None, split: Collection[str]) -> bool:
    """Return whether an entry keeps a history; parts do not, as each split makes them anew.

    Args:
        split: those of the `parents` that were split.
    """
    return parent is None or parent != parent_named(entry_id) or parent not in split
