"""Snapshot: what searches need, as read-only arrays derived from a store at one generation.

Every entry that is written gets a new *slot*; the slot it had before dies. Slots only ever grow, in buffers shared by
successive snapshots, so a change costs what it changes and never disturbs a search that still reads an older snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.sqlite.snapshot.arrays import Mask, Pieces, Positions, Slots
from septet.sqlite.snapshot.columns import ColumnArrays
from septet.sqlite.snapshot.postings import Postings
from septet.sqlite.snapshot.row_index import RowIndex

__all__ = ["Snapshot", "Terms", "VectorRows"]

#: Selections that a snapshot remembers.
MOST_SELECTIONS = 32


class VectorRows(NamedTuple):
    """Vectors of one space: unit rows ``(v, d)``, their codes, and the slot of each ``(v,)``, in order of arrival.

    Attributes:
        positions: the row of each slot ``(s,)``, -1 where it has none.
        sample: some of the rows of entries.
        keys: what rows are sampled by ``(v,)``; the last field, because the others are what searches read.
    """

    rows: Pieces
    slots: Slots
    codes: _core.Codes
    positions: Positions
    sample: _core.Sample
    keys: NDArray[np.uint32]

    def nearest(self, query: NDArray[np.float32], k: int, allowed: Mask | None) -> tuple[Slots, NDArray[np.float64]]:
        """Return the positions and dot products of the best ``k`` rows that are allowed ``(v,)``, exactly.

        None allows all.
        """
        return self.codes.top_k(query, self.rows, k, allowed)

    def at(self, slots: Slots) -> Slots:
        """Return the position of each slot's vector ``(m,)``, -1 where it has none."""
        at = self.positions[slots].astype(np.int64)
        # A slot of -1 is an entry that this generation lacks; as an index it would mean the last.
        at[slots < 0] = -1
        return at

    def unit_rows(self, slots: Slots) -> NDArray[np.float64]:
        """Return the vectors of a few slots, at unit length ``(m, d)``, NaN where there is none."""
        parts = self.rows if isinstance(self.rows, tuple) else (self.rows,)
        found = np.full((len(slots), self.codes.dimensions), np.nan)
        for number, at in enumerate(self.at(slots).tolist()):
            for part in parts:
                if 0 <= at < len(part):
                    found[number] = part.read(at, at + 1)[0] if isinstance(part, _core.FileRows) else part[at]
                    break
                at -= len(part)
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Terms:
    """Token counts by slot, and document frequencies over the slots that were valid at one moment.

    Attributes:
        covered: which slots the frequencies cover ``(s,)``; there may be later ones, whose tokens are not counted yet.
        at: the moment of validity, epoch seconds; None when slots came or died since.
    """

    index: _core.TermIndex
    frequencies: _core.Frequencies
    covered: Mask
    at: float | None

    def moved(self, covered: Mask, at: float | None) -> Terms:
        """Return the frequencies over other slots; those beyond the old mask were not covered."""
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
        generation: of the store.
        columns: the facts about every entry by slot, read-only arrays ``(s,)``;
            `septet.sqlite.snapshot.columns.COLUMNS` names them.
        names: the texts that numbered columns (kind, severity, domain) point into. Later snapshots share it and
            append to it.
        hidden: how many slots are dead or not searchable.
        bounded: the slots whose validity has a limit, dead ones too ``(b,)``; few entries have any.
        index: from rows to slots, moved from the snapshot before; None until it is needed.
        terms: token counts, once a search has needed them.
        vectors: by space, once a search has needed them.
        postings: full text, once it has been built.
        links: who is linked to whom, by row, once a search has walked them.
        labels: the names, as searches read them.
        unembedded: what `without_vectors` found.
        samples: what `sample_with_memories` made.
        selections: which slots pass a filter, kept while searches may ask again.
        writer: who wrote the generation (`Reading.writer`).
        file: the sidecar in which arrays may lie, kept when the manager lets it go; None without one.
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

        Whoever looked at arrays asks this before their values are believed; native calls ask it themselves. The
        manager cannot be asked instead: another thread may have had it let the file go, and use another or none.
        """
        if self.file is not None:
            self.file.check()

    @property
    def state(self) -> tuple[int, str]:
        """Generation and writer, which name a state of the store."""
        return self.generation, self.writer

    # Cached, so that a search reads them without a call.

    @cached_property
    def rows(self) -> Slots:
        """The store's row of each slot ``(s,)``."""
        return self.columns["rows"]

    @cached_property
    def alive(self) -> Mask:
        """Whether the slot is its entry's current one ``(s,)``."""
        return self.columns["alive"]

    @cached_property
    def searchable(self) -> Mask:
        """Whether every search looks at the entry: it is no memory ``(s,)``."""
        return self.columns["searchable"]

    @cached_property
    def memories(self) -> Slots:
        """The slots of memories ``(x,)``."""
        return np.flatnonzero(self.alive & ~self.searchable) if self.hidden else np.empty(0, dtype=np.int64)

    @cached_property
    def sampled(self) -> Mask:
        """Whether vectors are sampled from the slot ``(s,)``: memories must not move what entries are compared with."""
        return self.alive & self.searchable if self.samples_entries else self.alive

    @property
    def samples_entries(self) -> bool:
        """Whether there are entries, so that memories are not sampled."""
        return self.hidden < len(self.rows)

    @cached_property
    def valid_from(self) -> NDArray[np.float64]:
        """From when each entry is valid, epoch seconds, -inf without a limit ``(s,)``."""
        return self.columns["valid_from"]

    @cached_property
    def valid_until(self) -> NDArray[np.float64]:
        """Until when each entry is valid, epoch seconds, inf without a limit ``(s,)``."""
        return self.columns["valid_until"]

    def valid(self, now: float) -> Mask:
        """Return which slots are alive and valid at a moment ``(s,)``."""
        return self._at(self.alive, now)

    def _at(self, mask: Mask, now: float) -> Mask:
        """Return a mask without the slots that are outside their validity."""
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
        """Return which slots a search may return, None when it may return all; remembered while it may be asked again.

        Args:
            now: the moment at which entries must be valid; None allows those outside their validity too.
            memories: allow memories too.
            key: what the filter of the caller is remembered by.
            rows: returns the store's rows that pass it; None without a filter.
        """
        # Between two edges the same entries are valid.
        edges = None if now is None or not len(self.bounded) else int(np.searchsorted(self._edges, now, "right"))
        if rows is None and edges is None and not self.hidden:
            return None
        found = self.selections.get((key, edges, memories))
        if found is None:
            found = _core.Selection(self.mask(now, memories, rows))
            if len(self.selections) >= MOST_SELECTIONS:
                self.selections.clear()
            self.selections[key, edges, memories] = found
        return found

    def mask(self, now: float | None, memories: bool = False, rows: Callable[[], Sequence[int]] | None = None) -> Mask:
        """Return which slots a search may return ``(s,)``; see `selection`."""
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
        """Return which vectors of a space are of allowed slots ``(v,)``; None for all."""
        return None if allowed is None else allowed[self.vectors[space].slots]

    def without_vectors(self, space: int, memories: bool) -> tuple[int, int]:
        """Return how many entries, or entries and memories, have no vector of a space, and how many there are."""
        found = self.unembedded.get((space, memories))
        if found is None:
            if memories or not self.samples_entries:
                counted = self.alive if memories else self.alive & self.searchable
                missing = int(np.count_nonzero(counted & (self.vectors[space].positions < 0)))
                found = missing, int(np.count_nonzero(counted))
            else:
                of = len(self.rows) - self.hidden
                found = of - self.vectors[space].sample.population, of
            self.unembedded[space, memories] = found
        return found

    def sample_with_memories(self, space: int) -> _core.Sample:
        """Return a sample of the vectors of entries and memories."""
        found = self.samples.get(space)
        if found is None:
            rows, slots, *_, keys = self.vectors[space]
            found = self.samples[space] = _core.Sample(rows, keys, slots, self.alive)
        return found

    @cached_property
    def corpus(self) -> _core.Corpus:
        """The arrays and indexes in the form in which they are searched."""
        return self._corpus(self.postings, self.terms)

    @cached_property
    def corpus_with_memories(self) -> _core.Corpus:
        """The same over entries and memories: all its statistics count both."""
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
        # Where slots came since, these count as the entries' frequencies do: as they were.
        known = memories[memories < len(terms.index)]
        known = known if terms.at is None else known[self.valid(terms.at)[known]]
        return replace(terms, frequencies=terms.frequencies.moved(terms.index, known, known[:0]))

    @cached_property
    def memory_rows(self) -> tuple[_core.Statistics, _core.Statistics] | None:
        """The rows of memories, of their texts and of their grams; None without postings."""
        return None if self.postings is None else self.postings.of_memories(self.memories)

    def _corpus(self, postings: Postings | None, terms: Terms | None) -> _core.Corpus:
        text: Any = None if postings is None else postings[:-1]
        counts = None if terms is None else (terms.index, terms.frequencies)
        return _core.Corpus(dict(self.columns), self.labels, text=text, terms=counts)

    def slots_of(self, rows: Sequence[int] | Slots) -> Slots:
        """Return the slot of each of the store's rows ``(m,)``, -1 for rows that this generation lacks."""
        return self.by_row.find(np.asarray(rows, dtype=np.int64))

    def has_frequencies_at(self, now: float) -> bool:
        """Say whether the document frequencies hold at ``now``: no entry became valid or expired in between."""
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
        """The slot of each row that is alive."""
        return RowIndex.of(self.rows, self.alive) if self.index is None else self.index
