"""Snapshot: what searches need, as read-only arrays derived from a store at one generation.

Every entry that is written gets a new *slot*; the slot it had before dies. Slots only ever grow, in buffers shared by
successive snapshots, so a change costs what it changes and never disturbs a search that still reads an older snapshot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.snapshot.arrays import Mask, Pieces, Positions, Slots
from septet.snapshot.columns import ColumnArrays
from septet.snapshot.postings import Postings
from septet.snapshot.row_index import RowIndex

__all__ = ["FactArrays", "Snapshot", "Terms", "VectorRows"]

#: Masks of filters that a snapshot remembers.
MOST_MASKS = 32


class VectorRows(NamedTuple):
    """Vectors of one space: unit rows ``(v, d)``, their codes, and the slot of each ``(v,)``, in order of arrival.

    Attributes:
        positions: the row of each slot ``(s,)``, -1 where it has none.
    """

    rows: Pieces
    slots: Slots
    codes: _core.Codes
    positions: Positions

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


class FactArrays(NamedTuple):
    """What signals read of every entry, by slot ``(s,)``: times in epoch seconds, texts as numbers into ``names``."""

    created_at: NDArray[np.float64]
    updated_at: NDArray[np.float64]
    kind: NDArray[np.int32]
    severity: NDArray[np.int32]
    domain: NDArray[np.int32]
    names: Sequence[str]

    def texts(self, slots: Slots) -> dict[str, list[str]]:
        """Return kind, severity and domain of each slot ``(m,)``."""
        names = self.names
        return {
            "kind": [names[i] for i in self.kind[slots].tolist()],
            "severity": [names[i] for i in self.severity[slots].tolist()],
            "domain": [names[i] for i in self.domain[slots].tolist()],
        }


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot:
    """One generation of a store as arrays; immutable.

    Attributes:
        columns: the facts about every entry by slot, read-only arrays ``(s,)``; `septet.snapshot.columns.COLUMNS` names
            them.
        names: the texts that numbered columns (kind, severity, domain) point into. Later snapshots share it and
            append to it.
        hidden: how many slots are dead or not searchable.
        bounded: the slots whose validity has a limit, dead ones too ``(b,)``; few entries have any.
        index: from rows to slots, moved from the snapshot before; None until it is needed.
        terms: token counts, once a search has needed them.
        vectors: by space, once a search has needed them.
        postings: full text, once it has been built.
        masks: which slots or vectors pass a filter, kept while searches may ask again.
    """

    generation: int
    columns: ColumnArrays
    names: Sequence[str]
    hidden: int
    bounded: Slots
    index: RowIndex | None = None
    terms: Terms | None = None
    vectors: Mapping[int, VectorRows] = field(default_factory=dict)
    postings: Postings | None = None
    masks: dict[object, Mask] = field(default_factory=dict)

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
        """Whether the entry is one that both legs search, which memories are not ``(s,)``."""
        return self.columns["searchable"]

    @cached_property
    def valid_from(self) -> NDArray[np.float64]:
        """From when each entry is valid, epoch seconds, -inf without a limit ``(s,)``."""
        return self.columns["valid_from"]

    @cached_property
    def valid_until(self) -> NDArray[np.float64]:
        """Until when each entry is valid, epoch seconds, inf without a limit ``(s,)``."""
        return self.columns["valid_until"]

    @property
    def facts(self) -> FactArrays:
        """What signals read."""
        columns = {name: self.columns[name] for name in FactArrays._fields if name != "names"}
        return FactArrays(**columns, names=self.names)

    def valid(self, now: float) -> Mask:
        """Return which slots are alive and valid at a moment ``(s,)``."""
        return self._at(self.alive, now)

    def allowed(self, now: float | None) -> Mask | None:
        """Return which slots a search may find ``(s,)``: alive, searchable, valid at a moment; None when all are.

        Args:
            now: None allows those outside their validity too.
        """
        usual = self._usual
        if now is None or not len(self.bounded):
            return usual
        return self._at(self.alive & self.searchable if usual is None else usual, now)

    def _at(self, mask: Mask, now: float) -> Mask:
        """Return a mask without the slots that are outside their validity."""
        bounded = self.bounded
        if len(bounded):
            mask = mask.copy()
            mask[bounded] &= (self.valid_from[bounded] <= now) & (self.valid_until[bounded] > now)
        return mask

    @cached_property
    def _usual(self) -> Mask | None:
        return self.alive & self.searchable if self.hidden else None

    def mask(self, key: object, rows: Callable[[], Sequence[int]]) -> Mask:
        """Return which slots a filter lets pass ``(s,)``, asking for its rows only the first time."""

        def passing() -> Mask:
            found = np.zeros(len(self.rows), dtype=bool)
            slots = self.slots_of(rows())
            found[slots[slots >= 0]] = True
            return found

        return self._remembered(key, passing)

    def rows_allowed(self, space: int, allowed: Mask | None) -> Mask | None:
        """Return which vectors of a space are of allowed slots ``(v,)``; None for all."""
        if allowed is None:
            return None
        slots = self.vectors[space].slots
        if allowed is not self._usual:
            return allowed[slots]
        # Every search without a filter asks for this one.
        return self._remembered(("usual", space), lambda: allowed[slots])

    def _remembered(self, key: object, make: Callable[[], Mask]) -> Mask:
        found = self.masks.get(key)
        if found is None:
            found = make()
            found.flags.writeable = False
            if len(self.masks) >= MOST_MASKS:
                self.masks.clear()
            self.masks[key] = found
        return found

    def times(self, slots: Slots) -> dict[str, NDArray[np.float64]]:
        """Return the four times of each slot ``(m,)``, NaN where the entry has none."""
        if len(self.bounded):
            start, end = self.valid_from[slots], self.valid_until[slots]
            start[start == -np.inf] = np.nan
            end[end == np.inf] = np.nan
        else:
            start = end = np.full(len(slots), np.nan)
        return {
            "created_at": self.columns["created_at"][slots],
            "updated_at": self.columns["updated_at"][slots],
            "valid_from": start,
            "valid_until": end,
        }

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
