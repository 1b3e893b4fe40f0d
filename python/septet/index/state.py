"""State of an index: ids, positions and vectors, immutable; searches read it while the next one is built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import StoreError, VectorError
from septet.index.checks import LARGEST_ID, ApproximateNearest, Metric, Rows
from septet.inputs.arguments import shown
from septet.model.arrays import AppendBuffer

#: Maximum ids in an error message.
SHOWN = 3


class VectorNames(NamedTuple):
    """Immutable ids of the vectors of an index by position, including removed ones.

    Attributes:
        n: number of positions.
        stored: the ids, int64 or str objects, possibly followed by later ones; None while ids equal positions.
        alive: False for removed positions, possibly followed by later ones; None while no position is removed.
        dead: number of removed positions.
        fresh: next automatic id.
    """

    n: int = 0
    stored: AppendBuffer | None = None
    alive: AppendBuffer | None = None
    dead: int = 0
    fresh: int = 0

    @classmethod
    def of(cls, ids: NDArray[Any], fresh: int) -> VectorNames:
        """Return names without removed positions."""
        return cls(len(ids), AppendBuffer.of(ids), fresh=fresh)

    @property
    def size(self) -> int:
        """Number of vectors."""
        return self.n - self.dead

    @property
    def kind(self) -> type[int] | type[str] | None:
        """Type of the ids; None if not decided yet."""
        if self.stored is None:
            return int if self.n else None
        return str if self.stored.view().dtype == object else int

    def living(self) -> NDArray[np.bool_]:
        """Return the mask of the live positions ``(n,)``, read-only if one was removed."""
        living: NDArray[np.bool_] = np.ones(self.n, np.bool_) if self.alive is None else self.alive.view()[: self.n]
        return living

    def positions(self) -> NDArray[np.int64]:
        """Return the live positions, ascending."""
        return np.flatnonzero(self.living()) if self.dead else np.arange(self.n)

    def at(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids at positions of any shape."""
        return positions if self.stored is None else self.stored.view()[positions]

    def allowed(self, mask: NDArray[np.bool_] | None, at: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        """Return the mask of positions that a search may return: those in ``mask`` of the live ones, and ``at``."""
        if at is None and not self.dead:
            return mask
        if at is None and mask is None:
            return self.living()
        allowed: NDArray[np.bool_] = self.living().copy()
        if mask is not None:
            allowed[allowed] = mask
        if at is not None:
            selected = np.zeros(self.n, np.bool_)
            selected[at[at >= 0]] = True
            allowed &= selected
        return allowed

    def fresh_ids(self, count: int) -> range:
        """Return ids for new vectors; raise VectorError if they are texts, or the largest integer is used."""
        if self.kind is str:
            raise VectorError("the ids of this index are texts: pass ids")
        if self.fresh + count - 1 > LARGEST_ID:
            raise VectorError(f"the ids of this index have reached {self.fresh - 1:,}: pass ids")
        return range(self.fresh, self.fresh + count)

    def checked(self, ids: Sequence[Any], count: int) -> None:
        """Raise VectorError for ids of new vectors of another number or type, or with repetitions."""
        if len(ids) != count:
            raise VectorError(f"ids has {len(ids):,} ids for {count:,} vectors: wanted one for each")
        if ids and self.kind not in (None, type(ids[0])):
            kinds = {int: "numbers", str: "texts"}
            raise VectorError(f"the ids of this index are {kinds[self.kind or int]}: got {shown(ids[0])}")
        if len(set(ids)) != len(ids):
            duplicate, _ = Counter(ids).most_common(1)[0]
            raise VectorError(f"duplicate id {shown(duplicate)} in ids")

    def added(self, ids: Sequence[Any]) -> VectorNames:
        """Return names with ids appended."""
        n = self.n + len(ids)
        if self.alive is not None:
            # Drop the remains of an interrupted addition.
            self.alive.cut(self.n)
            self.alive.append(np.ones(len(ids), np.bool_))
        if self.stored is None and (not ids or ids == range(self.n, n)):
            return self._replace(n=n, fresh=n)
        stored = self.stored
        if stored is None:
            stored = AppendBuffer(object if isinstance(ids[0], str) else np.int64)
            if self.n:
                stored.append(np.arange(self.n))
        stored.cut(self.n)
        new = np.empty(len(ids), stored.view().dtype)
        new[:] = ids
        stored.append(new)
        fresh = max(self.fresh, max(ids) + 1) if ids and not isinstance(ids[0], str) else self.fresh
        return self._replace(n=n, stored=stored, fresh=fresh)

    def without(self, positions: NDArray[np.int64]) -> VectorNames:
        """Return names with live positions removed."""
        if not len(positions):
            return self
        alive = self.living().copy()
        alive[positions] = False
        return self._replace(alive=AppendBuffer.of(alive), dead=self.dead + len(positions))


class Places:
    """Map from ids to positions, built on first use and updated with the names.

    For one thread at a time. Rebuilt after an interrupted update.
    """

    def __init__(self) -> None:
        self._of: VectorNames | None = None
        self._at: dict[Any, int] = {}

    def find(self, names: VectorNames, ids: Sequence[Any]) -> NDArray[np.int64]:
        """Return the positions of ids, -1 for unknown ids."""
        if not ids or names.kind is not type(ids[0]):
            return np.full(len(ids), -1)
        if names.stored is None:
            at = np.array(ids, np.int64)
            at[(at < 0) | (at >= names.n)] = -1
            if names.alive is not None:
                known = at >= 0
                at[known] = np.where(names.living()[at[known]], at[known], -1)
            return at
        if self._of is not names:
            self._of = None
            positions = names.positions()
            self._at = dict(zip(names.at(positions).tolist(), positions.tolist(), strict=True))
            self._of = names
        return np.array([self._at.get(value, -1) for value in ids], np.int64)

    def moved(self, before: VectorNames, after: VectorNames, removed: Iterable[Any], ids: Sequence[Any]) -> None:
        """Update the map for removed ids and for ids appended after ``before``."""
        if after.stored is None or before.stored is None or self._of is not before:
            self._of = None
            return
        self._of = None
        for value in removed:
            del self._at[value]
        self._at.update(zip(ids, range(before.n, before.n + len(ids)), strict=True))
        self._of = after


def shown_ids(ids: Iterable[Any]) -> str:
    """Return the first ids for an error message."""
    first = list(islice(ids, SHOWN + 1))
    return ", ".join(map(shown, first[:SHOWN])) + (" and others" if len(first) > SHOWN else "")


#: Rows per page when a file is opened or written.
PAGE_ROWS = 8_192
#: Maximum deviation of a stored row's squared length from 1: float32 rounding, with a margin.
UNIT_TOLERANCE = 1e-5
#: Minimum removed vectors before compaction.
LEAST_DEAD = 1_024
#: Vectors added after the lists before these absorb them: at least this number, and this share of all.
LEAST_UNLISTED = 16_384
UNLISTED_SHARE = 32


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
        late = self.more[max(start - split, 0) : max(stop - split, 0)]
        return np.concatenate([self.base.read(min(start, split), min(stop, split)), late])

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

    def probed(
        self, queries: Rows, k: int, recall: float, allowed: NDArray[np.bool_] | None, *, many: bool
    ) -> ApproximateNearest:
        """Search the lists for each query; see `VectorIndex.search`."""
        probes = [self.codes.probe(query, self.rows, k, recall, allowed) for query in queries]
        if not many:
            return ApproximateNearest(self.names.at(probes[0][0]), *probes[0][1:])
        shape = len(probes), len(probes[0][0]) if probes else 0
        positions = np.array([positions for positions, _, _ in probes], np.int64).reshape(shape)
        scores = np.array([scores for _, scores, _ in probes], np.float64).reshape(shape)
        certain = np.array([certain for *_, certain in probes], np.bool_)
        return ApproximateNearest(self.names.at(positions), scores, certain)

    def added(self, rows: Rows, names: VectorNames) -> State:
        """Return the state with vectors appended; only one thread may add to a state."""
        # An addition may have been interrupted after its codes.
        codes = self.codes if len(self.codes) == self.n else self.coded()
        self.growing.cut(len(self.more))
        self.growing.append(rows)
        codes.append(rows)
        after = self._replace(codes=codes, more=self.growing.view(), names=names)
        full = codes.lists and codes.unlisted > max(LEAST_UNLISTED, after.n // UNLISTED_SHARE)
        return after.arranged(absorb=True) if full else after

    def arranged(self, *, absorb: bool, threads: int | None = None) -> State:
        """Return the state with codes in lists; with ``absorb``, existing lists take in the vectors in none."""
        alive = self.names.living() if self.names.dead else None
        return self._replace(codes=self.codes.arranged(self.rows, alive, absorb=absorb, threads=threads))

    def coded(self, path: str = "the index") -> _core.Codes:
        """Encode all rows; raise StoreError for one that is not finite or, for cosines, not of length 1."""
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
        return self if names.dead < LEAST_DEAD or 2 * names.dead <= names.n else self.dense()

    def dense(self) -> State:
        """Return a state in memory without the removed vectors, in lists if this one is."""
        names = self.names
        positions = names.positions()
        empty = State.empty(self.metric, self.codes.dimensions)
        state = empty.added(self.read_at(positions), VectorNames.of(names.at(positions), names.fresh))
        return state.arranged(absorb=False) if self.codes.lists else state
