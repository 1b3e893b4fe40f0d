"""Owners of claims: processes, and the batch jobs of providers."""

from __future__ import annotations

import os
import platform
from functools import cache
from itertools import count
from pathlib import Path

#: Prefix of the owners of jobs' claims. Owners of processes have four words, the first of which is never this.
OWNERS = "batch job"


def owner_of(job: int) -> str:
    """Return the owner of a job's claims."""
    return f"{OWNERS} {job} - -"


_numbers = count(1)


def new_owner() -> str:
    """Return a globally unique name for claims of this process."""
    return f"{_process()} {next(_numbers)}"


def is_own(owner: str) -> bool:
    """Return True if an owner belongs, or belonged, to this process."""
    return owner.rpartition(" ")[0] == _process()


def is_dead(owner: str) -> bool:
    """Return True if an owner was a process of this machine that has ended."""
    try:
        machine, pid, started, _ = owner.rsplit(" ", 3)
    except ValueError:
        # Foreign or damaged: valid until its expiry.
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
    # The pid may have been reused.
    return _started(int(pid)) != started


def _process() -> str:
    """Return the common prefix of all owners of this process."""
    return f"{_machine(os.getpid())} {os.getpid()} {_started(os.getpid())}"


@cache
def _machine(_process: int) -> str:
    """Return the scope of process ids: the boot of the machine, and the container."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return platform.node()


def _started(pid: int) -> str:
    """Return the start time of a process in the system's units; ``?`` if unknown."""
    try:
        # The name, in brackets, may contain anything; the start is the twentieth field after it.
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "?"
