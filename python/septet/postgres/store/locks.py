"""Locks: entries that a write transaction reads do not change until its end.

Few entries are locked by the hashes of their ids, in ascending order, beside a shared lock on the vault. More would
not fit into the server's table of locks, so then the whole vault is locked: writers of a few wait for it, and readers
never.

On a cluster the same locks are taken once more on the servers that have the buckets. When one of these dies after the
decision to commit, the write is durable but invisible until the server is back and commits it; its locks stay until
then, whereas the coordinator's have ended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b

from septet.postgres.store.pipeline import Statement
from septet.postgres.store.transactions import PostgresReading, PostgresWriting, WriteLocks

#: Maximum entries that a transaction locks one by one: a server has room for 64 locks a connection by default.
MOST_IDS = 48

#: Maximum wait of a write for the whole vault, in seconds: others may be loading batches of thousands.
ALL_TIMEOUT_S = 60

_PATIENT = (
    "SELECT set_config('septet.statement_timeout', current_setting('statement_timeout'), true), "
    "set_config('septet.lock_timeout', current_setting('lock_timeout'), true), "
    "set_config('statement_timeout', '0', true), set_config('lock_timeout', %s, true)"
)
_AS_BEFORE = (
    "SELECT set_config('statement_timeout', current_setting('septet.statement_timeout'), true), "
    "set_config('lock_timeout', current_setting('septet.lock_timeout'), true)"
)
_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s::bigint)"
# In the order of the array, the vault's first.
_EACH = "SELECT pg_advisory_xact_lock_shared(%s::bigint), pg_advisory_xact_lock(k) FROM unnest(%s::bigint[]) AS k"
# Citus runs a function of a row on the row's server.
_EACH_THERE = (
    "SELECT pg_advisory_xact_lock_shared(%s::bigint), pg_advisory_xact_lock(w.k) "
    "FROM unnest(%s::integer[], %s::bigint[]) AS w (bucket, k) "
    "JOIN septet.buckets b ON b.vault = %s AND b.bucket = w.bucket"
)
_EXCLUSIVE_THERE = f"{_EXCLUSIVE} FROM septet.buckets b WHERE b.vault = %s"
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

    Later reads of them return the last committed values.
    """
    if not isinstance(read, PostgresWriting) or read.held.all:
        return
    wanted = {*ids}
    locks = locking(read, wanted)
    if locks:
        read.settle(*locks)
    # Hashing many ids to learn that they are many would take long.
    elif (
        len(wanted) > MOST_IDS
        or not {lock_key(read.vault.number, "id", entry_id) for entry_id in wanted} <= read.held.keys
    ):
        hold_all(read)


def locking(write: PostgresWriting, ids: Collection[str]) -> list[Statement]:
    """Return the statements that lock entries, and record the locks; empty if none is needed or all are held."""
    held, vault = write.held, write.vault
    if held.all or len(ids) > MOST_IDS:
        return []
    buckets = {lock_key(vault.number, "id", entry_id): vault.bucket_of(entry_id) for entry_id in ids}
    new = sorted(buckets.keys() - held.keys)
    if not new or len(new) + len(held.keys) > MOST_IDS:
        return []
    held.keys.update(new)
    whole = lock_key(vault.number)
    locks = [Statement(_EACH, (whole, new))]
    if vault.distributed:
        locks.append(Statement(_EACH_THERE, (whole, [buckets[key] for key in new], new, vault.number)))
    return locks


def hold_all(read: PostgresReading | PostgresWriting) -> None:
    """Lock the whole vault against other writers of entries until the end of a write transaction."""
    if not isinstance(read, PostgresWriting) or read.held.all:
        return
    link, answer_s = read.link, read.link.answer_s
    # Waits for other loads exceed the limit of a statement.
    link.answer_s += ALL_TIMEOUT_S
    try:
        number = read.vault.number
        locks = [Statement(_EXCLUSIVE, (lock_key(number),))]
        if read.vault.distributed:
            locks.append(Statement(_EXCLUSIVE_THERE, (lock_key(number), number)))
        read.settle(Statement(_PATIENT, (f"{ALL_TIMEOUT_S}s",)), *locks, Statement(_AS_BEFORE))
    finally:
        link.answer_s = answer_s
    read.held.all = True


def hold_rows(read: PostgresReading | PostgresWriting, rows: Sequence[int]) -> None:
    """Lock the entries at the given rows, as `hold` does."""
    held: WriteLocks | None = getattr(read, "held", None)
    if held is None or held.all:
        return
    new = [row for row in rows if row not in held.rows]
    if not new:
        return
    entries = read.sql.execute(_IDS, (new, read.vault.number, read.vault.first_bucket)).fetchall()
    hold(read, [entry_id for _, entry_id in entries])
    held.rows.update(new)
