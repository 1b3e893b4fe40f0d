"""Snapshot: read-only arrays for searches, derived from a store at one generation.

Every written entry gets a new *slot*; its previous slot dies. Slots are append-only, in buffers shared by successive
snapshots, so the cost of a change is proportional to its size, and searches on older snapshots are unaffected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from septet import _core
from septet.model.arrays import ColumnArrays, Mask, Pieces, Positions, Slots
from septet.sqlite.snapshot.postings import Postings
from septet.system.records import NamedTuple, dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Maximum cached selections per snapshot.
MOST_SELECTIONS = 32
#: The overlay is merged into the sorted arrays if it exceeds this and 1/64 of all rows.
MOST_LATE = 1_024
_NONE: Slots = np.empty(0, dtype=np.int64)


class RowIndex(NamedTuple):
    """The slot of each row ``(r,)``, sorted by row, and an overlay of changed rows ``(c,)``, -1 if deleted.

    A changed row updates the overlay without a copy of the sorted arrays.
    """

    rows: Slots
    slots: Slots
    late_rows: Slots
    late_slots: Slots

    @classmethod
    def of(cls, rows: Slots, alive: Mask) -> RowIndex:
        """Index the rows of live slots, given rows and mask by slot ``(s,)``."""
        slots = np.flatnonzero(alive)
        return cls(*_by_row(rows[slots], slots), _NONE, _NONE)

    def find(self, queried: Slots) -> Slots:
        """Return the slot of each row ``(m,)``, -1 for unknown rows."""
        slots = _find(self.rows, self.slots, queried, -1)
        return _find(self.late_rows, self.late_slots, queried, slots) if len(self.late_rows) else slots

    def moved(self, rows: Slots, slots: Slots) -> RowIndex:
        """Return the index with new slots ``(m,)`` for sorted rows ``(m,)``, -1 for deleted rows."""
        late = _merged((self.late_rows, self.late_slots), (rows, slots))
        if len(late[0]) <= max(MOST_LATE, len(self.rows) // 64):
            return RowIndex(self.rows, self.slots, *late)
        all_rows, all_slots = _merged((self.rows, self.slots), late)
        exists = all_slots >= 0
        return RowIndex(all_rows[exists], all_slots[exists], _NONE, _NONE)


def _find(rows: Slots, slots: Slots, queried: Slots, otherwise: Slots | int) -> Slots:
    if not len(rows):
        return np.full(len(queried), otherwise, dtype=np.int64)
    at = np.minimum(rows.searchsorted(queried), len(rows) - 1)
    values: Slots = np.where(rows[at] == queried, slots[at], otherwise)
    return values


def _merged(old: tuple[Slots, Slots], new: tuple[Slots, Slots]) -> tuple[Slots, Slots]:
    """Merge two sorted lists of rows and slots; a row in both keeps its new slot."""
    (rows, slots), (new_rows, new_slots) = old, new
    if len(rows) and len(new_rows) and new_rows[0] <= rows[-1]:
        # Usually skipped: rows of new entries come after all others.
        unchanged = ~np.isin(rows, new_rows)
        rows, slots = rows[unchanged], slots[unchanged]
    return _by_row(np.concatenate([rows, new_rows]), np.concatenate([slots, new_slots]))


def _by_row(rows: Slots, slots: Slots) -> tuple[Slots, Slots]:
    if (rows[1:] > rows[:-1]).all():
        return rows, slots
    order = np.argsort(rows, kind="stable")
    return rows[order], slots[order]


class VectorRows(NamedTuple):
    """Vectors of one space: unit rows ``(v, d)``, their codes, and the slot of each ``(v,)``, in order of arrival.

    Attributes:
        positions: row of each slot ``(s,)``, -1 without one.
        sample: a sample of the rows of entries.
        keys: sampling keys of the rows ``(v,)``; must be the last field: searches get the others.
    """

    rows: Pieces
    slots: Slots
    codes: _core.Codes
    positions: Positions
    sample: _core.Sample
    keys: NDArray[np.uint32]

    def nearest(self, query: NDArray[np.float32], k: int, allowed: Mask | None) -> tuple[Slots, NDArray[np.float64]]:
        """Return positions and exact dot products of the best ``k`` rows in a mask ``(v,)``; None allows all."""
        return self.codes.top_k(query, self.rows, k, allowed)

    def at(self, slots: Slots) -> Slots:
        """Return the position of each slot's vector ``(m,)``, -1 without one."""
        positions = self.positions[slots].astype(np.int64)
        # Slot -1 stands for a missing entry; as an index it would be the last slot.
        positions[slots < 0] = -1
        return positions

    def unit_rows(self, slots: Slots) -> NDArray[np.float64]:
        """Return the unit vectors of a few slots ``(m, d)``, NaN without one."""
        parts = self.rows if isinstance(self.rows, tuple) else (self.rows,)
        vectors = np.full((len(slots), self.codes.dimensions), np.nan)
        for number, at in enumerate(self.at(slots).tolist()):
            for part in parts:
                if 0 <= at < len(part):
                    vectors[number] = part.read(at, at + 1)[0] if isinstance(part, _core.FileRows) else part[at]
                    break
                at -= len(part)
        return vectors


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Terms:
    """Token counts by slot, and document frequencies over the slots valid at one time.

    Attributes:
        covered: mask of slots in the frequencies ``(s,)``; later slots may be missing.
        at: time of validity, epoch seconds; None after changes of slots.
    """

    index: _core.TermIndex
    frequencies: _core.Frequencies
    covered: Mask
    at: float | None

    def moved(self, covered: Mask, at: float | None) -> Terms:
        """Return the terms with frequencies over another mask of slots, which may be longer."""
        before = np.zeros(len(covered), dtype=bool)
        before[: len(self.covered)] = self.covered
        added, removed = np.flatnonzero(covered & ~before), np.flatnonzero(before & ~covered)
        frequencies = self.frequencies
        if len(added) or len(removed):
            frequencies = frequencies.moved(self.index, added, removed)
        return replace(self, frequencies=frequencies, covered=covered, at=at)


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """One generation of a store as arrays; immutable.

    Attributes:
        generation: generation of the store.
        columns: facts of every entry by slot, read-only arrays ``(s,)``, named in
            `septet.sqlite.snapshot.columns.COLUMNS`.
        names: texts of the numbered columns (kind, severity, domain). Later snapshots share the list and append to it.
        labels: the names in the form that native searches read.
        hidden: number of slots that are dead or not searchable.
        bounded: slots with limited validity, including dead ones ``(b,)``; usually few.
        index: map from rows to slots, updated from the previous snapshot; None to build it on first use.
        terms: token counts, after a search has needed them.
        vectors: vectors by space, after a search has needed them.
        postings: full text, after it was built.
        links: links by row, after a search has followed them.
        selections: cache of `selection`.
        unembedded: cache of `without_vectors`.
        samples: cache of `sample_with_memories`.
        writer: writer of the generation (`SqliteReading.writer`).
        file: sidecar that may back the arrays, kept open after the manager releases it; None without one.
    """

    generation: int
    columns: ColumnArrays
    names: Sequence[str]
    labels: _core.NameTable
    hidden: int
    bounded: Slots
    index: RowIndex | None = None
    terms: Terms | None = None
    vectors: Mapping[int, VectorRows] = field(default_factory=dict)
    postings: Postings | None = None
    links: _core.Links | None = None
    selections: dict[object, _core.Selection] = field(default_factory=dict)
    unembedded: dict[tuple[int, bool], tuple[int, int]] = field(default_factory=dict)
    samples: dict[int, _core.Sample] = field(default_factory=dict)
    writer: str = ""
    file: _core.ArrayFile | None = None

    def check(self) -> None:
        """Raise `Damaged` if the sidecar of these arrays was cut or overwritten since it was opened.

        Call it after reading arrays, before using the values; native calls do so themselves. The manager cannot answer
        this: another thread may have made it release the file.
        """
        if self.file is not None:
            self.file.check()

    @property
    def state(self) -> tuple[int, str]:
        """Generation and writer, which identify a state of the store."""
        return self.generation, self.writer

    # Cached properties: searches read them without a call.

    @cached_property
    def rows(self) -> Slots:
        """The store's row of each slot ``(s,)``."""
        return self.columns["rows"]

    @cached_property
    def alive(self) -> Mask:
        """Mask of slots that are current for their entry ``(s,)``."""
        return self.columns["alive"]

    @cached_property
    def searchable(self) -> Mask:
        """Mask of slots that every search considers, which excludes memories ``(s,)``."""
        return self.columns["searchable"]

    @cached_property
    def memories(self) -> Slots:
        """The slots of memories ``(x,)``."""
        return np.flatnonzero(self.alive & ~self.searchable) if self.hidden else np.empty(0, dtype=np.int64)

    @cached_property
    def sampled(self) -> Mask:
        """Mask of slots in vector samples ``(s,)``: memories must not change the sample of entries."""
        return self.alive & self.searchable if self.samples_entries else self.alive

    @property
    def samples_entries(self) -> bool:
        """True if there are entries, which excludes memories from samples."""
        return self.hidden < len(self.rows)

    @cached_property
    def valid_from(self) -> NDArray[np.float64]:
        """Start of validity, epoch seconds, -inf without a limit ``(s,)``."""
        return self.columns["valid_from"]

    @cached_property
    def valid_until(self) -> NDArray[np.float64]:
        """End of validity, epoch seconds, inf without a limit ``(s,)``."""
        return self.columns["valid_until"]

    def valid(self, now: float) -> Mask:
        """Return the mask of slots that are alive and valid at a time ``(s,)``."""
        return self._at(self.alive, now)

    def _at(self, mask: Mask, now: float) -> Mask:
        """Clear the slots of a mask that are outside their validity."""
        bounded = self.bounded
        if len(bounded):
            mask = mask.copy()
            mask[bounded] &= (self.valid_from[bounded] <= now) & (self.valid_until[bounded] > now)
        return mask

    def selection(
        self,
        now: float | None,
        memories: bool = False,
        key: object = None,
        rows: Callable[[], Sequence[int]] | None = None,
    ) -> _core.Selection | None:
        """Return the slots that a search may return, None for all; cached.

        Args:
            now: time at which entries must be valid, epoch seconds; None allows invalid ones.
            memories: True to include memories.
            key: cache key of the caller's filter.
            rows: returns the store's rows that pass the filter; None without one.
        """
        # The valid entries are the same between two edges.
        edges = None if now is None or not len(self.bounded) else int(np.searchsorted(self._edges, now, "right"))
        if rows is None and edges is None and not self.hidden:
            return None
        selection = self.selections.get((key, edges, memories))
        if selection is None:
            selection = _core.Selection(self.mask(now, memories, rows))
            if len(self.selections) >= MOST_SELECTIONS:
                self.selections.clear()
            self.selections[key, edges, memories] = selection
        return selection

    def mask(self, now: float | None, memories: bool = False, rows: Callable[[], Sequence[int]] | None = None) -> Mask:
        """Return the mask of slots that a search may return ``(s,)``; see `selection`."""
        mask = self.alive if memories else self.alive & self.searchable
        if now is not None:
            mask = self._at(mask, now)
        if rows is None:
            return mask
        passing = np.zeros(len(self.rows), dtype=bool)
        slots = self.slots_of(rows())
        passing[slots[slots >= 0]] = True
        return mask & passing

    def rows_allowed(self, space: int, allowed: Mask | None) -> Mask | None:
        """Return the mask of a space's vectors in allowed slots ``(v,)``; None for all."""
        return None if allowed is None else allowed[self.vectors[space].slots]

    def without_vectors(self, space: int, memories: bool) -> tuple[int, int]:
        """Return the number of entries (with memories if True) without a vector of a space, and their total."""
        counts = self.unembedded.get((space, memories))
        if counts is None:
            if memories or not self.samples_entries:
                counted = self.alive if memories else self.alive & self.searchable
                missing = int(np.count_nonzero(counted & (self.vectors[space].positions < 0)))
                counts = missing, int(np.count_nonzero(counted))
            else:
                total = len(self.rows) - self.hidden
                counts = total - self.vectors[space].sample.population, total
            self.unembedded[space, memories] = counts
        return counts

    def sample_with_memories(self, space: int) -> _core.Sample:
        """Return a sample of the vectors of entries and memories; cached."""
        sample = self.samples.get(space)
        if sample is None:
            rows, slots, *_, keys = self.vectors[space]
            sample = self.samples[space] = _core.Sample(rows, keys, slots, self.alive)
        return sample

    @cached_property
    def corpus(self) -> _core.Corpus:
        """The arrays and indexes in the form of the native search."""
        return self._corpus(self.postings, self.terms)

    @cached_property
    def corpus_with_memories(self) -> _core.Corpus:
        """The corpus with statistics over entries and memories."""
        memories, postings = self.memories, self.postings
        if not len(memories):
            return self.corpus
        text = None if postings is None else postings.with_memories(memories)
        return self._corpus(text, self.terms_with_memories)

    @cached_property
    def terms_with_memories(self) -> Terms | None:
        """The token counts with document frequencies over entries and memories."""
        memories, terms = self.memories, self.terms
        if terms is None or not len(memories):
            return terms
        # Memories in slots added since are excluded, as the frequencies exclude such entries.
        known = memories[memories < len(terms.index)]
        known = known if terms.at is None else known[self.valid(terms.at)[known]]
        return replace(terms, frequencies=terms.frequencies.moved(terms.index, known, known[:0]))

    @cached_property
    def memory_rows(self) -> tuple[_core.Statistics, _core.Statistics] | None:
        """Statistics of memories: of their texts and of their grams; None without postings."""
        return None if self.postings is None else self.postings.of_memories(self.memories)

    def _corpus(self, postings: Postings | None, terms: Terms | None) -> _core.Corpus:
        text: Any = None if postings is None else postings[:-1]
        counts = None if terms is None else (terms.index, terms.frequencies)
        return _core.Corpus(dict(self.columns), self.labels, text=text, terms=counts)

    def slots_of(self, rows: Sequence[int] | Slots) -> Slots:
        """Return the slot of each of the store's rows ``(m,)``, -1 for rows missing in this generation."""
        return self.by_row.find(np.asarray(rows, dtype=np.int64))

    def has_frequencies_at(self, now: float) -> bool:
        """Return True if the document frequencies are those at ``now``: no entry became valid or expired in between."""
        if self.terms is None or self.terms.at is None:
            return False
        low, high = sorted((self.terms.at, now))
        return int(np.searchsorted(self._edges, low, "right")) == int(np.searchsorted(self._edges, high, "right"))

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        bounded = self.bounded[self.alive[self.bounded]]
        edges = np.concatenate([self.valid_from[bounded], self.valid_until[bounded]])
        return np.sort(edges[np.isfinite(edges)])

    @cached_property
    def by_row(self) -> RowIndex:
        """Map from live rows to slots."""
        return RowIndex.of(self.rows, self.alive) if self.index is None else self.index
