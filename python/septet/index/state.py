"""Immutable state of an index, which searches read while the next one is built."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import StoreError
from septet.index.checks import Metric, Rows
from septet.index.names import VectorNames
from septet.model.arrays import AppendBuffer

#: Rows per page when a file is opened or written.
PAGE_ROWS = 8_192
#: Maximum deviation of a stored row's squared length from 1: float32 rounding, with a margin.
UNIT_TOLERANCE = 1e-5
#: Minimum removed vectors before compaction.
LEAST_DEAD = 1_024


class State(NamedTuple):
    """The vectors of an index.

    Attributes:
        metric: comparison of vectors.
        codes: codes of the vectors, possibly followed by later ones.
        base: vectors in a file, if any.
        growing: buffer of the vectors in memory, possibly followed by later ones.
        more: vectors in memory.
        names: ids and removed positions.
    """

    metric: Metric
    codes: _core.Codes
    base: _core.FileRows | None
    growing: AppendBuffer
    more: Rows
    names: VectorNames

    @classmethod
    def empty(cls, metric: Metric, dimensions: int) -> State:
        """Return a state without vectors."""
        growing = AppendBuffer(np.float32, dimensions)
        codes = _core.Codes(dimensions, distances=metric == "l2")
        return cls(metric, codes, None, growing, growing.view(), VectorNames())

    @property
    def n(self) -> int:
        """Number of vectors, including removed ones."""
        return len(self.more) if self.base is None else len(self.base) + len(self.more)

    @property
    def rows(self) -> Rows | tuple[_core.FileRows, Rows]:
        """The vectors in the form of the native search."""
        return self.more if self.base is None else (self.base, self.more)

    def read(self, start: int, stop: int) -> Rows:
        """Return the vectors in ``[start, stop)``; a copy of those in a file."""
        if self.base is None:
            return self.more[start:stop]
        split = len(self.base)
        return np.concatenate(
            [
                self.base.read(min(start, split), min(stop, split)),
                self.more[max(start - split, 0) : max(stop - split, 0)],
            ]
        )

    def read_at(self, positions: NDArray[np.int64]) -> Rows:
        """Return a copy of the vectors at positions."""
        split = 0 if self.base is None else len(self.base)
        rows = np.empty((len(positions), self.codes.dimensions), np.float32)
        late = positions >= split
        rows[late] = self.more[positions[late] - split]
        if self.base is not None:
            for at in np.flatnonzero(~late).tolist():
                row = int(positions[at])
                rows[at] = self.base.read(row, row + 1)[0]
        return rows

    def added(self, rows: Rows, names: VectorNames) -> State:
        """Return the state with vectors appended; only one thread may add to a state."""
        # An addition may have been interrupted after its codes.
        codes = self.codes if len(self.codes) == self.n else self.coded()
        self.growing.cut(len(self.more))
        self.growing.append(rows)
        codes.append(rows)
        return self._replace(codes=codes, more=self.growing.view(), names=names)

    def coded(self, path: str = "the index") -> _core.Codes:
        """Encode all rows.

        Raises:
            StoreError: a row is not finite or, for cosines, not of length 1.
        """
        codes = _core.Codes(self.codes.dimensions, distances=self.metric == "l2")
        for start in range(0, self.n, PAGE_ROWS):
            page = self.read(start, start + PAGE_ROWS)
            if self.metric == "cosine":
                squares = np.einsum("ij,ij->i", page, page)
                # `not <=` rather than `>`: NaN must fail.
                if not (np.abs(squares - 1) <= UNIT_TOLERANCE).all():
                    raise StoreError(f"{path} has vectors whose length is not 1; write it with VectorIndex.save")
            try:
                codes.append(page)
            except ValueError as error:
                raise StoreError(f"{path} has vectors that are not finite; write it with VectorIndex.save") from error
        return codes

    def compacted(self) -> State:
        """Return a state in memory without the removed vectors, if more than half were removed."""
        names = self.names
        if names.dead < LEAST_DEAD or 2 * names.dead <= names.n:
            return self
        positions = names.positions()
        empty = State.empty(self.metric, self.codes.dimensions)
        return empty.added(self.read_at(positions), VectorNames.of(names.at(positions), names.fresh))
