"""SnapshotManager: holds the current snapshot of a store, and publishes a new one after changes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Literal

from septet import _core
from septet.errors import Closed
from septet.model.vector import Space
from septet.sqlite.snapshot.catch_up import caught_up, links_of, rebuilt, with_postings, with_terms, with_vectors
from septet.sqlite.snapshot.checkpoint import Checkpoint, restored_postings, restored_terms, restored_vectors
from septet.sqlite.snapshot.columns import COLUMNS, Buffers, FactColumn
from septet.sqlite.snapshot.postings import PostingsBuffers
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.snapshot.state import Answers, Coverage, Schedule, SidecarState, Task
from septet.sqlite.store.store import SqliteReading, SqliteStore
from septet.system.forks import renew_in_children

#: Maximum slots that a search indexes itself: building 5,000 slots of 60 words takes about 100 ms.
BUILT_AT_ONCE = 5_000


class SnapshotManager:
    """Holds a store's current snapshot. Token counts and vectors are loaded on first use.

    Args:
        sidecar: persists arrays between processes; None to rebuild them in each.
        columns: columns of the snapshots.

    Attributes:
        current: the latest snapshot; None before the first search.
        remembered: see `Answers.remembered`.
        mistrusted: True if postings differed from FTS5's totals; searches use FTS5 from then on.
        damaged: True if a damaged sidecar was found and removed.
        left_out: parts of the store that are missing in the snapshots, see `Store.left_out`.
        measure: returns the agreement of a space's vectors with words, for sidecars; None to leave it to searches.
        recall: share of the nearest vectors that searches expect of lists, above 0; 1 for exact searches.
    """

    def __init__(self, sidecar: Sidecar | None = None, columns: Sequence[FactColumn] = COLUMNS) -> None:
        self._lock = _core.Lock()
        self._table = columns
        self._buffers = Buffers(columns)
        self._sidecar = SidecarState(sidecar)
        self._schedule = Schedule()
        self._searches = 0
        self.current: Snapshot | None = None
        # Bound here: every search calls it several times.
        self.remembered = Answers().remembered
        self.mistrusted = False
        self.damaged = False
        self.left_out: Sequence[object] = ()
        self.measure: Callable[[SnapshotManager, Snapshot, Space], float | None] | None = None
        self.recall = 1.0
        #: Spaces whose lists were released with their arrays; the next checkpoint has new ones.
        self._listed: set[int] = set()
        #: Snapshot without due work; none becomes due until the next one is published.
        self._settled: Snapshot | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset in a forked child: it has no background thread, which may have held the lock."""
        self._schedule = Schedule()
        self._reset()

    @property
    def sidecar(self) -> Sidecar | None:
        """The sidecar, which persists arrays between processes."""
        return self._sidecar.sidecar

    @property
    def restored(self) -> bool:
        """True if the arrays were read from or written to a sidecar."""
        return self._sidecar.coverage is not None

    @property
    def unverified(self) -> bool:
        """True if checksums of the sidecar in use are not all verified yet."""
        return self._sidecar.unverified is not None

    @property
    def busy(self) -> bool:
        """True if a background task or foreground work is running."""
        return self._schedule.busy

    def view(
        self,
        read: SqliteReading,
        now: float,
        *,
        text: bool = False,
        terms: bool = False,
        space: Space | None = None,
        seen: Snapshot | None = None,
    ) -> Snapshot | None:
        """Return the snapshot of the exact state of a read transaction.

        Args:
            now: time at which document frequencies count the valid entries, epoch seconds.
            text: build small full-text indexes now rather than in the background.
            terms: load the token counts.
            space: load the vectors of this space.
            seen: value of `current` before the transaction began. If the transaction reads an earlier state, the file
                was restored, and everything is rebuilt.

        Returns:
            None if another thread has published a later generation: restart the transaction.
        """
        current = self.current
        if (
            current is not None
            and current.generation == read.generation
            and current.writer == read.writer
            and (not terms or current.has_frequencies_at(now))
            and (space is None or space.space in current.vectors)
            and (
                current.postings is not None
                or (self._buffers.postings is None and not (text and self._builds(current)))
            )
        ):
            return current
        with self._lock.hold():
            current = self.current
            if current is not None and current.generation >= read.generation and current.state != read[1:]:
                if current is not seen:
                    return None
                self._reset()
                current, self.mistrusted = None, False
            has_file = self._file is not None
            try:
                self.current = self._completed(current, read, now, text, terms, space)
            except BaseException as fault:
                # Half-filled buffers match no snapshot: start from scratch next time.
                self._reset()
                has_file = has_file or isinstance(fault, _core.Damaged)
                if not has_file or not isinstance(fault, Exception) or isinstance(fault, (sqlite3.Error, Closed)):
                    raise
                # A damaged file may cause any error.
                self._sidecar.give_up()
                self.current = self._completed(None, read, now, text, terms, space)
            finally:
                self.damaged = self._sidecar.damaged
            return self.current

    def forget(self) -> None:
        """Discard all arrays, which may be wrong."""
        with self._lock.hold():
            self._reset()

    def give_up(self, fault: Exception | None = None) -> bool:
        """Discard all arrays and their damaged sidecar; return False if none is in use.

        Args:
            fault: error of a search, which may still use a file that the manager has released.
        """
        with self._lock.hold():
            if self._file is None and not isinstance(fault, _core.Damaged):
                return False
            self._reset()
            self._sidecar.give_up()
            self.damaged = True
            return True

    @property
    def _file(self) -> _core.ArrayFile | None:
        """The sidecar in use."""
        coverage = self._sidecar.coverage
        return None if coverage is None else coverage.file

    def linked(self, snapshot: Snapshot, read: SqliteReading) -> Snapshot:
        """Return the snapshot of the generation of ``read`` with links."""
        if snapshot.links is not None:
            return snapshot
        with self._lock.hold():
            current = self.current
            if current is not None and current.links is not None and current.state == snapshot.state:
                return replace(snapshot, links=current.links)
            linked = replace(snapshot, links=links_of(read))
            if current is snapshot:
                self.current = linked
            return linked

    def schedule(self, store: SqliteStore) -> None:
        """Start due background work: build postings, verify a sidecar, write a new one.

        The first search of a process starts nothing: a command that searches once would not benefit.
        """
        self._searches += 1
        current = self.current
        if self._searches < 2 or current is None or current is self._settled:
            return
        # Cheap check first: this runs in every search while work is due.
        if self._schedule.turns.held_by_any:
            return
        if self.due() is None:
            self._settled = current
            return
        with self._lock.hold():
            due = self.due()
            if due is None or (turn := self._schedule.turn()) is None:
                return
            task = self._task(due, store)
        self._schedule.start(task, store, turn)

    def due(self) -> Literal["build", "verify", "save"] | None:
        """Return the next background task, if any."""
        current = self.current
        if current is None:
            return None
        if self._buffers.postings is None:
            return None if self.mistrusted else "build"
        return self._sidecar.due(current, self._buffers)

    def foreground(self) -> AbstractContextManager[object]:
        """Wait for background work to end, and block new work while held."""
        turn: AbstractContextManager[object] = self._schedule.wait()
        return turn

    def begin(self, task: Task, store: SqliteStore) -> None:
        """Start a background task, unless one is running."""
        if (turn := self._schedule.turn()) is not None:
            self._schedule.start(task, store, turn)

    def do(self, due: Literal["build", "save"], store: SqliteStore) -> None:
        """Build the postings of the current snapshot, or write a sidecar, on this thread."""
        with self._lock.hold():
            step = self._task(due, store)
        while step():
            pass

    @property
    def outgrown(self) -> bool:
        """True if a sidecar should be written for the rows added since the last."""
        with self._lock.hold():
            current = self.current
            return current is not None and self._sidecar.is_outgrown(current, self._buffers)

    def freeze(self, *, new_lists: bool = False) -> Checkpoint | None:
        """Return a checkpoint of the current snapshot, its lists of vectors up to date; None without postings.

        Args:
            new_lists: arrange large spaces that have no lists, too.
        """
        self._arrange(new_lists)
        measure = None if self.measure is None else partial(self.measure, self)
        with self._lock.hold():
            return None if self.current is None else Checkpoint.of(self.current, self._buffers, self._file, measure)

    def adopt(self, checkpoint: Checkpoint, file: _core.ArrayFile | None) -> None:
        """Replace the arrays in memory by those of a newly written sidecar.

        Args:
            file: None if an equal one exists, or another process is writing one.
        """
        with self._lock.hold():
            current, buffers = self.current, self._buffers
            if current is None:
                # Discarded since, as when the vault was closed: the next view opens the file.
                return
            self._sidecar.coverage = Coverage.of(file, checkpoint.snapshot, checkpoint.spaces)
            if file is None or buffers.postings is None or not checkpoint.is_of(buffers):
                return
            frozen = checkpoint.snapshot
            try:
                postings = restored_postings(file, frozen.alive & frozen.searchable)
                restored = [restored_vectors(file, layer.space, frozen.sampled) for layer in checkpoint.layers]
                for layer, (rows, base) in zip(checkpoint.layers, restored):
                    layer.replace_by_file(rows, base)
                buffers.postings, buffers.file = postings, file
                vectors = {number: layer.view(current.sampled) for number, layer in buffers.vectors.items()}
                terms = current.terms if checkpoint.terms is None else restored_terms(file)
                # The next search appends newer slots, and compares the postings with FTS5's totals.
                self.current = replace(current, postings=None, vectors=vectors, terms=terms, file=file)
            except BaseException:
                # Some rows may already be those of the file: start from scratch next time.
                self._reset()
                raise

    def _arrange(self, new_lists: bool) -> None:
        """Bring the lists of vectors up to date; searches and writes continue."""
        from septet.sqlite.snapshot.maintenance import arranged

        current, layers = self.current, dict(self._buffers.vectors)
        for number, layer in layers.items():
            if current is None or number not in current.vectors:
                continue
            new = new_lists or number in self._listed
            # One thread in the background is enough.
            codes = arranged(current, number, new=new, threads=None if new_lists else 1)
            with self._lock.hold():
                latest = self.current
                if codes is not None and latest is not None and self._buffers.vectors.get(number) is layer:
                    vectors = latest.vectors[number]._replace(codes=layer.arrange(codes))
                    self.current = replace(latest, vectors={**latest.vectors, number: vectors})

    def _task(self, due: Literal["build", "verify", "save"], store: SqliteStore) -> Task:
        """Return a task for the current snapshot; the caller holds the lock."""
        # Imported here: the first search needs none of it.
        from septet.sqlite.snapshot.maintenance import build, save_step, verify

        unverified, buffers = self._sidecar.unverified, self._buffers

        def take_postings(postings: PostingsBuffers) -> None:
            """Adopt built postings, for the next search to complete."""
            with self._lock.hold():
                # A search may have built its own in the meantime, which its snapshot uses.
                if buffers is self._buffers and buffers.postings is None:
                    buffers.postings = postings

        if due == "verify" and unverified is not None:
            return verify(*unverified, self._verified, self._give_up)
        if due == "save":
            return partial(save_step, store, self._sidecar, self.freeze, self.adopt, self.give_up)
        if due == "build" and self.current is not None:
            return build(store, self.current, take_postings)
        return lambda: False

    def _verified(self, file: _core.ArrayFile, unverified: frozenset[str]) -> bool:
        """Record the unverified columns of a sidecar; return True if it is still in use."""
        with self._lock.hold():
            coverage = self._sidecar.coverage
            if coverage is None or coverage.file is not file:
                return False
            self._sidecar.coverage = coverage._replace(unverified=unverified)
            return True

    def _give_up(self, file: _core.ArrayFile) -> None:
        """Discard all arrays and the damaged sidecar, if still in use."""
        with self._lock.hold():
            if self._file is file:
                self._reset()
                self._sidecar.give_up()
                self.damaged = True

    def _builds(self, snapshot: Snapshot) -> bool:
        """Return True if searches build full text themselves, rather than the background."""
        return not self.mistrusted and len(snapshot.rows) <= BUILT_AT_ONCE

    def _completed(
        self, old: Snapshot | None, read: SqliteReading, now: float, text: bool, terms: bool, space: Space | None
    ) -> Snapshot:
        """Return a snapshot of the generation of ``read``, with all requested parts."""
        snapshot = old
        if old is None and (restored := self._sidecar.restore(read, self._table)) is not None:
            self._buffers, snapshot = restored
        if snapshot is None or snapshot.generation < read.generation:
            snapshot = self._caught_up(snapshot, read)
        if terms and not snapshot.has_frequencies_at(now):
            snapshot = with_terms(snapshot, read, now)
        if space is not None and space.space not in snapshot.vectors:
            snapshot = with_vectors(snapshot, self._buffers, read, space)
        if text and self._buffers.postings is None and self._builds(snapshot):
            self._buffers.postings = PostingsBuffers()
        if snapshot.postings is not None or self._buffers.postings is None:
            return snapshot
        complete = with_postings(snapshot, self._buffers, read)
        if complete is not None:
            return complete
        if self._file is None:
            self._mistrust()
            return snapshot
        # A sidecar with one error may have others: rebuild everything from the store.
        self._reset()
        self._sidecar.give_up()
        return self._completed(None, read, now, text, terms, space)

    def _caught_up(self, old: Snapshot | None, read: SqliteReading) -> Snapshot:
        snapshot = None if old is None else caught_up(old, self._buffers, read)
        if snapshot is None:
            self._reset()
            if old is not None and old.writer != read.writer:
                # The file was restored from a backup since; discard what was found out about the old one.
                self.mistrusted = False
            return rebuilt(self._buffers, read)
        if old is not None and old.postings is not None and snapshot.postings is None:
            if self._file is not None:
                self._sidecar.give_up()
                self._reset()
                return rebuilt(self._buffers, read)
            self._mistrust()
        return snapshot

    def _mistrust(self) -> None:
        """Use FTS5 from now on."""
        self._buffers.postings, self.mistrusted = None, True

    def _reset(self) -> None:
        """Release the current snapshot and its arrays."""
        self._listed |= {number for number, layer in self._buffers.vectors.items() if layer.has_lists}
        self.current, self._buffers, self._sidecar.coverage = None, Buffers(self._table), None
