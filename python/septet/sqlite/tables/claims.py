"""Claims: which texts a process is having embedded now, so that no other process pays for them too."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Container, Sequence
from functools import cache
from itertools import count
from pathlib import Path

from septet.sqlite.store.store import Reading, Writing

__all__ = [
    "claim",
    "claimed",
    "drop_dead",
    "drop_expired",
    "drop_own",
    "is_dead",
    "is_own",
    "new_owner",
    "owners",
    "release",
    "settle",
]

#: A claim for longer is of no process of Septet, and would be waited for without end.
LONGEST_S = 30 * 86_400.0

_THESE = "model = ? AND key IN (SELECT value FROM json_each(?))"
_numbers = count(1)


def new_owner() -> str:
    """Return a name that is unique, here and on other machines, under which this process claims texts."""
    return f"{_process()} {next(_numbers)}"


def claimed(read: Reading | Writing, model: str, owner: str, keys: Sequence[str], now: float) -> set[str]:
    """Return those of the texts that others have claimed."""
    sql = f"SELECT key FROM claims WHERE {_THESE} AND until > ? AND until <= ? AND owner <> ?"
    return {r[0] for r in read.sql.execute(sql, (model, json.dumps(list(keys)), now, now + LONGEST_S, owner))}


def claim(write: Writing, model: str, owner: str, keys: Sequence[str], now: float, until: float) -> list[str]:
    """Claim texts until a time (epoch seconds), and return those that nobody else has claimed."""
    drop_expired(write, now)
    write.sql.executemany(
        "INSERT INTO claims (model, key, owner, until) VALUES (?, ?, ?, ?) ON CONFLICT (model, key) "
        "DO UPDATE SET until = excluded.until WHERE owner = excluded.owner",
        [(model, key, owner, until) for key in keys],
    )
    sql = f"SELECT key FROM claims WHERE {_THESE} AND owner = ?"
    mine = {r[0] for r in write.sql.execute(sql, (model, json.dumps(list(keys)), owner))}
    return [key for key in keys if key in mine]


def settle(write: Writing, model: str, keys: Sequence[str]) -> None:
    """Remove the claims on texts whose vectors are being stored in the same transaction."""
    write.sql.execute(f"DELETE FROM claims WHERE {_THESE}", (model, json.dumps(list(keys))))


def release(write: Writing, owner: str) -> None:
    """Give up every claim of an owner."""
    write.sql.execute("DELETE FROM claims WHERE owner = ?", (owner,))


def drop_dead(write: Writing) -> int:
    """Remove the claims of processes of this machine that have ended, and return how many texts that frees.

    Claims of other machines expire.
    """
    owners = [r[0] for r in write.sql.execute("SELECT DISTINCT owner FROM claims")]
    dead = [(owner,) for owner in owners if is_dead(owner)]
    return write.sql.executemany("DELETE FROM claims WHERE owner = ?", dead).rowcount if dead else 0


def drop_expired(write: Writing, now: float) -> int:
    """Remove the claims whose time is over (epoch seconds), or which nobody makes for so long, and return how many."""
    sql = "DELETE FROM claims WHERE (until > ? AND until <= ?) IS NOT TRUE"
    return write.sql.execute(sql, (now, now + LONGEST_S)).rowcount


def owners(read: Reading) -> list[tuple[str, float]]:
    """Return who has a claim, and until when, of each text."""
    return read.sql.execute("SELECT owner, until FROM claims").fetchall()


def drop_own(write: Writing, model: str, living: Container[str]) -> None:
    """Remove the claims that this process made for owners which it does not know any more."""
    owners = [r[0] for r in write.sql.execute("SELECT DISTINCT owner FROM claims WHERE model = ?", (model,))]
    for owner in owners:
        if is_own(owner) and owner not in living:
            release(write, owner)


def is_own(owner: str) -> bool:
    """Say whether an owner is, or was, of this process."""
    return owner.rpartition(" ")[0] == _process()


def is_dead(owner: str) -> bool:
    """Say whether an owner was a process of this machine that has ended."""
    try:
        machine, pid, started, _ = owner.rsplit(" ", 3)
    except ValueError:
        # Of another program, or damaged: until its time is over.
        return False
    if machine != _machine(os.getpid()):
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except (OSError, ValueError, OverflowError):
        # The process exists and belongs to another user.
        return False
    # The number may belong to another process by now.
    return _started(int(pid)) != started


def _process() -> str:
    """Return what is the same in the names of all owners of this process."""
    return f"{_machine(os.getpid())} {os.getpid()} {_started(os.getpid())}"


@cache
def _machine(_process: int) -> str:
    """Return what process numbers are relative to: the machine since its last boot, and the container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return platform.node()


def _started(pid: int) -> str:
    """Return when a process was started, in the system's own units; ``?`` where that cannot be read."""
    try:
        # The name is in brackets and may contain anything; the twentieth field after it is the start.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "?"
