"""Jobs: batches that a provider embeds over hours, stored so that a later process can collect them.

The job itself, not a process, owns the claims on its texts, so they survive a crash.
"""

from __future__ import annotations

from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables.claims import release
from septet.postgres.tables.fragments import scalar
from septet.store.owners import OWNERS, is_dead, owner_of
from septet.store.rows import Job

_MAKE = (
    "INSERT INTO septet.jobs (vault, model, place, name, owner, until, created_at) "
    "VALUES (%s, %s::text, %s::text, %s::text, %s::text, %s, %s) RETURNING job"
)
_SUBMITTED = "UPDATE septet.jobs SET batch = %s::text WHERE vault = %s AND job = %s"
_OWNERS = "SELECT DISTINCT owner FROM septet.jobs WHERE vault = %s AND until > %s AND owner <> ''"
_LET_GO = "UPDATE septet.jobs SET owner = '' WHERE vault = %s AND owner = ANY(%s::text[])"
# Skip jobs that another process is taking.
_TAKE = (
    "UPDATE septet.jobs j SET owner = %s::text, until = %s FROM (SELECT job FROM septet.jobs WHERE vault = %s "
    "AND model = %s::text AND place = %s::text AND (owner = '' OR until <= %s) FOR UPDATE SKIP LOCKED) AS o "
    "WHERE j.vault = %s AND j.job = o.job RETURNING j.job, j.name, j.batch"
)
_RENEW = "UPDATE septet.jobs SET until = %s WHERE vault = %s AND owner = %s::text"
_DROP = "DELETE FROM septet.jobs WHERE vault = %s AND job = %s"
_KEYS = "SELECT key FROM septet.claims WHERE vault = %s AND owner = %s::text"
_COUNT = "SELECT count(*) FROM septet.claims WHERE vault = %s AND model = %s::text AND starts_with(owner, %s::text)"


def make(write: PostgresWriting, model: str, address: str, name: str, owner: str, now: float, until: float) -> int:
    result = write.sql.execute(_MAKE, (write.vault.number, model, address, name, owner, until, now)).fetchone()
    assert result is not None
    return int(result[0])


def submitted(write: PostgresWriting, job: int, batch: str) -> None:
    write.sql.execute(_SUBMITTED, (batch, write.vault.number, job))


def take(write: PostgresWriting, model: str, address: str, owner: str, now: float, until: float) -> list[Job]:
    vault = write.vault.number
    dead = [other for (other,) in write.sql.execute(_OWNERS, (vault, now)) if is_dead(other)]
    if dead:
        write.sql.execute(_LET_GO, (vault, dead))
    taken = write.sql.execute(_TAKE, (owner, until, vault, model, address, now, vault))
    return sorted(map(Job._make, taken))


def renew(write: PostgresWriting, owner: str, until: float) -> None:
    write.sql.execute(_RENEW, (until, write.vault.number, owner))


def let_go(write: PostgresWriting, owner: str) -> None:
    write.sql.execute(_LET_GO, (write.vault.number, [owner]))


def drop(write: PostgresWriting, job: int) -> None:
    write.sql.execute(_DROP, (write.vault.number, job))
    release(write, owner_of(job))


def keys(read: PostgresReading, job: int) -> set[str]:
    return {r[0] for r in read.sql.execute(_KEYS, (read.vault.number, owner_of(job)))}


def count_texts(read: PostgresReading, model: str) -> int:
    return scalar(read, _COUNT, (read.vault.number, model, f"{OWNERS} "))
