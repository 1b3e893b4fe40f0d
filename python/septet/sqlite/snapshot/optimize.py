"""Build all search structures in the foreground."""

from __future__ import annotations

import time
from contextlib import closing, suppress
from pathlib import Path

from septet import _core
from septet.errors import SeptetError, StoreBusy, StoreError
from septet.sqlite.snapshot.maintenance import save
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import links, vectors

#: Maximum attempts while the vault is being changed.
TURNS = 1_000


def optimize(manager: SnapshotManager, store: SqliteStore, now: float, *, terms: bool) -> tuple[Path, int] | None:
    """Build all search structures, in memory and as a sidecar; return its path and size in bytes, None without one.

    Args:
        terms: True if searches use token counts.

    Raises:
        StoreError: the vault cannot be read, or the sidecar cannot be written.
    """
    with manager.foreground():
        _load(manager, store, now, terms)
        sidecar = manager.sidecar
        if sidecar is None:
            manager.freeze(new_lists=True)
            return None
        try:
            try:
                if not _arrange_and_save(manager, store, sidecar):
                    return None
            except _core.Damaged as fault:
                # The sidecar in use changed during the copy: retry once, from the store.
                manager.give_up(fault)
                _load(manager, store, now, terms)
                _arrange_and_save(manager, store, sidecar)
        except (OSError, ValueError) as cause:
            reason = cause.strerror if isinstance(cause, OSError) else cause
            raise StoreError(f"the sidecar {sidecar.folder} cannot be written: {reason}") from cause
        with store.reading() as read:
            return sidecar.current_file(read)


def _arrange_and_save(manager: SnapshotManager, store: SqliteStore, sidecar: Sidecar) -> bool:
    """Arrange the vectors of large spaces in lists, and write a sidecar; return False without postings."""
    checkpoint = manager.freeze(new_lists=True)
    if checkpoint is None:
        return False
    manager.adopt(checkpoint, save(store, sidecar, checkpoint, wait=True))
    return True


def load(manager: SnapshotManager, store: SqliteStore, now: float, *, terms: bool) -> None:
    """Build all search structures in memory only.

    Raises:
        StoreBusy: the vault keeps changing.
        StoreError: the vault cannot be read.
    """
    with manager.foreground():
        _load(manager, store, now, terms)


def keep_up(manager: SnapshotManager, store: SqliteStore, now: float, *, terms: bool) -> None:
    """Write a sidecar if enough was added to justify one; the caller has the manager's turn.

    After a failed write, this process writes no more sidecars.

    Raises:
        StoreBusy: the vault keeps changing.
        StoreError: the vault cannot be read.
    """
    _load(manager, store, now, terms)
    if manager.outgrown:
        manager.do("save", store)


def keep_beside(path: str) -> None:
    """Write a sidecar for a complete file if it is large enough; ignore any error."""
    with suppress(SeptetError, MemoryError, OSError), closing(SqliteStore(path, read_only=True)) as store:
        manager = SnapshotManager(Sidecar(path))
        with manager.foreground():
            keep_up(manager, store, time.time(), terms=False)


def _load(manager: SnapshotManager, store: SqliteStore, now: float, terms: bool) -> None:
    """Load the postings, the vectors of every space, the links, and the token counts if requested."""
    for _ in range(TURNS):
        seen = manager.current
        with store.begin_reading() as read:
            spaces = vectors.spaces(read)
            # The first view may rebuild after a restored file; then nothing is left to compare the others with.
            snapshots = [manager.view(read, now, terms=terms, space=space, seen=seen) for space in (*spaces, None)]
            last = snapshots[-1]
            if last is not None and links.any_links(read):
                manager.linked(last, read)
        if last is not None and (last.postings is not None or manager.mistrusted):
            return
        if last is not None:
            manager.do("build", store)
    raise StoreBusy(
        f"{store.path} changed during each of {TURNS} attempts to optimize it: try again when fewer processes "
        "write to it"
    )
