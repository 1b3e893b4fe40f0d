"""What a write of entries must know of the vault, read in the round trip that locks them."""

from __future__ import annotations

from collections.abc import Sequence

from septet.storage.postgres.locks import hold, locking
from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.transactions import Foreseen, PostgresWriting

__all__ = ["foresee"]

_PARTS = "SELECT EXISTS (SELECT 1 FROM septet.entries WHERE vault = %s AND parent IS NOT NULL)"
_STORED = (
    "SELECT e.row, e.live, e.kind, e.parent, e.id, e.title, e.description, e.context, e.tags, e.grams, e.created_at "
    "FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries e "
    "ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id"
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
    asked = [
        Statement(_PARTS, (vault.number,)),
        Statement(_STORED, ([vault.bucket_of(one) for one in wanted], wanted, vault.number)),
        Statement(_SPACES, (vault.number,)),
        # Those of entries that are there already are given up.
        Statement(_NUMBERS, (len(ids),)),
    ]
    answers = write.settle(*([] if locks is None else [locks]), *asked)
    ((split,),), stored, spaces, numbers = answers[-len(asked) :]
    found = Foreseen(ids, split, stored, dict(spaces), [number for (number,) in numbers])
    write.held.foreseen = found
    return found
