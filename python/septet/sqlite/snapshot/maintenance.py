"""Background tasks of a manager: building postings, verifying a sidecar's checksums, writing a new sidecar."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from septet import _core
from septet.errors import Closed
from septet.sqlite.snapshot.catch_up import precedes
from septet.sqlite.snapshot.checkpoint import Checkpoint
from septet.sqlite.snapshot.postings import PostingsBuffers
from septet.sqlite.snapshot.sidecar import Sidecar, Stamp
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.store.store import SqliteStore, store_id
from septet.sqlite.tables.entries import purged_at
from septet.watch import log

PAGE_ROWS = 5_000


@dataclass(slots=True)
class Build:
    """Builds the postings of a snapshot, one page of slots per step, and hands them over."""

    store: SqliteStore
    snapshot: Snapshot
    hand_over: Callable[[PostingsBuffers], None]
    postings: PostingsBuffers = field(default_factory=PostingsBuffers)

    def __call__(self) -> bool:
        """Append a page of rows; the last step hands the postings over."""
        done = len(self.postings)
        rows = self.snapshot.rows[done : done + PAGE_ROWS]
        if len(rows):
            with self.store.reading() as read:
                if not precedes(self.snapshot, read):
                    # The store was restored: rows refer to other entries now. The next search rebuilds.
                    return False
                self.postings.append(read, rows.tolist())
            return True
        self.hand_over(self.postings)
        return False


@dataclass(slots=True)
class Verify:
    """Verifies the checksums of a sidecar, one column per step.

    Attributes:
        unverified: remaining columns.
        verified: records the remaining columns of a file; returns True if the file is still in use.
        give_up: discards a damaged file.
    """

    file: _core.ArrayFile
    unverified: frozenset[str]
    verified: Callable[[_core.ArrayFile, frozenset[str]], bool]
    give_up: Callable[[_core.ArrayFile], None]

    def __call__(self) -> bool:
        """Verify a column; discard a damaged sidecar."""
        name = min(self.unverified)
        try:
            self.file.verify(name)
        except (OSError, ValueError):
            self.give_up(self.file)
            return False
        self.unverified -= {name}
        return self.verified(self.file, self.unverified) and bool(self.unverified)


@dataclass(slots=True)
class Save:
    """Writes a sidecar in one step; after a failure, this process writes no more.

    Attributes:
        freeze: returns the checkpoint to write.
        adopt: takes the checkpoint and the written file, None if no file was written.
        fail: takes the error that prevents writing.
        give_up: discards the damaged sidecar in use.
    """

    store: SqliteStore
    sidecar: Sidecar
    freeze: Callable[[], Checkpoint | None]
    adopt: Callable[[Checkpoint, _core.ArrayFile | None], None]
    fail: Callable[[OSError | ValueError], None]
    give_up: Callable[[Exception], object]

    def __call__(self) -> bool:
        """Write the sidecar."""
        checkpoint = self.freeze()
        if checkpoint is not None:
            try:
                self.adopt(checkpoint, save(self.store, self.sidecar, checkpoint))
            except _core.Damaged as fault:
                # The sidecar in use changed during the copy, or the new one right after.
                log.say("sidecar", log.WARNING, "%s was damaged; it is rebuilt", self.sidecar.folder)
                self.give_up(fault)
            except (OSError, ValueError) as fault:
                log.say("sidecar", log.WARNING, "%s cannot be written: %s", self.sidecar.folder, fault)
                self.fail(fault)
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
        return latest is None or not checkpoint.is_in(*latest)

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
