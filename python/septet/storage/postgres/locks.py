"""Locks: what a write transaction reads of entries stays as it was read until its end.

Few entries are locked by the hashes of their ids, in ascending order, beside a shared lock on the vault. More would
not fit into the server's table of locks, so then the whole vault is locked: writers of a few wait for it, and readers
never.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b

from septet.storage.postgres.transactions import Held, PostgresReading, PostgresWriting

__all__ = ["hold", "hold_all", "hold_rows", "lock_key"]

#: So many entries one transaction locks by themselves: a server has room for 64 locks a connection by default.
MOST_IDS = 48

_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s::bigint)"
# In the order of the array, the vault's first.
_EACH = "SELECT pg_advisory_xact_lock_shared(%s::bigint), pg_advisory_xact_lock(k) FROM unnest(%s::bigint[]) AS k"
_IDS = (
    "SELECT e.row, e.id FROM unnest(%s::bigint[]) AS w (row) JOIN septet.entries e ON e.vault = %s "
    "AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row"
)


def lock_key(*parts: object) -> int:
    """Return the number of an advisory lock, a 64-bit integer."""
    digest = blake2b("\0".join(map(str, ("septet", *parts))).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def hold(read: PostgresReading | PostgresWriting, ids: Iterable[str]) -> None:
    """Lock entries until the end of a write transaction, whether they exist or not; a read transaction locks nothing.

    What is read of them afterwards is what was committed last.
    """
    held: Held | None = getattr(read, "held", None)
    if held is None or held.all:
        return
    wanted = {*ids}
    vault = read.vault.number
    # Hashing many ids to learn that they are many would take long.
    few = len(wanted) <= MOST_IDS
    new = sorted({lock_key(vault, "id", one) for one in wanted} - held.keys) if few else []
    if few and not new:
        return
    if not few or len(new) + len(held.keys) > MOST_IDS:
        hold_all(read)
        return
    read.sql.execute(_EACH, (lock_key(vault), new))
    held.keys.update(new)


def hold_all(read: PostgresReading | PostgresWriting) -> None:
    """Lock the whole vault against other writers of entries until the end of a write transaction."""
    held: Held | None = getattr(read, "held", None)
    if held is not None and not held.all:
        read.sql.execute(_EXCLUSIVE, (lock_key(read.vault.number),))
        held.all = True


def hold_rows(read: PostgresReading | PostgresWriting, rows: Sequence[int]) -> None:
    """Lock the entries at the given rows, as `hold` does."""
    held: Held | None = getattr(read, "held", None)
    if held is None or held.all:
        return
    new = [row for row in rows if row not in held.rows]
    if not new:
        return
    found = read.sql.execute(_IDS, (new, read.vault.number, read.vault.first_bucket)).fetchall()
    hold(read, [entry_id for _, entry_id in found])
    held.rows.update(new)
