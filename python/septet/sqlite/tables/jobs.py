"""Jobs: batches that a provider embeds over hours, recorded so that a later process can collect them.

The texts of a job are claimed in the job's own name, which no process has: a crash leaves them claimed.
"""

from __future__ import annotations

from typing import NamedTuple

from septet.sqlite.store.store import Reading, Writing
from septet.sqlite.tables import claims
from septet.sqlite.tables.typed import typed

__all__ = ["OWNERS", "Job", "count_texts", "drop", "keys", "let_go", "make", "owner_of", "renew", "submitted", "take"]

#: How all names begin in which jobs claim texts. Claims tell a process by four words; the first of these is the name of
#: no machine.
OWNERS = "batch job"


class Job(NamedTuple):
    """A job as the vault knows it.

    Attributes:
        name: what it is called at the provider, and nowhere else.
        batch: the provider's id; None when it is not known whether the job got there.
    """

    job: int
    name: str
    batch: str | None


def owner_of(job: int) -> str:
    """Return the name in which a job's texts are claimed."""
    return f"{OWNERS} {job} - -"


def make(write: Writing, model: str, address: str, name: str, owner: str, now: float, until: float) -> int:
    """Record a job before it is submitted and return its number.

    Args:
        address: of the provider that gets it; no other address knows the job.
        owner: the process that looks after it, until a time (epoch seconds).
    """
    cursor = write.sql.execute(
        "INSERT INTO jobs (model, place, name, owner, until, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (model, address, name, owner, until, now),
    ).lastrowid
    assert cursor is not None
    return cursor


def submitted(write: Writing, job: int, batch: str) -> None:
    """Keep the provider's id of a job."""
    write.sql.execute("UPDATE jobs SET batch = ? WHERE job = ?", (batch, job))


def take(write: Writing, model: str, address: str, owner: str, now: float, until: float) -> list[Job]:
    """Take over the jobs of a model that no living process looks after, the oldest first."""
    sql = "SELECT DISTINCT owner FROM jobs WHERE until > ? AND owner <> ''"
    owners = [r[0] for r in write.sql.execute(sql, (now,))]
    write.sql.executemany(
        "UPDATE jobs SET owner = '' WHERE owner = ?", [(other,) for other in owners if claims.is_dead(other)]
    )
    sql = "SELECT job, name, batch FROM jobs WHERE model = ? AND place = ? AND (owner = '' OR until <= ?) ORDER BY job"
    jobs = typed(Job, write.sql.execute(sql, (model, address, now)))
    write.sql.executemany("UPDATE jobs SET owner = ?, until = ? WHERE job = ?", [(owner, until, j.job) for j in jobs])
    return jobs


def renew(write: Writing, owner: str, until: float) -> None:
    """Look after jobs until a later time."""
    write.sql.execute("UPDATE jobs SET until = ? WHERE owner = ?", (until, owner))


def let_go(write: Writing, owner: str) -> None:
    """Leave jobs to the next process; their texts stay claimed."""
    write.sql.execute("UPDATE jobs SET owner = '' WHERE owner = ?", (owner,))


def drop(write: Writing, job: int) -> None:
    """Forget a job that is over, and free those of its texts that have no vector."""
    write.sql.execute("DELETE FROM jobs WHERE job = ?", (job,))
    claims.release(write, owner_of(job))


def keys(read: Reading, job: int) -> set[str]:
    """Return the texts, by hash, that a job is still to bring."""
    return {r[0] for r in read.sql.execute("SELECT key FROM claims WHERE owner = ?", (owner_of(job),))}


def count_texts(read: Reading, model: str) -> int:
    """Return how many texts of a model are in jobs."""
    sql = "SELECT count(*) FROM claims WHERE model = ? AND owner GLOB ?"
    return int(read.sql.execute(sql, (model, f"{OWNERS} *")).fetchone()[0])
