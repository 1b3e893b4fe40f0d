"""Upkeep: what the background does for a manager, on one thread: postings, and the sidecar."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from septet import _core
from septet.errors import Closed, SeptetError, StoreError
from septet.snapshot.buffers import Buffers, Kept
from septet.snapshot.postings import PostingsBuffers
from septet.snapshot.sidecar import Sidecar, stamped
from septet.snapshot.snapshot import Snapshot
from septet.storage.forks import background
from septet.storage.store import Store
from septet.storage.tables import vectors as stored_vectors

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from septet.snapshot.manager import SnapshotManager, Task

__all__ = ["WORK", "Build", "Check", "Save", "optimize"]

PAGE_ROWS = 5_000


@dataclass(slots=True)
class Work:
    """Something to be done in small parts, one a task, so that nothing waits long for it, not even the exit."""

    manager: SnapshotManager
    store: Store
    buffers: Buffers
    snapshot: Snapshot

    def part(self) -> bool:
        """Do a part of the work, and say whether there is more."""
        raise NotImplementedError

    def begin(self) -> None:
        """Hand the next part to the background."""
        try:
            _executor(os.getpid()).submit(self._next)
        except RuntimeError:
            # The interpreter is on its way out.
            self.manager.release()

    def _next(self) -> None:
        try:
            more = not self.store.closed and self.part()
        except (SeptetError, MemoryError):
            # The vault was closed or is out of reach: the next search says so, if it is.
            more = False
        except BaseException:
            self.manager.release()
            raise
        if more:
            self.begin()
        else:
            self.manager.release()


@dataclass(slots=True)
class Build(Work):
    """Postings in the making: one page of slots a part."""

    postings: PostingsBuffers = field(default_factory=PostingsBuffers)

    def part(self) -> bool:
        """Add a page of rows; the last part hands the postings over."""
        done = len(self.postings)
        rows = self.snapshot.rows[done : done + PAGE_ROWS]
        if len(rows):
            with background, self.store.reading() as read:
                self.postings.append(read, rows.tolist())
            return True
        self.manager.built(self.buffers, self.postings)
        return False


@dataclass(slots=True)
class Check(Work):
    """The comparison of a sidecar's checksums: one column a part."""

    def part(self) -> bool:
        """Check a column; a sidecar that is damaged is given up."""
        unchecked = self.manager.unchecked
        if unchecked is None:
            return False
        file, names = unchecked
        name = min(names)
        try:
            file.verify(name)
        except (OSError, ValueError):
            self.manager.give_up(file)
            return False
        self.manager.checked(file, names - {name})
        return len(names) > 1


@dataclass(slots=True)
class Save(Work):
    """A sidecar in the making."""

    def part(self) -> bool:
        """Write it; where that fails, there will be none."""
        sidecar, kept = self.manager.sidecar, self.manager.kept()
        if sidecar is not None and kept is not None:
            try:
                save(self.manager, self.store, sidecar, kept)
            except (OSError, ValueError) as fault:
                self.manager.unwritable = fault
        return False


#: By what the manager says is due.
WORK: Mapping[Task, type[Work]] = MappingProxyType({"build": Build, "check": Check, "save": Save})


def optimize(manager: SnapshotManager, store: Store, now: float, *, terms: bool) -> tuple[Path, int] | None:
    """Make everything that searches use, in memory and as a sidecar; return its path and size, None without one.

    Args:
        terms: whether they use token counts.

    Raises:
        StoreError: the vault cannot be read, or the sidecar not be written.
    """
    manager.acquire()
    try:
        _load(manager, store, now, terms)
        kept = manager.kept()
        if manager.sidecar is None or kept is None:
            return None
        try:
            save(manager, store, manager.sidecar, kept, wait=True)
        except (OSError, ValueError) as fault:
            reason = fault.strerror if isinstance(fault, OSError) else fault
            raise StoreError(f"the sidecar {manager.sidecar.folder} cannot be written: {reason}") from fault
        with store.reading() as read:
            return manager.sidecar.place(read)
    finally:
        manager.release()


def _load(manager: SnapshotManager, store: Store, now: float, terms: bool) -> None:
    """Have the manager hold the postings, the vectors of every space, and the token counts if they are wanted."""
    while True:
        with store.reading() as read:
            spaces = stored_vectors.spaces(read)
            views = [manager.view(read, now, terms=terms, space=space) for space in (*spaces, None)]
        newest = views[-1]
        if newest is not None and (newest.postings is not None or manager.mistrusted):
            return
        if newest is not None:
            manager.build(store, newest)


def save(manager: SnapshotManager, store: Store, sidecar: Sidecar, kept: Kept, *, wait: bool = False) -> None:
    """Write what was held fast, unless there is a sidecar as good, and let the manager go on with it.

    Raises:
        OSError: it cannot be written.
        ValueError: it cannot be read again.
    """
    generation = kept.snapshot.generation
    with background, store.reading() as read:
        stamp = stamped(read, generation, kept.spaces)

    def needed() -> bool:
        with background, store.reading() as read:
            found = sidecar.newest(read)
        return found is None or not kept.is_in(*found)

    def fill(to: _core.ArrayWriter) -> None:
        def step(name: str) -> None:
            if store.closed:
                raise Closed(f"the vault {store.path} was closed")
            sidecar.step(name)

        kept.write(to, step)

    manager.saved(kept, sidecar.write(stamp, fill, needed, wait=wait))


@cache
def _executor(_process: int) -> ThreadPoolExecutor:
    """Return the one thread of a process that works in the background; threads do not survive a fork."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="septet-upkeep")
