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
_STORED = (
    "SELECT e.row, e.live, e.kind, e.parent, e.id, e.title, e.description, e.context, e.tags, e.grams, e.created_at "
    "FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries e "
    "ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id"
)
#: What is there of entries that have earlier versions: of all but parts.
REPLACED = (
    f"SELECT p.id, p.row, p.created_at, p.updated_at, {', '.join(f'p.{name}' for name in COMPARED)} "
    "FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries p "
    f"ON p.vault = %s AND p.bucket = w.bucket AND p.id = w.id WHERE p.live AND {IS_PART} IS NOT TRUE"
)
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
    asked = [
        Statement(_PARTS, (vault.number,)),
        Statement(_STORED, places),
        Statement(_SPACES, (vault.number,)),
        # Those of entries that are there already are given up.
        Statement(_NUMBERS, (len(ids),)),
    ]
    # Of many, most are new as a rule, and who replaces many asks then.
    last = [Statement(REPLACED, places)] if len(ids) <= MOST_IDS else []
    answers = write.settle(*([] if locks is None else [locks]), *asked, *last)
    ((split,),), stored, spaces, numbers, *replaced = answers[-len([*asked, *last]) :]
    found = Foreseen(
        ids, split, stored, dict(spaces), [number for (number,) in numbers], replaced[0] if replaced else None
    )
    write.held.foreseen = found
    return found
