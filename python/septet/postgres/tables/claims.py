"""Claims: texts that a process is embedding, so that no other process embeds them too."""

from __future__ import annotations

from collections.abc import Container, Sequence

from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.store.owners import is_dead, is_own

_THESE = "vault = %s AND model = %s::text AND key = ANY(%s::text[])"
_CLAIMED = f"SELECT key FROM septet.claims WHERE {_THESE} AND until > %s AND owner <> %s::text"
# Skip claims that another process is removing or renewing: waiting for each other would deadlock.
_EXPIRED = (
    "DELETE FROM septet.claims c USING (SELECT model, key FROM septet.claims WHERE vault = %s AND until <= %s "
    "FOR UPDATE SKIP LOCKED) AS o WHERE c.vault = %s AND c.model = o.model AND c.key = o.key"
)
# Ordered by key, without locking the claims of others, for the same reason.
_CLAIM = (
    "INSERT INTO septet.claims (vault, model, key, owner, until) "
    "SELECT %s::integer, %s::text, k.key, %s::text, %s::float8 FROM unnest(%s::text[]) AS k (key) ORDER BY k.key "
    "ON CONFLICT DO NOTHING"
)
_RENEW = f"UPDATE septet.claims SET until = %s WHERE {_THESE} AND owner = %s::text"
_MINE = f"SELECT key FROM septet.claims WHERE {_THESE} AND owner = %s::text"
_SETTLE = f"DELETE FROM septet.claims WHERE {_THESE}"
_RELEASE = "DELETE FROM septet.claims WHERE vault = %s AND owner = ANY(%s::text[])"
_OWNERS = "SELECT DISTINCT owner FROM septet.claims WHERE vault = %s"


def claimed(read: PostgresReading, model: str, owner: str, keys: Sequence[str], now: float) -> set[str]:
    return {r[0] for r in read.sql.execute(_CLAIMED, (read.vault.number, model, list(keys), now, owner))}


def claim(write: PostgresWriting, model: str, owner: str, keys: Sequence[str], now: float, until: float) -> list[str]:
    vault = write.vault.number
    drop_expired(write, now)
    inserted = write.sql.execute(_CLAIM, (vault, model, owner, until, list(keys))).rowcount
    if inserted < len(keys):
        write.sql.execute(_RENEW, (until, vault, model, list(keys), owner))
    mine = {r[0] for r in write.sql.execute(_MINE, (vault, model, list(keys), owner))}
    return [key for key in keys if key in mine]


def settle(write: PostgresWriting, model: str, keys: Sequence[str]) -> None:
    write.sql.execute(_SETTLE, (write.vault.number, model, list(keys)))


def release(write: PostgresWriting, owner: str) -> None:
    write.sql.execute(_RELEASE, (write.vault.number, [owner]))


def drop_dead(write: PostgresWriting) -> int:
    dead = [owner for (owner,) in write.sql.execute(_OWNERS, (write.vault.number,)) if is_dead(owner)]
    return write.sql.execute(_RELEASE, (write.vault.number, dead)).rowcount if dead else 0


def drop_expired(write: PostgresWriting, now: float) -> int:
    """Remove the expired claims and return their number; ``now`` is in epoch seconds."""
    return write.sql.execute(_EXPIRED, (write.vault.number, now, write.vault.number)).rowcount


def owners(read: PostgresReading) -> list[tuple[str, float]]:
    """Return the owner and expiry (epoch seconds) of each claim."""
    return read.sql.execute("SELECT owner, until FROM septet.claims WHERE vault = %s", (read.vault.number,)).fetchall()


def drop_own(write: PostgresWriting, model: str, living: Container[str]) -> None:
    """Remove the claims of this process's owners that are no longer living."""
    rows = write.sql.execute(f"{_OWNERS} AND model = %s::text", (write.vault.number, model)).fetchall()
    forgotten = [owner for (owner,) in rows if is_own(owner) and owner not in living]
    if forgotten:
        write.sql.execute(_RELEASE, (write.vault.number, forgotten))
