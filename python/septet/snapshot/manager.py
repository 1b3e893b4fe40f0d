"""SnapshotManager: holds a store's newest snapshot, and makes the next one from what changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from septet import _core
from septet.snapshot.buffers import Buffers, Kept, restore, restored_postings, restored_terms, restored_vectors
from septet.snapshot.postings import PostingsBuffers, agrees
from septet.snapshot.sidecar import Sidecar
from septet.snapshot.snapshot import Slots, Snapshot, Terms, VectorRows
from septet.snapshot.vector_space import VectorLayer
from septet.spaces import Space
from septet.storage.forks import renew_in_children
from septet.storage.store import Reading, Store
from septet.storage.tables.entries import purged_at, texts_at
from septet.storage.tables.texts import emptied_at
from septet.storage.tables.vectors import all_spaces

__all__ = ["SnapshotManager"]

PAGE_ROWS = 5_000
#: A snapshot is rebuilt when more slots than this are dead, and more than half of all.
SPARE_SLOTS = 1_024
#: A store with fewer gets no sidecar by itself: its arrays are made as quickly as they are opened.
LEAST_SLOTS = 2_000
PAUSE_S = 0.01

_Answer = TypeVar("_Answer")
#: What the background may have to do; `septet.snapshot.maintenance` says how.
Task: TypeAlias = Literal["build", "check", "save"]

_FACTS = "SELECT row, live, valid_from, valid_until, created_at, updated_at, kind, severity, domain FROM entries"
# Left to itself SQLite walks the whole table to get an order for nothing.
_CHANGED = f"{_FACTS} INDEXED BY entries_by_generation WHERE generation > ?"


class Saved(NamedTuple):
    """What is known of the sidecar behind the arrays.

    Attributes:
        slots: of all arrays but the token counts.
        cut: slots whose token counts are in it.
        spaces: whose vectors are in it.
        unchecked: the columns left to be checked.
    """

    file: _core.ArrayFile | None
    slots: int
    cut: int
    spaces: frozenset[int]
    unchecked: frozenset[str]

    @classmethod
    def of(
        cls, file: _core.ArrayFile | None, snapshot: Snapshot, spaces: Sequence[Space], unchecked: Sequence[str] = ()
    ) -> Saved:
        """Take note of a sidecar that holds a snapshot."""
        cut = 0 if snapshot.terms is None else len(snapshot.terms.counted)
        return cls(file, len(snapshot.rows), cut, frozenset(space.space for space in spaces), frozenset(unchecked))

    def outgrown(self, newest: Snapshot, buffers: Buffers) -> bool:
        """Say whether so much has come that a new one is worth its writing: more than a tenth."""
        enough = max(SPARE_SLOTS, self.slots // 10)
        late = self.file is not None and any(layer.added > enough for layer in buffers.vectors.values())
        cut = 0 if newest.terms is None else len(newest.terms.counted)
        late = late or cut - self.cut > enough
        return len(newest.rows) - self.slots > enough or late or not self.spaces >= newest.vectors.keys()


class SnapshotManager:
    """Keeps a store's newest snapshot. Token counts and vectors are loaded when a search first needs them.

    Args:
        sidecar: where arrays are kept from process to process; None to make them anew in each.
    """

    def __init__(self, sidecar: Sidecar | None = None) -> None:
        self._lock = threading.Lock()
        self._newest: Snapshot | None = None
        self._buffers = Buffers()
        self.sidecar = sidecar
        self._saved: Saved | None = None
        self._searches = 0
        #: A generation, and what was asked of the store at it.
        self._asked: tuple[int, dict[object, Any]] = (-1, {})
        self._working = False
        #: Postings were found to differ from FTS5's totals: FTS5 answers from then on.
        self.mistrusted = False
        #: The content of a sidecar was found to be damaged; it was removed.
        self.damaged = False
        #: Why no sidecar can be written.
        self.unwritable: OSError | ValueError | None = None
        renew_in_children(self)

    def after_fork(self) -> None:
        """Begin from nothing in a forked child: the thread that builds is not there, and may have held the lock."""
        self._lock = threading.Lock()
        self._newest, self._buffers, self._saved, self._working = None, Buffers(), None, False

    def view(self, read: Reading, now: float, *, terms: bool = False, space: Space | None = None) -> Snapshot | None:
        """Return the snapshot of exactly the generation that a read transaction sees.

        Args:
            now: the view that document frequencies are counted at.
            terms: load the token counts.
            space: load the vectors of this space.

        Returns:
            None when another thread has moved on to a newer generation: begin the transaction again.
        """
        newest = self._newest
        if newest is not None and self._serves(newest, read, now, terms, space):
            return newest
        with self._lock:
            newest = self._newest
            if newest is not None and newest.generation > read.generation:
                return None
            try:
                self._newest = self._completed(newest, read, now, terms, space)
            except BaseException:
                # Buffers that were filled half way fit no snapshot: begin from nothing next time.
                self._newest, self._buffers, self._saved = None, Buffers(), None
                raise
            return self._newest

    def remembered(self, read: Reading, key: object, ask: Callable[[], _Answer]) -> _Answer:
        """Return what a question about the store was answered at this generation, asking only the first time."""
        generation, answers = self._asked
        if generation != read.generation:
            answers = {}
            self._asked = (read.generation, answers)
        if key not in answers:
            answers[key] = ask()
        found: _Answer = answers[key]
        return found

    def schedule(self, store: Store) -> None:
        """Have the background do what is due: build postings, check a sidecar's content, write a new one.

        The first search of a process does not: a command that asks once has nothing to gain.
        """
        self._searches += 1
        if self._searches < 2 or self._working or self._due() is None:
            return
        # Not for the first search.
        from septet.snapshot.maintenance import WORK

        with self._lock:
            due = None if self._working else self._due()
            if due is None or self._newest is None:
                return
            self._working = True
            work = WORK[due](self, store, self._buffers, self._newest)
        work.begin()

    def _due(self) -> Task | None:
        newest, saved = self._newest, self._saved
        if newest is None:
            return None
        if self._buffers.postings is None:
            return None if self.mistrusted else "build"
        if saved is not None and saved.unchecked:
            return "check"
        if self.sidecar is None or self.sidecar.read_only or self.unwritable is not None or newest.postings is None:
            return None
        if len(newest.rows) < LEAST_SLOTS and saved is None:
            return None
        return "save" if saved is None or saved.outgrown(newest, self._buffers) else None

    def acquire(self) -> None:
        """Wait until the background has nothing to do, and take its place until `release`."""
        while True:
            with self._lock:
                if not self._working:
                    self._working = True
                    return
            # Parts of its work are short; this is for whoever asked to wait.
            time.sleep(PAUSE_S)

    def release(self) -> None:
        """Say that the background is done."""
        self._working = False

    def build(self, store: Store, snapshot: Snapshot) -> None:
        """Build the postings of a snapshot at once, and wait for it."""
        from septet.snapshot.maintenance import Build

        work = Build(self, store, self._buffers, snapshot)
        while work.part():
            pass

    def built(self, buffers: Buffers, postings: PostingsBuffers) -> None:
        """Take over postings that were built, for the search that comes next to complete."""
        with self._lock:
            if buffers is self._buffers:
                self._buffers.postings = postings

    def kept(self) -> Kept | None:
        """Hold fast what a sidecar is made of; None while there are no postings."""
        with self._lock:
            return None if self._newest is None else Kept.of(self._newest, self._buffers)

    def saved(self, kept: Kept, file: _core.ArrayFile | None) -> None:
        """Go on with the arrays of a sidecar that was written, in place of those in memory.

        Args:
            file: None if there was one as good, or another process writes one.
        """
        with self._lock:
            newest, slots = self._newest, len(kept.snapshot.rows)
            self._saved = Saved.of(file, kept.snapshot, kept.spaces)
            if newest is None or file is None or self._buffers.postings is None or not kept.is_of(self._buffers):
                return
            postings = restored_postings(file, kept.snapshot.alive & kept.snapshot.searchable)
            found = [restored_vectors(file, layer.space, slots) for layer in kept.layers]
            for layer, (rows, base) in zip(kept.layers, found):
                layer.move(rows, base)
            self._buffers.postings = postings
            views = {number: layer.view(len(newest.rows)) for number, layer in self._buffers.vectors.items()}
            terms = newest.terms if kept.terms is None else restored_terms(file)
            self._newest = replace(newest, postings=None, vectors=views, terms=terms)

    @property
    def unchecked(self) -> tuple[_core.ArrayFile, frozenset[str]] | None:
        """The sidecar behind the arrays, and its columns that are left to be checked."""
        saved = self._saved
        return (saved.file, saved.unchecked) if saved is not None and saved.file and saved.unchecked else None

    def checked(self, file: _core.ArrayFile, names: frozenset[str]) -> None:
        """Take note that only these columns of a sidecar are left to be checked."""
        with self._lock:
            if self._saved is not None and self._saved.file is file:
                self._saved = self._saved._replace(unchecked=names)

    def give_up(self, file: _core.ArrayFile) -> None:
        """Begin anew without a sidecar, which is damaged, and remove it."""
        with self._lock:
            if self._saved is None or self._saved.file is not file:
                return
            self._forget_sidecar()

    def _serves(self, newest: Snapshot, read: Reading, now: float, terms: bool, space: Space | None) -> bool:
        return (
            newest.generation == read.generation
            and (not terms or newest.counted_at(now))
            and (space is None or space.space in newest.vectors)
            and (newest.postings is not None or self._buffers.postings is None)
        )

    def _completed(
        self, newest: Snapshot | None, read: Reading, now: float, terms: bool, space: Space | None
    ) -> Snapshot:
        if newest is None:
            newest = self._restored(read)
        if newest is None or newest.generation < read.generation:
            newest = self._caught_up(newest, read)
        if terms and not newest.counted_at(now):
            newest = replace(newest, terms=self._counted(newest, read, now))
        if space is not None and space.space not in newest.vectors:
            newest = replace(newest, vectors={**newest.vectors, space.space: self._loaded(newest, read, space)})
        if newest.postings is None and self._buffers.postings is not None:
            whole = self._with_postings(newest, read, self._buffers.postings)
            if whole is None:
                # A file that is wrong in this may be wrong in all: everything gets another chance, made from the store.
                self._forget_sidecar()
                return self._completed(None, read, now, terms, space)
            newest = whole
        return newest

    def _forget_sidecar(self) -> None:
        self._newest, self._buffers, self._saved, self.damaged = None, Buffers(), None, True
        if self.sidecar is not None:
            self.sidecar.drop()

    def _with_postings(self, snapshot: Snapshot, read: Reading, buffers: PostingsBuffers) -> Snapshot | None:
        """Take up postings that the background built: add what came since, and check them against FTS5's totals.

        Returns:
            None when they differ and lie in a sidecar.
        """
        rest = snapshot.rows[len(buffers) :]
        buffers.append(read, rest.tolist())
        postings = buffers.counted(snapshot.alive & snapshot.searchable)
        if not agrees(read, postings):
            if self._saved is not None and self._saved.file is not None:
                return None
            self._buffers.postings, self.mistrusted = None, True
            return snapshot
        return replace(snapshot, postings=postings)

    def _restored(self, read: Reading) -> Snapshot | None:
        """Return the snapshot that a sidecar holds, of this generation or an earlier one."""
        found = None if self.sidecar is None or self.damaged else self.sidecar.newest(read)
        if found is None:
            return None
        stamp, file = found
        known = {space._replace(entries=0) for space in all_spaces(read)}
        spaces = [space for space in stamp.spaces if space in known]
        try:
            self._buffers, snapshot = restore(file, stamp.generation, spaces)
        except (OSError, ValueError):
            # Its table of contents was whole: it was a sidecar, and is damaged or out of reach now.
            self.damaged = True
            if self.sidecar is not None:
                self.sidecar.drop()
            return None
        self._saved = Saved.of(file, snapshot, spaces, file.names())
        return snapshot

    def _caught_up(self, old: Snapshot | None, read: Reading) -> Snapshot:
        if old is not None and purged_at(read) <= old.generation:
            changed = sorted(read.sql.execute(_CHANGED, (old.generation,)))
            dead = self._buffers.dead + len(changed)
            if dead <= SPARE_SLOTS or dead * 2 <= len(old.rows) + len(changed):
                return self._extended(old, read, changed)
        self._buffers, self._saved = Buffers(), None
        cursor = read.sql.execute(f"{_FACTS} WHERE live ORDER BY row")
        while page := cursor.fetchmany(PAGE_ROWS):
            self._buffers.append(page)
        return self._buffers.published(read.generation)

    def _extended(self, old: Snapshot, read: Reading, changed: Sequence[tuple[Any, ...]]) -> Snapshot:
        """Kill the slots of changed rows and give the live ones new slots at the end, in every layer."""
        buffers = self._buffers
        rows = np.array([r[0] for r in changed], dtype=np.int64)
        gone, fresh = old.slots_of(rows), buffers.append([r for r in changed if r[1]])
        gone = gone[gone >= 0]
        buffers.kill(gone)
        newly = np.count_nonzero(old.searchable[gone]) + np.count_nonzero(~buffers.searchable.view()[fresh])
        snapshot = buffers.published(read.generation, old.hidden + int(newly))
        slots = np.full(len(rows), -1, dtype=np.int64)
        slots[np.array([r[1] for r in changed], dtype=bool)] = fresh
        index = old.by_row.moved(rows, slots)
        # Texts are cut into tokens when a search asks for them: most profiles never do.
        terms = None if old.terms is None else replace(old.terms, at=None)
        vectors = self._extended_vectors(old, read, snapshot, fresh)
        postings, indexes = old.postings, buffers.postings
        if postings is not None and indexes is not None:
            indexes.append(read, snapshot.rows[fresh].tolist())
            postings = postings.moved(indexes, snapshot.searchable, fresh, gone)
            if not agrees(read, postings):
                postings, buffers.postings, self.mistrusted = None, None, True
        return replace(snapshot, index=index, terms=terms, vectors=vectors, postings=postings)

    def _extended_vectors(
        self, old: Snapshot, read: Reading, snapshot: Snapshot, fresh: Slots
    ) -> dict[int, VectorRows]:
        """Give every space that is loaded the vectors of new slots, and those that came after their entries."""
        layers = self._buffers.vectors
        for layer in list(layers.values()):
            if layer.space.keyed_by == "text" and emptied_at(read, layer.space) > old.generation:
                # Its slots hold vectors that are gone: it is loaded anew when it is needed.
                del layers[layer.space.space]
                continue
            layer.append(read, snapshot.rows[fresh], fresh)
            layer.append_late(read, snapshot, old.generation)
        return {number: layer.view(len(snapshot.rows)) for number, layer in layers.items()}

    def _counted(self, snapshot: Snapshot, read: Reading, now: float) -> Terms:
        """Return document frequencies over the entries valid at ``now``, adding the tokens of slots that lack them."""
        terms = snapshot.terms
        if terms is None:
            index = _core.TermIndex()
            terms = Terms(index, index.frequencies(np.empty(0, dtype=np.int64)), np.zeros(0, dtype=bool), None)
        _append_texts(read, terms.index, snapshot)
        return terms.moved(snapshot.valid(now) & snapshot.searchable, now)

    def _loaded(self, snapshot: Snapshot, read: Reading, space: Space) -> VectorRows:
        layer = VectorLayer(space)
        current = np.flatnonzero(snapshot.alive)
        layer.append(read, snapshot.rows[current], current)
        self._buffers.vectors[space.space] = layer
        return layer.view(len(snapshot.rows))


def _append_texts(read: Reading, index: _core.TermIndex, snapshot: Snapshot) -> None:
    """Add the tokens of the slots that lie behind those of the index; dead ones get an empty text."""
    alive = np.flatnonzero(snapshot.alive)
    alive = alive[alive >= len(index)]
    for start in range(0, len(alive), PAGE_ROWS):
        page = alive[start : start + PAGE_ROWS]
        # Runs of neighbours, so that the slots of the index stay those of the snapshot.
        for run in np.split(page, np.flatnonzero(np.diff(page) > 1) + 1):
            index.append([""] * (int(run[0]) - len(index)))
            index.append(texts_at(read, snapshot.rows[run].tolist()))
    index.append([""] * (len(snapshot.rows) - len(index)))
