"""What an index holds at one moment: a value that searches read while the next one is made."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import StoreError
from septet.index.checks import Metric, Rows
from septet.index.names import Names
from septet.sqlite.snapshot.append_buffer import AppendBuffer

__all__ = ["PAGE_ROWS", "State"]

#: Rows that are read, checked and encoded at a time when a file is opened or written.
PAGE_ROWS = 8_192
#: How far the squared length of a stored row may be from 1: the rounding of float32, with room to spare.
UNIT_TOLERANCE = 1e-5
#: Fewer removed vectors than this are left where they are.
LEAST_DEAD = 1_024


class State(NamedTuple):
    """The vectors of an index at one moment.

    Attributes:
        metric: what they are compared by.
        codes: codes of them, and maybe of later ones.
        base: those of a file, if any.
        growing: holds those added since, and maybe later ones.
        more: those added since.
        names: their ids, and which of them were removed.
    """

    metric: Metric
    codes: _core.Codes
    base: _core.FileRows | None
    growing: AppendBuffer
    more: Rows
    names: Names

    @classmethod
    def empty(cls, metric: Metric, dimensions: int) -> State:
        """Return a state without vectors."""
        growing = AppendBuffer(np.float32, dimensions)
        codes = _core.Codes(dimensions, distances=metric == "l2")
        return cls(metric, codes, None, growing, growing.view(), Names())

    @property
    def n(self) -> int:
        """The number of vectors, those removed included."""
        return len(self.more) if self.base is None else len(self.base) + len(self.more)

    @property
    def rows(self) -> Rows | tuple[_core.FileRows, Rows]:
        """The vectors as searches take them."""
        return self.more if self.base is None else (self.base, self.more)

    def read(self, start: int, stop: int) -> Rows:
        """Return the vectors from ``start`` on, before ``stop``; of those in a file a copy."""
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

    def added(self, rows: Rows, names: Names) -> State:
        """Return this state with vectors behind the others; only one thread may add to a state."""
        # An addition may have been interrupted behind its codes.
        codes = self.codes if len(self.codes) == self.n else self.coded()
        self.growing.cut(len(self.more))
        self.growing.append(rows)
        codes.append(rows)
        return self._replace(codes=codes, more=self.growing.view(), names=names)

    def coded(self, path: str = "the index") -> _core.Codes:
        """Return new codes of the rows.

        Raises:
            StoreError: a row is not finite or, for cosines, has not length 1.
        """
        codes = _core.Codes(self.codes.dimensions, distances=self.metric == "l2")
        for start in range(0, self.n, PAGE_ROWS):
            page = self.read(start, start + PAGE_ROWS)
            if self.metric == "cosine":
                squares = np.einsum("ij,ij->i", page, page)
                # Not written the other way round: NaN must fail.
                if not (np.abs(squares - 1) <= UNIT_TOLERANCE).all():
                    raise StoreError(f"{path} holds vectors whose length is not 1; write it with VectorIndex.save")
            try:
                codes.append(page)
            except ValueError as error:
                raise StoreError(f"{path} holds vectors that are not finite; write it with VectorIndex.save") from error
        return codes

    def compacted(self) -> State:
        """Return a state with copies of the vectors that are left, in memory, if more than half were removed."""
        names = self.names
        if names.dead < LEAST_DEAD or 2 * names.dead <= names.n:
            return self
        left = names.positions()
        empty = State.empty(self.metric, self.codes.dimensions)
        return empty.added(self.read_at(left), Names.of(names.at(left), names.fresh))
