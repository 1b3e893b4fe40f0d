"""How the arrays of a snapshot go into a sidecar and come out of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.model.spaces import Space
from septet.sqlite.snapshot.arrays import Mask
from septet.sqlite.snapshot.buffers import Buffers
from septet.sqlite.snapshot.columns import Column, NameTable, facts_of
from septet.sqlite.snapshot.postings import Postings, PostingsBuffers
from septet.sqlite.snapshot.sidecar import Stamp
from septet.sqlite.snapshot.snapshot import Snapshot, Terms, VectorRows
from septet.sqlite.snapshot.vector_space import VectorLayer
from septet.sqlite.store.store import Reading
from septet.sqlite.tables import entries

__all__ = ["Checkpoint", "restore", "restored_postings", "restored_terms", "restored_vectors"]

#: Vectors of at most so many bytes are searched where they are mapped. The pages around each row that a search looks at
#: count as memory of the process, and in time they are all; single rows of more are read past the map.
MAPPED_BYTES = 32 << 20

#: Which slots the document frequencies cover, as a sidecar names it.
TERMS_COVERED = "terms.counted"

#: The columns of `Links`, as a sidecar names them.
LINKS = ("walked.rows", "walked.ends", "walked.lists")


class Checkpoint(NamedTuple):
    """What a sidecar is written from: a snapshot, and the indexes behind it, frozen at that moment."""

    snapshot: Snapshot
    table: tuple[Column, ...]
    postings: Postings
    entries: _core.TextIndex
    grams: _core.TextIndex
    spelling: _core.SpellingIndex
    with_grams: Mask
    terms: Terms | None
    layers: tuple[VectorLayer, ...]
    file: _core.ArrayFile | None

    @property
    def spaces(self) -> tuple[Space, ...]:
        """The spaces whose vectors are there."""
        return tuple(layer.space._replace(entries=0) for layer in self.layers)

    @classmethod
    def of(cls, snapshot: Snapshot, buffers: Buffers, file: _core.ArrayFile | None) -> Checkpoint | None:
        """Freeze a snapshot over a sidecar, if any, under the manager's lock; None while it has no postings."""
        postings, indexes = snapshot.postings, buffers.postings
        if postings is None or indexes is None:
            return None
        layers = tuple(buffers.vectors[number] for number in snapshot.vectors)
        frozen = postings.entries.frozen(), postings.grams.frozen(), postings.spelling.frozen()
        terms = snapshot.terms
        terms = None if terms is None else replace(terms, index=terms.index.frozen())
        return cls(snapshot, buffers.table, postings, *frozen, indexes.with_grams.view(), terms, layers, file)

    def is_of(self, buffers: Buffers) -> bool:
        """Say whether these are still the buffers it was frozen from, so that slots mean the same."""
        indexes = buffers.postings
        return (
            indexes is not None
            and indexes.entries is self.postings.entries
            and all(buffers.vectors.get(layer.space.space) is layer for layer in self.layers)
        )

    def is_in(self, stamp: Stamp, file: _core.ArrayFile) -> bool:
        """Say whether a sidecar holds all of this, of the same generation or a later one."""
        needed = {column.name for column in self.table if column.saved}
        if self.terms is not None:
            needed.add(TERMS_COVERED)
        if self.snapshot.links is not None:
            needed.add(LINKS[0])
        is_late = stamp.generation >= self.snapshot.generation
        return is_late and set(stamp.spaces) >= set(self.spaces) and needed <= set(file.names())

    def write(self, to: _core.ArrayWriter, step: Callable[[str], None]) -> None:
        """Write every array; ``step`` is called before each."""
        snapshot = self.snapshot
        for name in (column.name for column in self.table if column.saved):
            step(name)
            _put(to, name, snapshot.columns[name])
        step("names")
        # The list only grows; it may have later names too, which no slot of this snapshot points to.
        _put(to, "names", np.frombuffer(json.dumps(list(snapshot.names)).encode(), dtype=np.uint8))
        step("with_grams")
        _put(to, "with_grams", self.with_grams)
        step("entries")
        to.text_index("entries.", self.entries)
        to.statistics("entry_rows.", self.postings.entry_rows)
        step("grams")
        to.text_index("grams.", self.grams)
        to.statistics("gram_rows.", self.postings.gram_rows)
        step("spelling")
        to.spelling_index("spelling.", self.spelling, self.postings.spelling_rows)
        if self.terms is not None:
            step("terms")
            to.term_index("terms.", self.terms.index, self.terms.frequencies)
            step(TERMS_COVERED)
            _put(to, TERMS_COVERED, self.terms.covered)
        if snapshot.links is not None:
            step("links")
            columns: tuple[NDArray[Any], ...] = snapshot.links.columns()
            for name, column in zip(LINKS, columns):
                _put(to, name, column)
        for layer in self.layers:
            found, prefix = snapshot.vectors[layer.space.space], _prefix(layer.space)
            step(f"{prefix}slots")
            _put(to, f"{prefix}slots", found.slots)
            _put(to, f"{prefix}positions", found.positions)
            _put(to, f"{prefix}keys", found.keys)
            step(f"{prefix}codes")
            to.codes(f"{prefix}codes.", found.codes, len(found.slots))
            step(f"{prefix}rows")
            layer.write_first(len(found.slots), to, f"{prefix}rows")
        if self.file is not None:
            # What was copied out of a file that was changed meanwhile must not get right checksums.
            self.file.check()


def restore(
    file: _core.ArrayFile, generation: int, spaces: Sequence[Space], table: Sequence[Column], read: Reading
) -> tuple[Buffers, Snapshot]:
    """Open the arrays of a sidecar where they lie; columns that it lacks are read from the store.

    Raises:
        ValueError: they do not fit each other, or name other rows than those that were written.
    """
    for name in ("rows", "alive"):
        # SQLite is asked for these rows, and each is expected to be in the answer.
        file.verify(name)
    names = _names(file)
    columns = _columns(file, table, names, read)
    buffers = Buffers(table, columns, names)
    buffers.file = file
    snapshot = buffers.publish(generation)
    buffers.postings = restored_postings(file, columns["alive"] & columns["searchable"])
    vectors = {}
    for space in spaces:
        found, base = restored_vectors(file, space, snapshot.sampled)
        buffers.vectors[space.space] = VectorLayer.of(space, found, base)
        vectors[space.space] = found
    terms = restored_terms(file)
    _check(terms is None or len(terms.covered) <= len(snapshot.rows))
    return buffers, replace(snapshot, vectors=vectors, terms=terms, links=_links(file))


def _columns(
    file: _core.ArrayFile, table: Sequence[Column], names: NameTable, read: Reading
) -> dict[str, NDArray[Any]]:
    """Return every column of the table, from the file or else from the store."""
    there = set(file.names())
    rows, alive = _get(file, "rows", np.int64), _flags(file, "alive")
    found: dict[str, NDArray[Any]] = {}
    for column in table:
        if column.saved and column.name in there:
            own = _flags(file, column.name) if column.dtype is np.bool_ else _get(file, column.name, column.dtype)
            _check(len(own) == len(rows) == len(alive))
            _check(not column.numbered or not len(own) or (own.min() >= 0 and own.max() < len(names.names)))
            # Validity may be without an end; a time at which something was done is a number.
            _check(own.dtype.kind != "f" or not (np.isnan(own) if column.fill else ~np.isfinite(own)).any())
            found[column.name] = own
    for column in table:
        if column.name not in found:
            # Dead slots are never asked for: their rows may be gone.
            own = np.zeros(len(rows), dtype=column.dtype)
            given = entries.facts_at(read, [column.expression], rows[alive].tolist())
            own[alive] = facts_of([column], given, names)[column.name]
            found[column.name] = own
    return found


def restored_postings(file: _core.ArrayFile, rows: Mask) -> PostingsBuffers:
    """Open the postings of a sidecar, given which of its slots are rows of the full-text table.

    Raises:
        ValueError: they do not fit each other.
    """
    texts, grams = file.text_index("entries."), file.text_index("grams.")
    with_grams = _flags(file, "with_grams")
    spelling, spelling_rows = file.spelling_index("spelling.")
    _check({len(texts), len(grams), len(spelling), len(with_grams)} == {len(rows)})
    entry_rows, gram_rows = file.statistics("entry_rows.", texts), file.statistics("gram_rows.", grams)
    postings = Postings(texts, entry_rows, grams, gram_rows, spelling, spelling_rows, with_grams)
    return PostingsBuffers((postings, rows), with_grams)


def restored_terms(file: _core.ArrayFile) -> Terms | None:
    """Open the token counts of a sidecar; None for one that was written when no search had needed them.

    Raises:
        ValueError: they do not fit each other.
    """
    if TERMS_COVERED not in file.names():
        return None
    covered = _flags(file, TERMS_COVERED)
    index, frequencies = file.term_index("terms.", int(np.count_nonzero(covered)))
    _check(len(index) == len(covered))
    return Terms(index, frequencies, covered, None)


def restored_vectors(file: _core.ArrayFile, space: Space, sampled: Mask) -> tuple[VectorRows, _core.FileRows]:
    """Open the vectors of a space in a sidecar, given from which of its slots rows are sampled ``(s,)``.

    Returns:
        the vectors, and the rows ``(v, d)`` by themselves.

    Raises:
        ValueError: they do not fit each other.
    """
    prefix, slots = _prefix(space), len(sampled)
    rows = file.rows(f"{prefix}rows", space.dimensions, MAPPED_BYTES)
    codes = file.codes(f"{prefix}codes.")
    own, positions = _get(file, f"{prefix}slots", np.int64), _get(file, f"{prefix}positions", np.int32)
    keys = _get(file, f"{prefix}keys", np.uint32)
    _check(
        len(own) == len(rows) == len(codes) == len(keys)
        and codes.dimensions == space.dimensions
        and len(positions) == slots
    )
    _check(not len(own) or (own.min() >= 0 and own.max() < slots))
    # Each vector is its slot's, and no slot has another.
    _check(np.array_equal(positions[own], np.arange(len(own))) and np.count_nonzero(positions != -1) == len(own))
    none = np.empty((0, space.dimensions), dtype=np.float32)
    sample = _core.Sample((rows, none), keys, own, sampled)
    return VectorRows((rows, none), own, codes, positions, sample, keys), rows


def _links(file: _core.ArrayFile) -> _core.Links | None:
    """Return the links of a sidecar; None for one that was written when no search had walked them."""
    if LINKS[0] not in file.names():
        return None
    rows, ends, lists = LINKS
    return _core.Links.of_columns(_get(file, rows, np.int64), _get(file, ends, np.int64), _get(file, lists, np.uint32))


def _prefix(space: Space) -> str:
    return f"space{space.space}."


def _put(to: _core.ArrayWriter, name: str, column: NDArray[Any]) -> None:
    to.column(name, column.dtype.itemsize, [_bytes(column)])


def _bytes(column: NDArray[Any]) -> NDArray[np.uint8]:
    return column.reshape(-1).view(np.uint8)


def _get(file: _core.ArrayFile, name: str, dtype: Any) -> NDArray[Any]:
    return file.column(name).view(dtype)


def _names(file: _core.ArrayFile) -> NameTable:
    found = json.loads(file.column("names").tobytes())
    _check(isinstance(found, list) and all(isinstance(name, str) for name in found))
    return NameTable(found)


def _flags(file: _core.ArrayFile, name: str) -> Mask:
    # A copy: numpy takes every byte but 0 and 1 for anything.
    return np.asarray(file.column(name) != 0, dtype=np.bool_)


def _check(fits: bool) -> None:
    if not fits:
        raise ValueError("the arrays of the sidecar do not fit each other")
