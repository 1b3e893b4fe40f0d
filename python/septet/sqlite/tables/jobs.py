"""Batch jobs of providers, recorded so that a later process can collect them.

The texts of a job are claimed under the job's name, which belongs to no process: they stay claimed after a crash.
"""

from __future__ import annotations

from septet.sqlite.store.store import SqliteReading, SqliteWriting
from septet.sqlite.tables import claims
from septet.store.owners import OWNERS, is_dead, owner_of
from septet.store.rows import Job
from septet.store.typed import typed


def make(write: SqliteWriting, model: str, address: str, name: str, owner: str, now: float, until: float) -> int:
    cursor = write.sql.execute(
        "INSERT INTO jobs (model, place, name, owner, until, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (model, address, name, owner, until, now),
    ).lastrowid
    assert cursor is not None
    return cursor


def submitted(write: SqliteWriting, job: int, batch: str) -> None:
    write.sql.execute("UPDATE jobs SET batch = ? WHERE job = ?", (batch, job))


def take(write: SqliteWriting, model: str, address: str, owner: str, now: float, until: float) -> list[Job]:
    sql = "SELECT DISTINCT owner FROM jobs WHERE until > ? AND owner <> ''"
    owners = [r[0] for r in write.sql.execute(sql, (now,))]
    write.sql.executemany(
        "UPDATE jobs SET owner = '' WHERE owner = ?", [(other,) for other in owners if is_dead(other)]
    )
    sql = "SELECT job, name, batch FROM jobs WHERE model = ? AND place = ? AND (owner = '' OR until <= ?) ORDER BY job"
    jobs = typed(Job, write.sql.execute(sql, (model, address, now)))
    write.sql.executemany("UPDATE jobs SET owner = ?, until = ? WHERE job = ?", [(owner, until, j.job) for j in jobs])
    return jobs


def renew(write: SqliteWriting, owner: str, until: float) -> None:
    write.sql.execute("UPDATE jobs SET until = ? WHERE owner = ?", (until, owner))


def let_go(write: SqliteWriting, owner: str) -> None:
    write.sql.execute("UPDATE jobs SET owner = '' WHERE owner = ?", (owner,))


def drop(write: SqliteWriting, job: int) -> None:
    write.sql.execute("DELETE FROM jobs WHERE job = ?", (job,))
    claims.release(write, owner_of(job))


def keys(read: SqliteReading, job: int) -> set[str]:
    return {r[0] for r in read.sql.execute("SELECT key FROM claims WHERE owner = ?", (owner_of(job),))}


def count_texts(read: SqliteReading, model: str) -> int:
    sql = "SELECT count(*) FROM claims WHERE model = ? AND owner GLOB ?"
    return int(read.sql.execute(sql, (model, f"{OWNERS} *")).fetchone()[0])
