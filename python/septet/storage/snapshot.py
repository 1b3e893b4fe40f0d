"""Snapshot: read-only arrays derived from a store at one generation, and the keeper that makes the next one.

Every entry that is written gets a fresh *slot*; the slot it had before dies. Slots only ever grow, in buffers shared by
successive snapshots, so a change costs what it changes and never disturbs a search that still reads the older snapshot.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.storage.growing import Growing
from septet.storage.store import Reading
from septet.storage.vectors import Space, key_sql

__all__ = ["Keeper", "Snapshot", "VectorRows"]

Slots = NDArray[np.int64]
Mask = NDArray[np.bool_]

PAGE_ROWS = 5_000
#: A snapshot is rebuilt when more slots than this are dead, and more than half of all.
SPARE_SLOTS = 1_024


@dataclass(frozen=True, slots=True)
class VectorRows:
    """Vectors of one space: unit rows ``(v, d)`` and the slot that each belongs to ``(v,)``."""

    rows: NDArray[np.float32]
    slots: Slots

    def at(self, slots: Slots) -> Slots:
        """Return the position of each slot's vector, -1 where it has none; ``slots`` ascend in ``self.slots``."""
        where = np.searchsorted(self.slots, slots)
        where[where == len(self.slots)] = 0
        found = self.slots[where] == slots if len(self.slots) else np.zeros(len(slots), dtype=bool)
        return np.where(found, where, -1).astype(np.int64)


@dataclass(frozen=True)
class Snapshot:
    """One generation of a store as arrays; immutable.

    Attributes:
        rows: the store's row of each slot ``(s,)``.
        alive: whether the slot is its entry's current one ``(s,)``.
        searchable: whether the entry is of a kind that counts in document frequencies (all but memories) ``(s,)``.
        valid_from, valid_until: epoch seconds, infinite where there is no limit ``(s,)``.
        frequencies: document frequencies over ``counted``, the slots that were valid at ``counted_at``.
    """

    generation: int
    rows: Slots
    alive: Mask
    searchable: Mask
    valid_from: NDArray[np.float64]
    valid_until: NDArray[np.float64]
    terms: _core.TermIndex
    counted: Mask
    counted_at: float
    frequencies: _core.Frequencies
    vectors: dict[int, VectorRows] = field(default_factory=dict)

    def valid(self, now: float) -> Mask:
        """Return which slots are alive and valid at a moment."""
        return self.alive & (self.valid_from <= now) & (self.valid_until > now)

    def slots_of(self, rows: Sequence[int] | Slots) -> Slots:
        """Return the current slot of each of the store's rows, -1 for rows this generation does not hold."""
        wanted = np.asarray(rows, dtype=np.int64)
        known, slots = self._by_row
        if not len(known):
            return np.full(len(wanted), -1, dtype=np.int64)
        where = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[where] == wanted, slots[where], -1).astype(np.int64)

    def counting(self, now: float) -> Snapshot:
        """Return the snapshot with document frequencies over the entries valid at ``now``."""
        if not self.crossed(now):
            return self
        counted = self.valid(now) & self.searchable
        added, removed = np.flatnonzero(counted & ~self.counted), np.flatnonzero(self.counted & ~counted)
        moved = self.frequencies
        if len(added) or len(removed):
            moved = moved.moved(self.terms, added, removed)
        return replace(self, counted=counted, counted_at=now, frequencies=moved)

    def crossed(self, now: float) -> bool:
        """Say whether any entry became valid or expired between the last count and ``now``."""
        low, high = sorted((self.counted_at, now))
        edges = self._edges
        return int(np.searchsorted(edges, low, "right")) != int(np.searchsorted(edges, high, "right"))

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        edges = np.concatenate([self.valid_from[self.alive], self.valid_until[self.alive]])
        return np.sort(edges[np.isfinite(edges)])

    @cached_property
    def _by_row(self) -> tuple[Slots, Slots]:
        slots = np.flatnonzero(self.alive)
        order = np.argsort(self.rows[slots], kind="stable")
        return self.rows[slots][order], slots[order]


class _Buffers:
    """The growing arrays behind successive snapshots; only the keeper appends."""

    def __init__(self) -> None:
        self.rows = Growing(np.int64)
        self.searchable = Growing(np.bool_)
        self.valid_from = Growing(np.float64)
        self.valid_until = Growing(np.float64)
        self.terms = _core.TermIndex()
        self.vectors: dict[int, tuple[Growing, Growing]] = {}

    def append(self, page: Sequence[tuple[Any, ...]]) -> None:
        """Add a slot for every live row of a page of `_ROWS`."""
        self.rows.append(np.array([r[0] for r in page], dtype=np.int64))
        self.searchable.append(np.array([r[2] != "memory" for r in page], dtype=np.bool_))
        self.valid_from.append(np.array([-np.inf if r[3] is None else r[3] for r in page], dtype=np.float64))
        self.valid_until.append(np.array([np.inf if r[4] is None else r[4] for r in page], dtype=np.float64))
        self.terms.append([f"{r[5]} {_tag_words(r[6])}" for r in page])


_ROWS = (
    "SELECT row, live, kind, valid_from, valid_until, title || ' ' || description || ' ' || context, tags FROM entries"
)
# Left to itself SQLite walks the whole table to get the order for nothing.
_CHANGED = f"{_ROWS} INDEXED BY entries_by_generation WHERE generation > ?"
_ALL = f"{_ROWS} ORDER BY row"


class Keeper:
    """Keeps a store's newest snapshot and makes the next one from what changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._newest: Snapshot | None = None
        self._buffers = _Buffers()

    def at(self, read: Reading, now: float) -> Snapshot:
        """Return a snapshot of the generation that a read transaction sees, or of a newer one, counted at ``now``."""
        newest = self._newest
        if newest is None or newest.generation < read.generation or newest.crossed(now):
            with self._lock:
                newest = self._newest
                if newest is None or newest.generation < read.generation:
                    newest = self._caught_up(newest, read, now)
                newest = newest.counting(now)
                self._newest = newest
        return newest

    def with_vectors(self, read: Reading, snapshot: Snapshot, space: Space) -> VectorRows:
        """Return the vectors of a space at the snapshot's generation, loading the space on first use."""
        found = snapshot.vectors.get(space.space)
        if found is not None:
            return found
        with self._lock:
            newest = self._newest
            if newest is None or newest.generation != snapshot.generation:
                # Another thread moved on: load for this search alone.
                return _load(read, snapshot, space, (Growing(np.float32, space.dimensions), Growing(np.int64)))
            if space.space not in newest.vectors:
                pair = self._buffers.vectors.setdefault(
                    space.space, (Growing(np.float32, space.dimensions), Growing(np.int64))
                )
                loaded = _load(read, newest, space, pair)
                self._newest = replace(newest, vectors={**newest.vectors, space.space: loaded})
                return loaded
            return newest.vectors[space.space]

    def _caught_up(self, old: Snapshot | None, read: Reading, now: float) -> Snapshot:
        if old is not None:
            changed = sorted(read.sql.execute(_CHANGED, (old.generation,)))
            dead = int(np.count_nonzero(~old.alive)) + len(changed)
            if dead <= SPARE_SLOTS or dead * 2 <= len(old.rows) + len(changed):
                return self._extended(old, read, changed, now)
        self._buffers = _Buffers()
        cursor = read.sql.execute(_ALL)
        while page := cursor.fetchmany(PAGE_ROWS):
            self._buffers.append([r for r in page if r[1]])
        size = len(self._buffers.rows)
        return self._published(read.generation, np.ones(size, dtype=bool), now, {})

    def _extended(self, old: Snapshot, read: Reading, changed: Sequence[tuple[Any, ...]], now: float) -> Snapshot:
        """Kill the slots of changed rows and give the live ones new slots at the end."""
        gone = old.slots_of([r[0] for r in changed])
        alive = old.alive.copy()
        alive[gone[gone >= 0]] = False
        first = len(self._buffers.rows)
        fresh = [r for r in changed if r[1]]
        self._buffers.append(fresh)
        alive = np.concatenate([alive, np.ones(len(fresh), dtype=bool)])
        vectors = {}
        for space, (rows, slots) in self._buffers.vectors.items():
            _append_vectors(read, space, [r[0] for r in fresh], first, rows, slots)
            vectors[space] = VectorRows(rows.view(), slots.view())
        counted = np.concatenate([old.counted & alive[: len(old.counted)], np.zeros(len(fresh), dtype=bool)])
        lost = np.flatnonzero(old.counted & ~counted[: len(old.counted)])
        frequencies = old.frequencies.moved(self._buffers.terms, np.empty(0, dtype=np.int64), lost)
        return self._published(read.generation, alive, now, vectors, counted, frequencies)

    def _published(
        self,
        generation: int,
        alive: Mask,
        now: float,
        vectors: dict[int, VectorRows],
        counted: Mask | None = None,
        frequencies: _core.Frequencies | None = None,
    ) -> Snapshot:
        """Freeze the buffers as they are now, and count what is valid but not counted yet."""
        b = self._buffers
        snapshot = Snapshot(
            generation=generation,
            rows=b.rows.view(),
            alive=alive,
            searchable=b.searchable.view(),
            valid_from=b.valid_from.view(),
            valid_until=b.valid_until.view(),
            terms=b.terms,
            counted=np.zeros(len(alive), dtype=bool) if counted is None else counted,
            counted_at=now,
            frequencies=b.terms.frequencies(np.empty(0, dtype=np.int64)) if frequencies is None else frequencies,
            vectors=vectors,
        )
        valid = snapshot.valid(now) & snapshot.searchable
        added, removed = np.flatnonzero(valid & ~snapshot.counted), np.flatnonzero(snapshot.counted & ~valid)
        moved = snapshot.frequencies.moved(b.terms, added, removed)
        return replace(snapshot, counted=valid, frequencies=moved)


def _load(read: Reading, snapshot: Snapshot, space: Space, pair: tuple[Growing, Growing]) -> VectorRows:
    """Fill empty buffers with a space's vectors in slot order."""
    rows, slots = pair
    current = np.flatnonzero(snapshot.alive)
    for start in range(0, len(current), PAGE_ROWS):
        part = current[start : start + PAGE_ROWS]
        _append_page(read, space.space, space.keyed_by, snapshot.rows[part], part, rows, slots)
    return VectorRows(rows.view(), slots.view())


def _append_vectors(
    read: Reading, space: int, rows_of: Sequence[int], first_slot: int, rows: Growing, slots: Growing
) -> None:
    keyed_by = read.sql.execute("SELECT keyed_by FROM spaces WHERE space = ?", (space,)).fetchone()[0]
    fresh = np.arange(first_slot, first_slot + len(rows_of), dtype=np.int64)
    _append_page(read, space, keyed_by, np.asarray(rows_of, dtype=np.int64), fresh, rows, slots)


def _append_page(
    read: Reading, space: int, keyed_by: str, rows_of: Slots, at: Slots, rows: Growing, slots: Growing
) -> None:
    sql = (
        "SELECT j.key, v.vector FROM json_each(?) j JOIN entries e ON e.row = j.value "
        f"JOIN vectors v ON v.key = {key_sql(keyed_by)} AND v.space = ? ORDER BY j.key"
    )
    found = read.sql.execute(sql, (json.dumps(rows_of.tolist()), space)).fetchall()
    if found:
        matrix = np.frombuffer(b"".join(blob for _, blob in found), dtype=np.float32).reshape(len(found), -1)
        rows.append(_core.unit_rows(matrix))
        slots.append(at[[position for position, _ in found]])


def _tag_words(tags: str) -> str:
    return tags if "\\" not in tags else " ".join(json.loads(tags))
