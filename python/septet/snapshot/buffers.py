"""The growing arrays behind successive snapshots, and how they go into a sidecar and come out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.snapshot.append_buffer import AppendBuffer
from septet.snapshot.postings import Postings, PostingsBuffers
from septet.snapshot.sidecar import Stamp
from septet.snapshot.snapshot import FactArrays, Mask, Slots, Snapshot, Terms, VectorRows
from septet.snapshot.vector_space import VectorLayer
from septet.spaces import Space

__all__ = ["Buffers", "Kept", "restore", "restored_postings", "restored_terms", "restored_vectors"]

#: Vectors of at most so many bytes are searched where they are mapped. The pages around each row that a search looks at
#: count as memory of the process, and in time they are all; single rows of more are read past the map.
MAPPED_BYTES = 32 << 20

#: Arrays by slot, as a snapshot and a sidecar name them.
_COLUMNS = {
    "rows": np.int64,
    "valid_from": np.float64,
    "valid_until": np.float64,
    "created_at": np.float64,
    "updated_at": np.float64,
    "kind": np.int32,
    "severity": np.int32,
    "domain": np.int32,
}


class Buffers:
    """Arrays by slot; only the manager appends, under its lock."""

    def __init__(self) -> None:
        self.rows = AppendBuffer(np.int64)
        self.alive = AppendBuffer(np.bool_)
        self.dead = 0
        self.searchable = AppendBuffer(np.bool_)
        self.valid_from = AppendBuffer(np.float64)
        self.valid_until = AppendBuffer(np.float64)
        #: Slots with a limit to their validity.
        self.bounded = AppendBuffer(np.int64)
        self.created_at = AppendBuffer(np.float64)
        self.updated_at = AppendBuffer(np.float64)
        self.kind = AppendBuffer(np.int32)
        self.severity = AppendBuffer(np.int32)
        self.domain = AppendBuffer(np.int32)
        #: Every kind, severity and domain by number, in order of first sight; and the numbers.
        self.names: list[str] = []
        self.numbers: dict[str, int] = {}
        self.vectors: dict[int, VectorLayer] = {}
        self.postings: PostingsBuffers | None = None

    def append(self, page: Sequence[tuple[Any, ...]]) -> Slots:
        """Add a slot for every row of a page (see the manager's ``_FACTS``) and return the new slots."""
        first = len(self.rows)
        if page:
            rows, _, starts, ends, created, updated, kinds, severities, domains = zip(*page)
            self.rows.append(np.array(rows, dtype=np.int64))
            self.alive.append(np.ones(len(rows), dtype=np.bool_))
            self.searchable.append(np.array([kind != "memory" for kind in kinds], dtype=np.bool_))
            valid_from = np.array([-np.inf if t is None else t for t in starts], dtype=np.float64)
            valid_until = np.array([np.inf if t is None else t for t in ends], dtype=np.float64)
            self.valid_from.append(valid_from)
            self.valid_until.append(valid_until)
            self.bounded.append(_bounded(valid_from, valid_until) + first)
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

    def kill(self, slots: Slots) -> None:
        """Take note that slots are their entries' no more."""
        if len(slots):
            # A new array, not the old one written to: older snapshots still read that.
            alive = self.alive.view().copy()
            alive[slots] = False
            self.alive = AppendBuffer.of(alive)
            self.dead += len(slots)

    def published(self, generation: int, hidden: int | None = None) -> Snapshot:
        """Return a snapshot of what was appended so far, without vectors and postings.

        Args:
            hidden: how many slots are dead or not searchable, if that is known.
        """
        alive, searchable = self.alive.view(), self.searchable.view()
        return Snapshot(
            generation=generation,
            rows=self.rows.view(),
            alive=alive,
            searchable=searchable,
            hidden=len(alive) - int(np.count_nonzero(alive & searchable)) if hidden is None else hidden,
            valid_from=self.valid_from.view(),
            valid_until=self.valid_until.view(),
            bounded=self.bounded.view(),
            facts=FactArrays(
                created_at=self.created_at.view(),
                updated_at=self.updated_at.view(),
                kind=self.kind.view(),
                severity=self.severity.view(),
                domain=self.domain.view(),
                names=self.names,
            ),
        )


class Kept(NamedTuple):
    """What a sidecar is made of: a snapshot, and the indexes behind it as they were at that view."""

    snapshot: Snapshot
    postings: Postings
    entries: _core.TextIndex
    grams: _core.TextIndex
    spelling: _core.SpellingIndex
    with_grams: Mask
    terms: Terms | None
    layers: tuple[VectorLayer, ...]

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The spaces whose vectors are there."""
        return tuple(layer.space._replace(entries=0) for layer in self.layers)

    @classmethod
    def of(cls, snapshot: Snapshot, buffers: Buffers) -> Kept | None:
        """Hold a snapshot fast, under the manager's lock; None while it has no postings."""
        postings, indexes = snapshot.postings, buffers.postings
        if postings is None or indexes is None:
            return None
        layers = tuple(buffers.vectors[number] for number in snapshot.vectors)
        frozen = postings.entries.frozen(), postings.grams.frozen(), postings.spelling.frozen()
        terms = snapshot.terms
        terms = None if terms is None else replace(terms, index=terms.index.frozen())
        return cls(snapshot, postings, *frozen, indexes.with_grams.view(), terms, layers)

    def is_of(self, buffers: Buffers) -> bool:
        """Say whether these are still the buffers it was made from: slots and rows have the same numbers."""
        indexes = buffers.postings
        return (
            indexes is not None
            and indexes.entries is self.postings.entries
            and all(buffers.vectors.get(layer.space.space) is layer for layer in self.layers)
        )

    def is_in(self, stamp: Stamp, file: _core.ArrayFile) -> bool:
        """Say whether a sidecar holds all of this, or what came of it later."""
        has_terms = self.terms is None or "terms.counted" in file.names()
        return stamp.generation >= self.snapshot.generation and set(stamp.spaces) >= set(self.spaces) and has_terms

    def write(self, to: _core.ArrayWriter, step: Callable[[str], None]) -> None:
        """Write every array; ``step`` is called before each."""
        snapshot = self.snapshot
        for name in (*_COLUMNS, "alive", "searchable"):
            step(name)
            _put(to, name, getattr(snapshot if hasattr(snapshot, name) else snapshot.facts, name))
        step("names")
        # The list only grows; names that came since are in it too, which no slot of this snapshot asks for.
        _put(to, "names", np.frombuffer(json.dumps(list(snapshot.facts.names)).encode(), dtype=np.uint8))
        step("with_grams")
        _put(to, "with_grams", self.with_grams)
        step("entries")
        to.text_index("entries.", self.entries)
        to.statistics("entry_rows.", self.postings.entry_rows)
        step("grams")
        to.text_index("grams.", self.grams)
        to.statistics("gram_rows.", self.postings.gram_rows)
        step("spelling")
        to.spelling_index("spelling.", self.spelling)
        if self.terms is not None:
            step("terms")
            to.term_index("terms.", self.terms.index, self.terms.frequencies)
            step("terms counted")
            _put(to, "terms.counted", self.terms.counted)
        for layer in self.layers:
            found, prefix = snapshot.vectors[layer.space.space], _prefix(layer.space)
            step(f"{prefix}slots")
            _put(to, f"{prefix}slots", found.slots)
            _put(to, f"{prefix}positions", found.positions)
            step(f"{prefix}codes")
            to.codes(f"{prefix}codes.", found.codes, len(found.slots))
            step(f"{prefix}rows")
            to.column(f"{prefix}rows", 4, [_bytes(piece) for piece in layer.first(len(found.slots))])


def restore(file: _core.ArrayFile, generation: int, spaces: Sequence[Space]) -> tuple[Buffers, Snapshot]:
    """Open the arrays of a sidecar where they lie.

    Raises:
        ValueError: they do not fit each other, or name other rows than those that were written.
    """
    for name in ("rows", "alive"):
        # SQLite is asked for these rows, and they are taken for answered one by one.
        file.verify(name)
    columns = {name: AppendBuffer.of(_get(file, name, dtype)) for name, dtype in _COLUMNS.items()}
    names = _names(file)
    alive, searchable = _flags(file, "alive"), _flags(file, "searchable")
    numbers = {name: number for number, name in enumerate(names)}
    buffers = Buffers()
    buffers.alive, buffers.searchable = AppendBuffer.of(alive), AppendBuffer.of(searchable)
    buffers.dead = len(alive) - int(np.count_nonzero(alive))
    buffers.names, buffers.numbers = names, numbers
    for name, column in columns.items():
        setattr(buffers, name, column)
    buffers.bounded = AppendBuffer.of(_bounded(buffers.valid_from.view(), buffers.valid_until.view()))
    slots = len(alive)
    _check({len(searchable), *map(len, columns.values())} == {slots})
    for name in ("kind", "severity", "domain"):
        held = columns[name].view()
        _check(not slots or (held.min() >= 0 and held.max() < len(names)))
    buffers.postings = restored_postings(file, alive & searchable)
    vectors = {}
    for space in spaces:
        found, base = restored_vectors(file, space, slots)
        buffers.vectors[space.space] = VectorLayer.of(space, found, base)
        vectors[space.space] = found
    terms = restored_terms(file)
    _check(terms is None or len(terms.counted) <= slots)
    return buffers, replace(buffers.published(generation), vectors=vectors, terms=terms)


def restored_postings(file: _core.ArrayFile, rows: Mask) -> PostingsBuffers:
    """Open the postings of a sidecar, given which of its slots are rows of the full-text table.

    Raises:
        ValueError: they do not fit each other.
    """
    entries, grams = file.text_index("entries."), file.text_index("grams.")
    with_grams = _flags(file, "with_grams")
    spelling = file.spelling_index("spelling.")
    _check({len(entries), len(grams), len(spelling), len(with_grams)} == {len(rows)})
    counted = file.statistics("entry_rows.", entries), file.statistics("gram_rows.", grams)
    return PostingsBuffers((Postings(entries, counted[0], grams, counted[1], spelling), rows), with_grams)


def restored_terms(file: _core.ArrayFile) -> Terms | None:
    """Open the token counts of a sidecar; None for one that was written when no search had needed them.

    Raises:
        ValueError: they do not fit each other.
    """
    if "terms.counted" not in file.names():
        return None
    counted = _flags(file, "terms.counted")
    index, frequencies = file.term_index("terms.", int(np.count_nonzero(counted)))
    _check(len(index) == len(counted))
    return Terms(index, frequencies, counted, None)


def restored_vectors(file: _core.ArrayFile, space: Space, slots: int) -> tuple[VectorRows, NDArray[np.float32]]:
    """Open the vectors of a space in a sidecar of so many slots; also the rows ``(v, d)`` by themselves.

    Raises:
        ValueError: they do not fit each other.
    """
    prefix = _prefix(space)
    rows = _get(file, f"{prefix}rows", np.float32).reshape(-1, space.dimensions)
    codes = file.codes(f"{prefix}codes.")
    own, positions = _get(file, f"{prefix}slots", np.int64), _get(file, f"{prefix}positions", np.int32)
    _check(len(own) == len(rows) == len(codes) and codes.dimensions == space.dimensions and len(positions) == slots)
    _check(not len(own) or (own.min() >= 0 and own.max() < slots))
    _check(not slots or (positions.min() >= -1 and positions.max() < len(own)))
    read = rows if rows.nbytes <= MAPPED_BYTES else file.rows(f"{prefix}rows", space.dimensions)
    return VectorRows((read, rows[:0]), own, codes, positions), rows


def _bounded(valid_from: NDArray[np.float64], valid_until: NDArray[np.float64]) -> Slots:
    return np.flatnonzero((valid_from != -np.inf) | (valid_until != np.inf))


def _prefix(space: Space) -> str:
    return f"space{space.space}."


def _put(to: _core.ArrayWriter, name: str, column: NDArray[Any]) -> None:
    to.column(name, column.dtype.itemsize, [_bytes(column)])


def _bytes(column: NDArray[Any]) -> NDArray[np.uint8]:
    return column.reshape(-1).view(np.uint8)


def _get(file: _core.ArrayFile, name: str, dtype: Any) -> NDArray[Any]:
    return file.column(name).view(dtype)


def _names(file: _core.ArrayFile) -> list[str]:
    found = json.loads(file.column("names").tobytes())
    _check(isinstance(found, list) and all(isinstance(name, str) for name in found))
    return list(found)


def _flags(file: _core.ArrayFile, name: str) -> Mask:
    # A copy: numpy takes every byte but 0 and 1 for anything.
    return np.asarray(file.column(name) != 0, dtype=np.bool_)


def _check(fits: bool) -> None:
    if not fits:
        raise ValueError("the arrays of the sidecar do not fit each other")
