"""Keeper: holds a store's newest snapshot, and makes the next one from what changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar

import numpy as np

from septet import _core
from septet.errors import SeptetError
from septet.storage.entries import purged_at, texts_at
from septet.storage.forks import background, renew_in_children
from septet.storage.growing import Growing
from septet.storage.layer import VectorLayer
from septet.storage.postings import PostingsBuffers, agrees
from septet.storage.snapshot import FactArrays, Mask, Slots, Snapshot, Terms, VectorRows
from septet.storage.store import Reading, Store
from septet.storage.texts import emptied_at
from septet.storage.vectors import Space

__all__ = ["Keeper"]

PAGE_ROWS = 5_000
#: A snapshot is rebuilt when more slots than this are dead, and more than half of all.
SPARE_SLOTS = 1_024

_Answer = TypeVar("_Answer")

_FACTS = "SELECT row, live, valid_from, valid_until, created_at, updated_at, kind, severity, domain FROM entries"
# Left to itself SQLite walks the whole table to get an order for nothing.
_CHANGED = f"{_FACTS} INDEXED BY entries_by_generation WHERE generation > ?"


@dataclass(slots=True)
class _Buffers:
    """The growing arrays behind successive snapshots; only the keeper appends, under its lock."""

    rows: Growing = field(default_factory=lambda: Growing(np.int64))
    searchable: Growing = field(default_factory=lambda: Growing(np.bool_))
    valid_from: Growing = field(default_factory=lambda: Growing(np.float64))
    valid_until: Growing = field(default_factory=lambda: Growing(np.float64))
    created_at: Growing = field(default_factory=lambda: Growing(np.float64))
    updated_at: Growing = field(default_factory=lambda: Growing(np.float64))
    kind: Growing = field(default_factory=lambda: Growing(np.int32))
    severity: Growing = field(default_factory=lambda: Growing(np.int32))
    domain: Growing = field(default_factory=lambda: Growing(np.int32))
    #: The number of each kind, severity and domain, in order of first sight; and the names by number.
    numbers: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    vectors: dict[int, VectorLayer] = field(default_factory=dict)
    postings: PostingsBuffers | None = None

    def append(self, page: Sequence[tuple[Any, ...]]) -> Slots:
        """Add a slot for every row of a page of `_FACTS` and return the new slots."""
        first = len(self.rows)
        if page:
            rows, _, starts, ends, created, updated, kinds, severities, domains = zip(*page)
            self.rows.append(np.array(rows, dtype=np.int64))
            self.searchable.append(np.array([kind != "memory" for kind in kinds], dtype=np.bool_))
            self.valid_from.append(np.array([-np.inf if t is None else t for t in starts], dtype=np.float64))
            self.valid_until.append(np.array([np.inf if t is None else t for t in ends], dtype=np.float64))
            self.created_at.append(np.array(created, dtype=np.float64))
            self.updated_at.append(np.array(updated, dtype=np.float64))
            for column, names in ((self.kind, kinds), (self.severity, severities), (self.domain, domains)):
                column.append(np.array([self._number(name) for name in names], dtype=np.int32))
        return np.arange(first, len(self.rows), dtype=np.int64)

    def _number(self, name: str) -> int:
        number = self.numbers.get(name)
        if number is None:
            number = self.numbers[name] = len(self.names)
            self.names.append(name)
        return number

    def facts(self) -> FactArrays:
        """Return what was appended so far."""
        return FactArrays(
            created_at=self.created_at.view(),
            updated_at=self.updated_at.view(),
            kind=self.kind.view(),
            severity=self.severity.view(),
            domain=self.domain.view(),
            names=self.names,
        )


class Keeper:
    """Keeps a store's newest snapshot. Token counts and vectors are loaded when a search first needs them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: Snapshot | None = None
        self._buffers = _Buffers()
        self._searches = 0
        self._building = False
        #: A generation, and what was asked of the store at it.
        self._asked: tuple[int, dict[object, Any]] = (-1, {})
        #: Postings were found to differ from FTS5's totals: FTS5 answers from then on.
        self.mistrusted = False
        renew_in_children(self)

    def after_fork(self) -> None:
        """Begin from nothing in a forked child: the thread that builds is not there, and may have held the lock."""
        self._lock = threading.Lock()
        self._newest, self._buffers, self._building = None, _Buffers(), False

    def view(self, read: Reading, now: float, *, terms: bool = False, space: Space | None = None) -> Snapshot | None:
        """Return the snapshot of exactly the generation that a read transaction sees.

        Args:
            now: the moment that document frequencies are counted at.
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
                self._newest, self._buffers = None, _Buffers()
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

    def build_postings(self, store: Store) -> None:
        """Begin to build postings in the background, unless they are there, on their way, or mistrusted.

        The first search of a process does not: a command that asks once has nothing to gain.
        """
        self._searches += 1
        if self._searches < 2 or self._building or self.mistrusted or self._buffers.postings is not None:
            return
        with self._lock:
            if not self._building and self._newest is not None:
                self._building = True
                _Build(self, store, self._buffers, self._newest).begin()

    def _built(self, buffers: _Buffers, postings: PostingsBuffers | None) -> None:
        """Take over what the background built, for the search that comes next to complete."""
        with self._lock:
            self._building = False
            if postings is not None and buffers is self._buffers:
                self._buffers.postings = postings

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
        if newest is None or newest.generation < read.generation:
            newest = self._caught_up(newest, read)
        if terms and not newest.counted_at(now):
            newest = replace(newest, terms=self._counted(newest, read, now))
        if space is not None and space.space not in newest.vectors:
            newest = replace(newest, vectors={**newest.vectors, space.space: self._loaded(newest, read, space)})
        if newest.postings is None and self._buffers.postings is not None:
            newest = self._with_postings(newest, read, self._buffers.postings)
        return newest

    def _with_postings(self, snapshot: Snapshot, read: Reading, buffers: PostingsBuffers) -> Snapshot:
        """Take up postings that the background built: add what came since, and check them against FTS5's totals."""
        rest = snapshot.rows[len(buffers) :]
        buffers.append(read, rest.tolist())
        postings = buffers.counted(snapshot.alive & snapshot.searchable)
        if not agrees(read, postings):
            self._buffers.postings, self.mistrusted = None, True
            return snapshot
        return replace(snapshot, postings=postings)

    def _caught_up(self, old: Snapshot | None, read: Reading) -> Snapshot:
        if old is not None and purged_at(read) <= old.generation:
            changed = sorted(read.sql.execute(_CHANGED, (old.generation,)))
            dead = int(np.count_nonzero(~old.alive)) + len(changed)
            if dead <= SPARE_SLOTS or dead * 2 <= len(old.rows) + len(changed):
                return self._extended(old, read, changed)
        self._buffers = _Buffers()
        cursor = read.sql.execute(f"{_FACTS} WHERE live ORDER BY row")
        while page := cursor.fetchmany(PAGE_ROWS):
            self._buffers.append(page)
        return self._published(read.generation, np.ones(len(self._buffers.rows), dtype=bool))

    def _extended(self, old: Snapshot, read: Reading, changed: Sequence[tuple[Any, ...]]) -> Snapshot:
        """Kill the slots of changed rows and give the live ones new slots at the end, in every layer."""
        gone = old.slots_of([r[0] for r in changed])
        alive = old.alive.copy()
        alive[gone[gone >= 0]] = False
        fresh = self._buffers.append([r for r in changed if r[1]])
        snapshot = self._published(read.generation, np.concatenate([alive, np.ones(len(fresh), dtype=bool)]))
        terms = old.terms
        if terms is not None:
            _append_texts(read, terms.index, snapshot.rows[fresh])
            # What died leaves the frequencies now; what is new is counted when a search asks for its moment.
            still = terms.counted & snapshot.alive[: len(terms.counted)]
            terms = terms.moved(still, None)
        vectors = self._extended_vectors(old, read, snapshot, fresh)
        postings, buffers = old.postings, self._buffers.postings
        if postings is not None and buffers is not None:
            buffers.append(read, snapshot.rows[fresh].tolist())
            postings = postings.moved(buffers, snapshot.searchable, fresh, gone[gone >= 0])
            if not agrees(read, postings):
                postings, self._buffers.postings, self.mistrusted = None, None, True
        return replace(snapshot, terms=terms, vectors=vectors, postings=postings)

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

    def _published(self, generation: int, alive: Mask) -> Snapshot:
        b = self._buffers
        return Snapshot(
            generation=generation,
            rows=b.rows.view(),
            alive=alive,
            searchable=b.searchable.view(),
            valid_from=b.valid_from.view(),
            valid_until=b.valid_until.view(),
            facts=b.facts(),
        )

    def _counted(self, snapshot: Snapshot, read: Reading, now: float) -> Terms:
        """Return document frequencies over the entries valid at ``now``, loading the token counts if need be."""
        terms = snapshot.terms
        if terms is None:
            index = _core.TermIndex()
            for part in _pages(np.flatnonzero(snapshot.alive), index, snapshot):
                _append_texts(read, index, snapshot.rows[part])
            nothing = np.zeros(len(snapshot.rows), dtype=bool)
            terms = Terms(index, index.frequencies(np.empty(0, dtype=np.int64)), nothing, now)
        return terms.moved(snapshot.valid(now) & snapshot.searchable, now)

    def _loaded(self, snapshot: Snapshot, read: Reading, space: Space) -> VectorRows:
        layer = VectorLayer(space)
        current = np.flatnonzero(snapshot.alive)
        layer.append(read, snapshot.rows[current], current)
        self._buffers.vectors[space.space] = layer
        return layer.view(len(snapshot.rows))


@dataclass(frozen=True, slots=True)
class _Build:
    """Postings in the making: one page of slots a task, so that nothing waits long for it, not even the exit."""

    keeper: Keeper
    store: Store
    buffers: _Buffers
    snapshot: Snapshot
    postings: PostingsBuffers = field(default_factory=PostingsBuffers)

    def begin(self) -> None:
        try:
            _background().submit(self._page)
        except RuntimeError:
            # The interpreter is on its way out.
            self.keeper._building = False

    def _page(self) -> None:
        done = len(self.postings)
        rows = self.snapshot.rows[done : done + PAGE_ROWS]
        try:
            if len(rows):
                with background, self.store.reading() as read:
                    self.postings.append(read, rows.tolist())
                self.begin()
            else:
                self.keeper._built(self.buffers, self.postings)
        except (SeptetError, MemoryError):
            # The vault was closed or is out of reach: FTS5 answers, or says why it cannot.
            self.keeper._built(self.buffers, None)


@cache
def _executor(_process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="septet-postings")


def _background() -> ThreadPoolExecutor:
    """Return the one thread that builds postings; after a fork a new one, threads do not survive it."""
    return _executor(os.getpid())


def _pages(alive: Slots, index: _core.TermIndex, snapshot: Snapshot) -> Iterator[Slots]:
    """Yield the live slots page by page, having given every dead slot before them an empty text."""
    for start in range(0, len(alive), PAGE_ROWS):
        page = alive[start : start + PAGE_ROWS]
        # Runs of neighbours, so that the slots of the index stay those of the snapshot.
        for run in np.split(page, np.flatnonzero(np.diff(page) > 1) + 1):
            index.append([""] * (int(run[0]) - len(index)))
            yield run
    index.append([""] * (len(snapshot.rows) - len(index)))


def _append_texts(read: Reading, index: _core.TermIndex, rows: Slots) -> None:
    index.append(texts_at(read, rows.tolist()))
