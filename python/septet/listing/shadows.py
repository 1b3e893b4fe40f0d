"""Which entries of a listing are hidden by copies in listings of higher tiers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from septet.listing.columns import Positions
from septet.sqlite.snapshot.arrays import Mask

__all__ = ["Mirror", "Shadowing", "Shadows"]

#: So many pairs of listings are remembered.
MOST_PAIRS = 64


class Shadowing(Protocol):
    """The entries of a listing as others are compared with them."""

    @property
    def state(self) -> Hashable:
        """Names the state that was read: listings of one vault with equal states are equal."""

    @property
    def rows(self) -> NDArray[Any]:
        """An array ``(n,)`` that is another one after each change."""

    @property
    def known_ids(self) -> NDArray[np.object_]:
        """The id of each entry ``(n,)``."""

    def valid(self, moment: float) -> Mask:
        """Return which entries are valid at a moment ``(n,)``."""

    def __len__(self) -> int: ...


class Mirror(NamedTuple):
    """Ids and validity of the entries of a listing elsewhere, as those of other tiers are compared with them.

    Attributes:
        state: names the state of the listing.
        rows: of each entry, ascending, in an array of its own for each state ``(n,)``.
        known_ids: the id of each entry ``(n,)``.
        valid_from, valid_until: epoch seconds ``(n,)``, infinite where there is no limit.
    """

    state: str
    rows: NDArray[np.int64]
    known_ids: NDArray[np.object_]
    valid_from: NDArray[np.float64]
    valid_until: NDArray[np.float64]

    def valid(self, moment: float) -> Mask:
        """Return which entries are valid at a moment ``(n,)``."""
        found: Mask = (self.valid_from <= moment) & (self.valid_until > moment)
        return found

    def __len__(self) -> int:
        return len(self.rows)


class Shadows:
    """Remembers which entries two listings share, as long as neither changes. Threads may share it."""

    def __init__(self) -> None:
        # The rows of both, which are other arrays after a change: kept, so that no other array takes their place.
        self._shared: dict[tuple[int, int], tuple[object, object, Positions, Positions]] = {}

    def hidden(self, listing: Shadowing, higher: Sequence[Shadowing], as_of: float | None) -> Mask | None:
        """Return the entries whose id a higher listing has ``(n,)``; None for none.

        Both must know their ids.

        Args:
            as_of: a copy counts only if it is valid at this moment; None counts all.
        """
        if not higher:
            return None
        hidden = np.zeros(len(listing), dtype=bool)
        for above in higher:
            own, others = self._of(listing, above)
            hidden[own if as_of is None else own[above.valid(as_of)[others]]] = True
        return hidden

    def _of(self, low: Shadowing, high: Shadowing) -> tuple[Positions, Positions]:
        key = (id(low.rows), id(high.rows))
        known = self._shared.pop(key, None)
        if known is None or known[0] is not low.rows or known[1] is not high.rows:
            at = {entry_id: place for place, entry_id in enumerate(high.known_ids.tolist())}
            pairs = [(place, at[i]) for place, i in enumerate(low.known_ids.tolist()) if i in at]
            both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            known = (low.rows, high.rows, both[:, 0], both[:, 1])
        if len(self._shared) >= MOST_PAIRS:
            self._shared.clear()
        self._shared[key] = known
        return known[2], known[3]
