"""SnapshotManager: holds the current snapshot of a store, and publishes the next one when the store has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Literal

from septet import _core
from septet.errors import Closed
from septet.model.spaces import Space
from septet.sqlite.snapshot.answers import Answers
from septet.sqlite.snapshot.buffers import Buffers
from septet.sqlite.snapshot.catch_up import caught_up, rebuilt, with_postings, with_terms, with_vectors
from septet.sqlite.snapshot.checkpoint import Checkpoint, restored_postings, restored_terms, restored_vectors
from septet.sqlite.snapshot.columns import COLUMNS, Column
from septet.sqlite.snapshot.postings import PostingsBuffers
from septet.sqlite.snapshot.schedule import Schedule, Task
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.sidecar_state import Coverage, SidecarState
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.store.store import Reading, Store
from septet.system.forks import renew_in_children

__all__ = ["BUILT_AT_ONCE", "SnapshotManager"]

#: So many slots of 60 words take some 100 ms to build.
BUILT_AT_ONCE = 5_000


class SnapshotManager:
    """Holds a store's current snapshot. Token counts and vectors are loaded when a search first needs them.

    Args:
        sidecar: where arrays are kept from process to process; None to make them anew in each.
        columns: what snapshots know of every entry.

    Attributes:
        current: the snapshot that was published last; None before the first search.
        remembered: see `Answers.remembered`.
        mistrusted: postings were found to differ from FTS5's totals: FTS5 answers from then on.
        damaged: a sidecar was found to be damaged, and was removed.
        left_out: what the snapshots know nothing of, see `Store.left_out`.
    """

    def __init__(self, sidecar: Sidecar | None = None, columns: Sequence[Column] = COLUMNS) -> None:
        self._lock = _core.Lock()
        self._table = columns
        self._buffers = Buffers(columns)
        self._sidecar = SidecarState(sidecar)
        self._schedule = Schedule()
        self._searches = 0
        self.current: Snapshot | None = None
        # Not a method of its own: every search asks several times.
        self.remembered = Answers().remembered
        self.mistrusted = False
        self.damaged = False
        self.left_out: Sequence[object] = ()
        #: The snapshot with which nothing was due; nothing becomes due before another one is published.
        self._settled: Snapshot | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        """Begin from nothing in a forked child: the background thread is not there, and may have held the lock."""
        self._schedule = Schedule()
        self._reset()

    @property
    def sidecar(self) -> Sidecar | None:
        """Where arrays are kept from process to process."""
        return self._sidecar.sidecar

    @property
    def restored(self) -> bool:
        """Whether the arrays came from a sidecar or are in one."""
        return self._sidecar.coverage is not None

    @property
    def unverified(self) -> bool:
        """Whether a sidecar is in use whose checksums were not all compared yet."""
        return self._sidecar.unverified is not None

    @property
    def busy(self) -> bool:
        """Whether a background task is running, or somebody works in the foreground."""
        return self._schedule.busy

    def view(
        self,
        read: Reading,
        now: float,
        *,
        text: bool = False,
        terms: bool = False,
        space: Space | None = None,
        seen: Snapshot | None = None,
    ) -> Snapshot | None:
        """Return the snapshot of exactly the state that a read transaction sees.

        Args:
            now: the moment at which document frequencies count the valid entries.
            text: build full text now if that takes no longer than some searches by FTS5.
            terms: load the token counts.
            space: load the vectors of this space.
            seen: what was `current` before the transaction began. If the transaction sees an earlier state all the
                same, the file was restored, and everything is made anew.

        Returns:
            None when another thread has moved on to a later generation: begin the transaction again.
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
            has_file = self._has_file
            try:
                self.current = self._completed(current, read, now, text, terms, space)
            except BaseException as fault:
                # Buffers that were filled half way fit no snapshot: begin from nothing next time.
                self._reset()
                has_file = has_file or isinstance(fault, _core.Damaged)
                if not has_file or not isinstance(fault, Exception) or isinstance(fault, (sqlite3.Error, Closed)):
                    raise
                # What a damaged file says need not make sense.
                self._sidecar.give_up()
                self.current = self._completed(None, read, now, text, terms, space)
            finally:
                self.damaged = self._sidecar.damaged
            return self.current

    def forget(self) -> None:
        """Begin anew: what was read last may be wrong."""
        with self._lock.hold():
            self._reset()

    def give_up(self, fault: Exception | None = None) -> bool:
        """Begin anew without the sidecar in use, which was found to be damaged; False if none is.

        Args:
            fault: how it was found; a search may still use a file that the manager has let go.
        """
        with self._lock.hold():
            if not (self._has_file or isinstance(fault, _core.Damaged)):
                return False
            self._reset()
            self._sidecar.give_up()
            self.damaged = True
            return True

    @property
    def _has_file(self) -> bool:
        known = self._sidecar.coverage
        return known is not None and known.file is not None

    def linked(self, snapshot: Snapshot, read: Reading) -> Snapshot:
        """Return a snapshot, of the generation that is read, with the links."""
        if snapshot.links is not None:
            return snapshot
        # Most vaults hold no links.
        from septet.sqlite.snapshot.links import loaded

        with self._lock.hold():
            current = self.current
            if current is not None and current.links is not None and current.state == snapshot.state:
                return replace(snapshot, links=current.links)
            linked = replace(snapshot, links=loaded(read))
            if current is snapshot:
                self.current = linked
            return linked

    def schedule(self, store: Store) -> None:
        """Start what is due in the background: build postings, verify a sidecar, write a new one.

        The first search of a process starts nothing: a command that asks once has nothing to gain.
        """
        self._searches += 1
        current = self.current
        if self._searches < 2 or current is None or current is self._settled:
            return
        # Asked in every search while something is due.
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
        """Return what the background should do next, if anything."""
        current = self.current
        if current is None:
            return None
        if self._buffers.postings is None:
            return None if self.mistrusted else "build"
        return self._sidecar.due(current, self._buffers)

    def foreground(self) -> AbstractContextManager[object]:
        """Wait until the background has nothing to do, and keep it from starting anything."""
        turn: AbstractContextManager[object] = self._schedule.wait()
        return turn

    def begin(self, task: Task, store: Store) -> None:
        """Start a task in the background, unless there is one."""
        if (turn := self._schedule.turn()) is not None:
            self._schedule.start(task, store, turn)

    def build(self, store: Store) -> None:
        """Build the postings of the current snapshot, and wait for it."""
        self._do("build", store)

    def save(self, store: Store) -> None:
        """Write a sidecar, and wait for it; where that fails, this process writes none any more."""
        self._do("save", store)

    def _do(self, due: Literal["build", "save"], store: Store) -> None:
        with self._lock.hold():
            step = self._task(due, store)
        while step():
            pass

    @property
    def outgrown(self) -> bool:
        """Whether so much was added that a sidecar is worth writing."""
        with self._lock.hold():
            current = self.current
            return current is not None and self._sidecar.is_outgrown(current, self._buffers)

    def freeze(self) -> Checkpoint | None:
        """Return what a sidecar is written from; None while there are no postings."""
        with self._lock.hold():
            known = self._sidecar.coverage
            file = None if known is None else known.file
            return None if self.current is None else Checkpoint.of(self.current, self._buffers, file)

    def adopt(self, checkpoint: Checkpoint, file: _core.ArrayFile | None) -> None:
        """Go on with the arrays of a sidecar that was written, in place of those in memory.

        Args:
            file: None if there was one as good, or another process writes one.
        """
        with self._lock.hold():
            current, buffers = self.current, self._buffers
            self._sidecar.coverage = Coverage.of(file, checkpoint.snapshot, checkpoint.spaces)
            if current is None or file is None or buffers.postings is None or not checkpoint.is_of(buffers):
                return
            try:
                self.current = self._on_file(current, buffers, checkpoint, file)
            except BaseException:
                # Some rows may be those of the file already: begin from nothing next time.
                self._reset()
                raise

    def _on_file(self, current: Snapshot, buffers: Buffers, checkpoint: Checkpoint, file: _core.ArrayFile) -> Snapshot:
        """Return the current snapshot on the arrays of a sidecar."""
        frozen = checkpoint.snapshot
        postings = restored_postings(file, frozen.alive & frozen.searchable)
        found = [restored_vectors(file, layer.space, frozen.sampled) for layer in checkpoint.layers]
        for layer, (rows, base) in zip(checkpoint.layers, found):
            layer.replace_by_file(rows, base)
        buffers.postings, buffers.file = postings, file
        vectors = {number: layer.view(current.sampled) for number, layer in buffers.vectors.items()}
        terms = current.terms if checkpoint.terms is None else restored_terms(file)
        # The next search adds the slots that came since, and compares the postings with FTS5's totals.
        return replace(current, postings=None, vectors=vectors, terms=terms, file=file)

    def _task(self, due: Literal["build", "verify", "save"], store: Store) -> Task:
        """Return a task; the lock is held, so it fits the current snapshot."""
        # Not for the first search.
        from septet.sqlite.snapshot.maintenance import Build, Save, Verify

        sidecar, unverified = self._sidecar.sidecar, self._sidecar.unverified
        if due == "verify" and unverified is not None:
            return Verify(*unverified, self._verified, self._give_up)
        if due == "save" and sidecar is not None:
            return Save(store, sidecar, self.freeze, self.adopt, self._sidecar.fail, self.give_up)
        if due == "build" and self.current is not None:
            buffers = self._buffers
            return Build(store, self.current, lambda postings: self._take_postings(buffers, postings))
        return lambda: False

    def _take_postings(self, buffers: Buffers, postings: PostingsBuffers) -> None:
        """Take over postings that were built, for the next search to complete."""
        with self._lock.hold():
            # A search may have built them meanwhile, and its snapshot points into those.
            if buffers is self._buffers and buffers.postings is None:
                buffers.postings = postings

    def _verified(self, file: _core.ArrayFile, unverified: frozenset[str]) -> bool:
        """Note the columns of a sidecar that are left to verify, and say whether it is still in use."""
        with self._lock.hold():
            known = self._sidecar.coverage
            if known is None or known.file is not file:
                return False
            self._sidecar.coverage = known._replace(unverified=unverified)
            return True

    def _give_up(self, file: _core.ArrayFile) -> None:
        """Begin anew without a sidecar that is damaged."""
        with self._lock.hold():
            known = self._sidecar.coverage
            if known is not None and known.file is file:
                self._reset()
                self._sidecar.give_up()
                self.damaged = True

    def _builds(self, snapshot: Snapshot) -> bool:
        """Say whether full text is built by the search that asks for it, rather than in the background."""
        return not self.mistrusted and len(snapshot.rows) <= BUILT_AT_ONCE

    def _completed(
        self, old: Snapshot | None, read: Reading, now: float, text: bool, terms: bool, space: Space | None
    ) -> Snapshot:
        """Return a snapshot of the generation that is read, with everything that is asked for."""
        snapshot = self._restored(read) if old is None else old
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
        whole = with_postings(snapshot, self._buffers, read)
        if whole is not None:
            return whole
        if not self._has_file:
            self._mistrust()
            return snapshot
        # A file that is wrong in this may be wrong in all: everything is made anew from the store.
        self._reset()
        self._sidecar.give_up()
        return self._completed(None, read, now, text, terms, space)

    def _restored(self, read: Reading) -> Snapshot | None:
        found = self._sidecar.restore(read, self._table)
        if found is None:
            return None
        self._buffers, snapshot = found
        return snapshot

    def _caught_up(self, old: Snapshot | None, read: Reading) -> Snapshot:
        snapshot = None if old is None else caught_up(old, self._buffers, read)
        if snapshot is None:
            self._reset()
            if old is not None and old.writer != read.writer:
                # What was found of a file that was restored since says nothing of this one.
                self.mistrusted = False
            return rebuilt(self._buffers, read)
        if old is not None and old.postings is not None and snapshot.postings is None:
            if self._has_file:
                self._sidecar.give_up()
                self._reset()
                return rebuilt(self._buffers, read)
            self._mistrust()
        return snapshot

    def _mistrust(self) -> None:
        """Have FTS5 answer from now on."""
        self._buffers.postings, self.mistrusted = None, True

    def _reset(self) -> None:
        """Let go of the current snapshot and the arrays behind it."""
        self.current, self._buffers, self._sidecar.coverage = None, Buffers(self._table), None
