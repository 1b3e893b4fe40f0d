"""Write the arrays of a snapshot to a sidecar, and restore them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from septet import _core
from septet.model.arrays import Mask, NameTable
from septet.model.vector import Space
from septet.sqlite.snapshot.columns import Buffers, FactColumn, VectorLayer, facts_of, is_behind
from septet.sqlite.snapshot.postings import Postings, PostingsBuffers
from septet.sqlite.snapshot.sidecar import Stamp
from septet.sqlite.snapshot.snapshot import Snapshot, Terms, VectorRows
from septet.sqlite.store.store import SqliteReading
from septet.sqlite.tables import entries
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Maximum bytes of vectors that are searched in a memory map. In the long run all its pages are resident, shared by
#: processes and reclaimable; rows of more vectors are read past the map, each by a system call.
MAPPED_BYTES = 256 << 20

#: Column of the slots that the document frequencies cover.
TERMS_COVERED = "terms.counted"

#: Columns of `Links`.
LINKS = ("walked.rows", "walked.ends", "walked.lists")


#: Returns the agreement of a space's vectors with words in a snapshot, 0 to 1; None if it cannot be measured.
Measure: TypeAlias = Callable[[Snapshot, Space], "float | None"]


class Checkpoint(NamedTuple):
    """Source of a sidecar: a snapshot, a frozen copy of its indexes, and the measure of its vectors' agreement."""

    snapshot: Snapshot
    table: tuple[FactColumn, ...]
    postings: Postings
    entries: _core.TextIndex
    grams: _core.TextIndex
    spelling: _core.SpellingIndex
    with_grams: Mask
    terms: Terms | None
    layers: tuple[VectorLayer, ...]
    file: _core.ArrayFile | None
    measure: Measure | None

    @property
    def spaces(self) -> tuple[Space, ...]:
        """Spaces with vectors in the checkpoint."""
        return tuple(layer.space._replace(entries=0) for layer in self.layers)

    @classmethod
    def of(
        cls, snapshot: Snapshot, buffers: Buffers, file: _core.ArrayFile | None, measure: Measure | None = None
    ) -> Checkpoint | None:
        """Freeze a snapshot, and its sidecar if any, under the manager's lock; None without postings."""
        postings, indexes = snapshot.postings, buffers.postings
        if postings is None or indexes is None:
            return None
        layers = tuple(buffers.vectors[number] for number in snapshot.vectors)
        frozen = postings.entries.frozen(), postings.grams.frozen(), postings.spelling.frozen()
        terms = snapshot.terms
        terms = None if terms is None else replace(terms, index=terms.index.frozen())
        return cls(snapshot, buffers.table, postings, *frozen, indexes.with_grams.view(), terms, layers, file, measure)

    def is_of(self, buffers: Buffers) -> bool:
        """Return True if the checkpoint was frozen from these buffers, so that slots agree."""
        indexes = buffers.postings
        return (
            indexes is not None
            and indexes.entries is self.postings.entries
            and all(buffers.vectors.get(layer.space.space) is layer for layer in self.layers)
        )

    def is_in(self, stamp: Stamp, file: _core.ArrayFile) -> bool:
        """Return True if a sidecar contains all of this, at the same generation or a later one."""
        needed = {column.name for column in self.table if column.saved}
        if self.terms is not None:
            needed.add(TERMS_COVERED)
        if self.snapshot.links is not None:
            needed.add(LINKS[0])
        is_late = stamp.generation >= self.snapshot.generation
        contained = is_late and set(stamp.spaces) >= set(self.spaces) and needed <= set(file.names())
        return contained and all(_has_lists(file, layer.space) for layer in self.layers if self._lists(layer))

    def _lists(self, layer: VectorLayer) -> int:
        return self.snapshot.vectors[layer.space.space].codes.lists

    def write(self, to: _core.ArrayWriter, step: Callable[[str], None]) -> None:
        """Write every array; ``step`` is called before each."""
        snapshot = self.snapshot
        for name in (column.name for column in self.table if column.saved):
            step(name)
            _put(to, name, snapshot.columns[name])
        step("names")
        # The list only grows: it may contain later names, which this snapshot does not reference.
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
            vectors, prefix = snapshot.vectors[layer.space.space], _prefix(layer.space)
            step(f"{prefix}slots")
            _put(to, f"{prefix}slots", vectors.slots)
            _put(to, f"{prefix}positions", vectors.positions)
            _put(to, f"{prefix}keys", vectors.keys)
            step(f"{prefix}codes")
            to.codes(f"{prefix}codes.", vectors.codes, len(vectors.slots))
            step(f"{prefix}rows")
            layer.write_first(len(vectors.slots), to, f"{prefix}rows")
            if self.measure is not None and (agreement := self.measure(snapshot, layer.space)) is not None:
                _put(to, f"{prefix}agreement", np.array([agreement]))
        if self.file is not None:
            # If the source changed during the copy, the copy must fail its checksum.
            self.file.check()


def restore(
    file: _core.ArrayFile, generation: int, spaces: Sequence[Space], table: Sequence[FactColumn], read: SqliteReading
) -> tuple[Buffers, Snapshot]:
    """Open the arrays of a sidecar in place; missing columns are read from the store.

    Raises:
        ValueError: the arrays are inconsistent, or reference other rows than the written ones.
    """
    for name in ("rows", "alive"):
        # These rows are read from SQLite, and each must exist.
        file.verify(name)
    texts = json.loads(file.column("names").tobytes())
    _check(isinstance(texts, list) and all(isinstance(name, str) for name in texts))
    names = NameTable(texts)
    columns = _columns(file, table, names, read)
    buffers = Buffers(table, columns, names)
    buffers.file = file
    snapshot = buffers.publish(generation)
    buffers.postings = restored_postings(file, columns["alive"] & columns["searchable"])
    vectors = {}
    for space in spaces:
        space_vectors, base = restored_vectors(file, space, snapshot.sampled)
        buffers.vectors[space.space] = VectorLayer.of(space, space_vectors, base)
        vectors[space.space] = space_vectors
    terms = restored_terms(file)
    _check(terms is None or len(terms.covered) <= len(snapshot.rows))
    links = None
    if LINKS[0] in file.names():
        # Missing if no search had followed links.
        arrays = [_get(file, name, dtype) for name, dtype in zip(LINKS, (np.int64, np.int64, np.uint32))]
        links = _core.Links.of_columns(*arrays)
    return buffers, replace(snapshot, vectors=vectors, terms=terms, links=links)


def _columns(
    file: _core.ArrayFile, table: Sequence[FactColumn], names: NameTable, read: SqliteReading
) -> dict[str, NDArray[Any]]:
    """Return every column of the table, from the file if saved there, else from the store."""
    saved = set(file.names())
    rows, alive = _get(file, "rows", np.int64), _flags(file, "alive")
    arrays: dict[str, NDArray[Any]] = {}
    for column in table:
        if column.saved and column.name in saved:
            array = _flags(file, column.name) if column.dtype is np.bool_ else _get(file, column.name, column.dtype)
            _check(len(array) == len(rows) == len(alive))
            _check(not column.numbered or not len(array) or (array.min() >= 0 and array.max() < len(names.names)))
            # Limits of validity may be infinite, timestamps not.
            _check(array.dtype.kind != "f" or not (np.isnan(array) if column.fill else ~np.isfinite(array)).any())
            arrays[column.name] = array
    for column in table:
        if column.name not in arrays:
            # Dead slots are never read: their rows may be deleted.
            array = np.zeros(len(rows), dtype=column.dtype)
            values = entries.facts_at(read, [column.expression], rows[alive].tolist())
            array[alive] = facts_of([column], values, names)[column.name]
            arrays[column.name] = array
    return arrays


def restored_postings(file: _core.ArrayFile, rows: Mask) -> PostingsBuffers:
    """Open the postings of a sidecar, given the mask of slots that are rows of the full-text table ``(s,)``.

    Raises:
        ValueError: the arrays are inconsistent.
    """
    texts, grams = file.text_index("entries."), file.text_index("grams.")
    with_grams = _flags(file, "with_grams")
    spelling, spelling_rows = file.spelling_index("spelling.")
    _check({len(texts), len(grams), len(spelling), len(with_grams)} == {len(rows)})
    entry_rows, gram_rows = file.statistics("entry_rows.", texts), file.statistics("gram_rows.", grams)
    postings = Postings(texts, entry_rows, grams, gram_rows, spelling, spelling_rows, with_grams)
    return PostingsBuffers((postings, rows), with_grams)


def restored_terms(file: _core.ArrayFile) -> Terms | None:
    """Open the token counts of a sidecar; None if it has none, because no search had needed them.

    Raises:
        ValueError: the arrays are inconsistent.
    """
    if TERMS_COVERED not in file.names():
        return None
    covered = _flags(file, TERMS_COVERED)
    index, frequencies = file.term_index("terms.", int(np.count_nonzero(covered)))
    _check(len(index) == len(covered))
    return Terms(index, frequencies, covered, None)


def restored_vectors(file: _core.ArrayFile, space: Space, sampled: Mask) -> tuple[VectorRows, _core.FileRows]:
    """Open the vectors of a space in a sidecar, given the mask of sampled slots ``(s,)``.

    Returns:
        the vectors, and their rows ``(v, d)``.

    Raises:
        ValueError: the arrays are inconsistent.
    """
    prefix, slots = _prefix(space), len(sampled)
    rows = file.rows(f"{prefix}rows", space.dimensions, MAPPED_BYTES)
    codes = file.codes(f"{prefix}codes.")
    vector_slots, positions = _get(file, f"{prefix}slots", np.int64), _get(file, f"{prefix}positions", np.int32)
    keys = _get(file, f"{prefix}keys", np.uint32)
    _check(
        len(vector_slots) == len(rows) == len(codes) == len(keys)
        and codes.dimensions == space.dimensions
        and len(positions) == slots
    )
    _check(not len(vector_slots) or (vector_slots.min() >= 0 and vector_slots.max() < slots))
    # Positions and slots must be inverse to each other.
    _check(
        np.array_equal(positions[vector_slots], np.arange(len(vector_slots), dtype=np.int32))
        and np.count_nonzero(positions != -1) == len(vector_slots)
    )
    no_rows = np.empty((0, space.dimensions), dtype=np.float32)
    sample = _core.Sample((rows, no_rows), keys, vector_slots, sampled)
    if (name := f"{prefix}agreement") in file.names():
        (agreement,) = _get(file, name, np.float64).tolist()
        _check(0 <= agreement <= 1)
        sample.agree(agreement)
    return VectorRows((rows, no_rows), vector_slots, codes, positions, sample, keys), rows


def _has_lists(file: _core.ArrayFile, space: Space) -> bool:
    """Return True if the vectors of a space are in lists that are up to date."""
    if f"{_prefix(space)}codes.lists/rows" not in file.names():
        return False
    try:
        codes = file.codes(f"{_prefix(space)}codes.")
    except (OSError, ValueError):
        return False
    return codes.lists > 0 and not is_behind(codes)


def _prefix(space: Space) -> str:
    return f"space{space.space}."


def _put(to: _core.ArrayWriter, name: str, column: NDArray[Any]) -> None:
    to.column(name, column.dtype.itemsize, [column.reshape(-1).view(np.uint8)])


def _get(file: _core.ArrayFile, name: str, dtype: Any) -> NDArray[Any]:
    return file.column(name).view(dtype)


def _flags(file: _core.ArrayFile, name: str) -> Mask:
    # Normalized: bool bytes other than 0 and 1 are undefined in numpy.
    return np.asarray(file.column(name) != 0, dtype=np.bool_)


def _check(fits: bool) -> None:
    if not fits:
        raise ValueError("the arrays of the sidecar do not fit each other")
