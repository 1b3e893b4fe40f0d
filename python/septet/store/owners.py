"""Owners of claims: processes, and the batch jobs of providers."""

from __future__ import annotations

import os
from itertools import count

from septet.system.host import host

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
    if machine != host.machine(os.getpid()) or not pid.isdecimal():
        return False
    # The pid may have been reused.
    return not host.is_running(int(pid)) or host.started(int(pid)) != started


def _process() -> str:
    """Return the common prefix of all owners of this process."""
    return f"{host.machine(os.getpid())} {os.getpid()} {host.started(os.getpid())}"
