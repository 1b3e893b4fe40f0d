"""The ids of an index: which vector has which, which are there, and where each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet.errors import VectorError
from septet.index.checks import LARGEST_ID
from septet.inputs.arguments import shown
from septet.sqlite.snapshot.append_buffer import AppendBuffer

__all__ = ["Names", "Places", "shown_ids"]

#: How many ids an error shows.
SHOWN = 3


class Names(NamedTuple):
    """The ids of the vectors of an index at one moment, by position, those of removed ones included.

    Attributes:
        n: how many positions there are.
        held: the ids, int64 or str objects, and maybe later ones; None while the id of a vector is its position.
        alive: False where a vector was removed; later positions are alive.
        dead: how many were removed.
        fresh: the next id that is given automatically.
    """

    n: int = 0
    held: AppendBuffer | None = None
    alive: NDArray[np.bool_] | None = None
    dead: int = 0
    fresh: int = 0

    @classmethod
    def of(cls, ids: NDArray[Any], fresh: int) -> Names:
        """Return names of vectors that are all there."""
        return cls(len(ids), AppendBuffer.of(ids), fresh=fresh)

    @property
    def size(self) -> int:
        """How many vectors are there."""
        return self.n - self.dead

    @property
    def kind(self) -> type[int] | type[str] | None:
        """The type of the ids; None while any may come."""
        if self.held is None:
            return int if self.n else None
        return str if self.held.view().dtype == object else int

    def living(self) -> NDArray[np.bool_]:
        """Return which positions are alive ``(n,)``, as an array of the caller's own."""
        living = np.ones(self.n, np.bool_)
        if self.alive is not None:
            living[: len(self.alive)] = self.alive
        return living

    def positions(self) -> NDArray[np.int64]:
        """Return the positions that are alive, ascending."""
        return np.flatnonzero(self.living()) if self.dead else np.arange(self.n)

    def at(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return the ids at positions of any shape."""
        return positions if self.held is None else self.held.view()[positions]

    def allowed(self, mask: NDArray[np.bool_] | None, at: NDArray[np.int64] | None) -> NDArray[np.bool_] | None:
        """Return which positions a search may return; None for all.

        Args:
            mask: of the vectors that are there, in order.
            at: positions; -1 is none.
        """
        if at is None and not self.dead:
            return mask
        allowed = self.living()
        if mask is not None:
            allowed[allowed] = mask
        if at is not None:
            chosen = np.zeros(self.n, np.bool_)
            chosen[at[at >= 0]] = True
            allowed &= chosen
        return allowed

    def fresh_ids(self, count: int) -> range:
        """Return ids for new vectors.

        Raises:
            VectorError: the ids are texts, or there are no larger numbers.
        """
        if self.kind is str:
            raise VectorError("the ids of this index are texts: give ids too")
        if self.fresh + count - 1 > LARGEST_ID:
            raise VectorError(f"the ids of this index have reached {self.fresh - 1:,}: give ids too")
        return range(self.fresh, self.fresh + count)

    def checked(self, ids: Sequence[Any], count: int) -> None:
        """Check ids for new vectors.

        Raises:
            VectorError: another number of ids than of vectors, ids that are equal, or of the other kind.
        """
        if len(ids) != count:
            raise VectorError(f"ids has {len(ids):,} ids for {count:,} vectors: wanted one for each")
        if ids and self.kind not in (None, type(ids[0])):
            kinds = {int: "numbers", str: "texts"}
            raise VectorError(f"the ids of this index are {kinds[self.kind or int]}: got {shown(ids[0])}")
        if len(set(ids)) != len(ids):
            twice, _ = Counter(ids).most_common(1)[0]
            raise VectorError(f"ids has {shown(twice)} twice: wanted each once")

    def added(self, ids: Sequence[Any]) -> Names:
        """Return these and those of vectors behind them."""
        n = self.n + len(ids)
        if self.held is None and (not ids or ids == range(self.n, n)):
            return self._replace(n=n, fresh=n)
        held = self.held
        if held is None:
            held = AppendBuffer(object if isinstance(ids[0], str) else np.int64)
            if self.n:
                held.append(np.arange(self.n))
        # What an interrupted addition left behind.
        held.cut(self.n)
        new = np.empty(len(ids), held.view().dtype)
        new[:] = ids
        held.append(new)
        fresh = max(self.fresh, max(ids) + 1) if ids and not isinstance(ids[0], str) else self.fresh
        return self._replace(n=n, held=held, fresh=fresh)

    def without(self, positions: NDArray[np.int64]) -> Names:
        """Return those that are left without some that are alive."""
        if not len(positions):
            return self
        alive = self.living()
        alive[positions] = False
        return self._replace(alive=alive, dead=self.dead + len(positions))


class Places:
    """Where each id is: made from names when it is first asked, and kept while they change.

    Used by one thread at a time. What an interrupt leaves half changed is made anew.
    """

    def __init__(self) -> None:
        self._of: Names | None = None
        self._at: dict[Any, int] = {}

    def find(self, names: Names, ids: Sequence[Any]) -> NDArray[np.int64]:
        """Return the positions of ids, -1 for one that is not there."""
        if not ids or names.kind is not type(ids[0]):
            return np.full(len(ids), -1)
        if names.held is None:
            at = np.array(ids, np.int64)
            at[(at < 0) | (at >= names.n)] = -1
            if names.alive is not None:
                known = (at >= 0) & (at < len(names.alive))
                at[known] = np.where(names.alive[at[known]], at[known], -1)
            return at
        places = self._all(names)
        return np.array([places.get(one, -1) for one in ids], np.int64)

    def moved(self, before: Names, after: Names, gone: Iterable[Any], ids: Sequence[Any]) -> None:
        """Learn that ids are gone, and that others are at the positions behind those before."""
        if after.held is None or before.held is None or self._of is not before:
            self._of = None
            return
        self._of = None
        for one in gone:
            del self._at[one]
        self._at.update(zip(ids, range(before.n, before.n + len(ids)), strict=True))
        self._of = after

    def _all(self, names: Names) -> dict[Any, int]:
        if self._of is not names:
            self._of = None
            positions = names.positions()
            self._at = dict(zip(names.at(positions).tolist(), positions.tolist(), strict=True))
            self._of = names
        return self._at


def shown_ids(ids: Iterable[Any]) -> str:
    """Return what an error shows of ids."""
    first = list(islice(ids, SHOWN + 1))
    return ", ".join(map(shown, first[:SHOWN])) + (" and others" if len(first) > SHOWN else "")
