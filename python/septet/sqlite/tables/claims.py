"""Claims of processes on texts that they embed, so that no other process pays for them too."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.store.owners import is_dead, is_own

#: Maximum duration of a claim; a longer one is foreign, and would block the text indefinitely.
LONGEST_S = 30 * 86_400.0

_THESE = "model = ? AND key IN (SELECT value FROM json_each(?))"


def claimed(read: SqliteReading | SqliteWriting, model: str, owner: str, keys: Sequence[str], now: float) -> set[str]:
    sql = f"SELECT key FROM claims WHERE {_THESE} AND until > ? AND until <= ? AND owner <> ?"
    return {r[0] for r in read.sql.execute(sql, (model, json.dumps(list(keys)), now, now + LONGEST_S, owner))}


def claim(write: SqliteWriting, model: str, owner: str, keys: Sequence[str], now: float, until: float) -> list[str]:
    drop_expired(write, now)
    write.sql.executemany(
        "INSERT INTO claims (model, key, owner, until) VALUES (?, ?, ?, ?) ON CONFLICT (model, key) "
        "DO UPDATE SET until = excluded.until WHERE owner = excluded.owner",
        [(model, key, owner, until) for key in keys],
    )
    sql = f"SELECT key FROM claims WHERE {_THESE} AND owner = ?"
    mine = {r[0] for r in write.sql.execute(sql, (model, json.dumps(list(keys)), owner))}
    return [key for key in keys if key in mine]


def settle(write: SqliteWriting, model: str, keys: Sequence[str]) -> None:
    write.sql.execute(f"DELETE FROM claims WHERE {_THESE}", (model, json.dumps(list(keys))))


def release(write: SqliteWriting, owner: str) -> None:
    write.sql.execute("DELETE FROM claims WHERE owner = ?", (owner,))


def drop_dead(write: SqliteWriting) -> int:
    owners = [r[0] for r in write.sql.execute("SELECT DISTINCT owner FROM claims")]
    dead = [(owner,) for owner in owners if is_dead(owner)]
    return write.sql.executemany("DELETE FROM claims WHERE owner = ?", dead).rowcount if dead else 0


def drop_expired(write: SqliteWriting, now: float) -> int:
    """Remove the claims that have expired (epoch seconds), or exceed the maximum duration; return their number."""
    sql = "DELETE FROM claims WHERE (until > ? AND until <= ?) IS NOT TRUE"
    return write.sql.execute(sql, (now, now + LONGEST_S)).rowcount


def owners(read: SqliteReading) -> list[tuple[str, float]]:
    """Return owner and expiry of each claim."""
    return read.sql.execute("SELECT owner, until FROM claims").fetchall()


def drop_own(write: SqliteWriting, model: str, living: Container[str]) -> None:
    """Remove the claims of this process whose owners no longer exist."""
    owners = [r[0] for r in write.sql.execute("SELECT DISTINCT owner FROM claims WHERE model = ?", (model,))]
    for owner in owners:
        if is_own(owner) and owner not in living:
            release(write, owner)
