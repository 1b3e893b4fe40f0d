"""What a write of entries must know of the vault, read in the round trip that locks them."""

from __future__ import annotations

from collections.abc import Sequence

from septet.storage.postgres.locks import MOST_IDS, hold, locking
from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.fragments import IS_PART
from septet.storage.postgres.transactions import Foreseen, PostgresWriting
from septet.storage.tables.history import COMPARED

__all__ = ["REPLACED", "foresee"]

_PARTS = "SELECT EXISTS (SELECT 1 FROM septet.entries WHERE vault = %s AND parent IS NOT NULL)"
_COLUMNS = "row live kind parent id title description context tags grams created_at".split()
_NAMED = ", ".join(f"p.{name}" for name in _COLUMNS)
_ENTRIES = (
    "FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries p "
    "ON p.vault = %s AND p.bucket = w.bucket AND p.id = w.id"
)
_STORED = f"SELECT {_NAMED} {_ENTRIES}"
_VERSION = f"p.updated_at, {', '.join(f'p.{name}' for name in COMPARED)}"
#: Parts have no earlier versions.
_KEPT = f"p.live AND {IS_PART} IS NOT TRUE"
_STORED_WHOLE = f"SELECT {_NAMED}, {_KEPT}, {_VERSION} {_ENTRIES}"
#: What is there of entries that have earlier versions.
REPLACED = f"SELECT p.id, p.row, p.created_at, {_VERSION} {_ENTRIES} WHERE {_KEPT}"
_SPACES = "SELECT s.space, s.keyed_by FROM septet.spaces s WHERE s.vault = %s"
_NUMBERS = "SELECT nextval('septet.row_numbers') FROM generate_series(1, %s::integer)"


def foresee(write: PostgresWriting, ids: Sequence[str]) -> Foreseen:
    """Lock entries that are written next, and read what that must know; `PostgresWriting.held` has it."""
    ids = list(dict.fromkeys(ids))
    locks = locking(write, ids)
    if locks is None:
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
    answers = write.settle(*([] if locks is None else [locks]), *asked)
    ((split,),), rows, spaces, numbers = answers[-len(asked) :]
    replaced = [(row[4], row[0], row[10], *row[width + 1 :]) for row in rows if row[width]] if few else None
    stored = [row[:width] for row in rows]
    found = Foreseen(ids, split, stored, dict(spaces), [number for (number,) in numbers], replaced)
    write.held.foreseen = found
    return found
