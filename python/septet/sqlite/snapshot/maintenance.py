"""Background tasks of a manager: building postings, verifying a sidecar's checksums, writing a new sidecar."""

from __future__ import annotations

import time
from collections.abc import Callable

from septet import _core
from septet.errors import Closed
from septet.sqlite.snapshot.catch_up import precedes
from septet.sqlite.snapshot.checkpoint import Checkpoint
from septet.sqlite.snapshot.columns import is_behind
from septet.sqlite.snapshot.postings import PostingsBuffers
from septet.sqlite.snapshot.sidecar import Sidecar, Stamp
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.snapshot.state import SidecarState, Task
from septet.sqlite.store.store import SqliteStore, store_id
from septet.sqlite.tables.entries import purged_at
from septet.watch import log

PAGE_ROWS = 5_000
#: Minimum vectors of a space for lists: a scan of fewer takes about a millisecond.
LEAST_LISTED = 50_000


def build(store: SqliteStore, snapshot: Snapshot, hand_over: Callable[[PostingsBuffers], None]) -> Task:
    """Return a task that builds the postings of a snapshot, one page of slots per step, and hands them over."""
    postings = PostingsBuffers()

    def step() -> bool:
        rows = snapshot.rows[len(postings) : len(postings) + PAGE_ROWS]
        if not len(rows):
            hand_over(postings)
            return False
        with store.reading() as read:
            if not precedes(snapshot, read):
                # The store was restored: rows refer to other entries now. The next search rebuilds.
                return False
            postings.append(read, rows.tolist())
        return True

    return step


def verify(
    file: _core.ArrayFile,
    unverified: frozenset[str],
    verified: Callable[[_core.ArrayFile, frozenset[str]], bool],
    give_up: Callable[[_core.ArrayFile], None],
) -> Task:
    """Return a task that verifies the checksums of a sidecar, one column per step.

    Args:
        unverified: columns to verify.
        verified: records the remaining columns of a file; returns True if the file is still in use.
        give_up: discards a damaged file.
    """
    names = set(unverified)

    def step() -> bool:
        try:
            file.verify(names.pop())
        except (OSError, ValueError):
            give_up(file)
            return False
        return verified(file, frozenset(names)) and bool(names)

    return step


def arranged(snapshot: Snapshot, space: int, *, new: bool, threads: int | None) -> _core.Codes | None:
    """Return the codes of a space in lists that are up to date; None if there is nothing to do.

    Args:
        new: make lists of many vectors that have none, or that doubled since.
    """
    vectors = snapshot.vectors[space]
    codes = vectors.codes
    makes = new and len(vectors.slots) >= LEAST_LISTED and 2 * codes.unlisted > len(codes)
    if not makes and not is_behind(codes):
        return None
    # Searches mask dead slots, so no list needs their vectors.
    return codes.arranged(vectors.rows, snapshot.alive[vectors.slots], absorb=not makes, threads=threads)


def save_step(
    store: SqliteStore,
    state: SidecarState,
    freeze: Callable[[], Checkpoint | None],
    adopt: Callable[[Checkpoint, _core.ArrayFile | None], None],
    give_up: Callable[[Exception], object],
) -> bool:
    """Write a sidecar as the only step of a task; after a failure, this process writes no more.

    Args:
        freeze: returns the checkpoint to write.
        adopt: takes the checkpoint and the written file, None if no file was written.
        give_up: discards the damaged sidecar in use.
    """
    sidecar = state.sidecar
    if sidecar is None:
        return False
    try:
        if (checkpoint := freeze()) is not None:
            adopt(checkpoint, save(store, sidecar, checkpoint))
    except _core.Damaged as fault:
        # The sidecar in use changed during the copy, or the new one right after.
        log.say("sidecar", log.WARNING, "%s was damaged; it is rebuilt", sidecar.folder)
        give_up(fault)
    except (OSError, ValueError) as fault:
        log.say("sidecar", log.WARNING, "%s cannot be written: %s", sidecar.folder, fault)
        state.unwritable = True
    return False


def save(store: SqliteStore, sidecar: Sidecar, checkpoint: Checkpoint, *, wait: bool = False) -> _core.ArrayFile | None:
    """Write a checkpoint and open the file; None if an equal sidecar exists, or another process is writing one.

    Args:
        wait: True to wait for the other process.

    Raises:
        OSError: the file cannot be written.
        ValueError: the written file cannot be read.
    """
    snapshot = checkpoint.snapshot
    with store.reading() as read:
        stamp = Stamp(store_id(read), snapshot.generation, snapshot.writer, checkpoint.spaces)

    def needed() -> bool:
        with store.reading() as read:
            if purged_at(read) > snapshot.generation:
                # The sidecar would be unusable, and contain entries that were erased since.
                return False
            latest = sidecar.latest(read)
        return latest is None or not checkpoint.is_in(*latest[:2])

    def fill(to: _core.ArrayWriter) -> None:
        def step(name: str) -> None:
            if store.closed:
                raise Closed(f"the vault {store.path} was closed")
            sidecar.step(name)

        checkpoint.write(to, step)

    started = time.perf_counter()
    file = sidecar.write(stamp, fill, needed, wait=wait)
    if file is not None:
        took_ms = (time.perf_counter() - started) * 1e3
        log.say("sidecar", log.INFO, "%s written, generation %d, in %.0f ms", sidecar.folder, stamp.generation, took_ms)
    return file
