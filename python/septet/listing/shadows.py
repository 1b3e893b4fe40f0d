"""Entries of a listing hidden by copies in listings of higher tiers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from septet.listing.columns import Positions
from septet.model.arrays import Mask

#: Maximum cached pairs of listings.
MOST_PAIRS = 64


class Shadowing(Protocol):
    """A listing as compared with those of other tiers."""

    @property
    def state(self) -> Hashable:
        """The version of the listing: listings of one vault with equal states are equal."""

    @property
    def rows(self) -> NDArray[Any]:
        """The rows of entries ``(n,)``, a new array object after each change."""

    @property
    def known_ids(self) -> NDArray[np.object_]:
        """The id of each entry ``(n,)``; must be loaded already."""

    def valid(self, moment: float) -> Mask:
        """Return the mask of entries valid at a time, in epoch seconds ``(n,)``."""

    def __len__(self) -> int: ...


class ListingMirror(NamedTuple):
    """Ids and validity of the entries of a remote listing, to compare with those of other tiers.

    Attributes:
        state: the version of the listing.
        rows: the row of each entry, ascending; a new array object per state ``(n,)``.
        known_ids: the id of each entry ``(n,)``.
        valid_from, valid_until: epoch seconds ``(n,)``, infinite if not set.
    """

    state: str
    rows: NDArray[np.int64]
    known_ids: NDArray[np.object_]
    valid_from: NDArray[np.float64]
    valid_until: NDArray[np.float64]

    def valid(self, moment: float) -> Mask:
        """Return the mask of entries valid at a time, in epoch seconds ``(n,)``."""
        valid: Mask = (self.valid_from <= moment) & (self.valid_until > moment)
        return valid

    def __len__(self) -> int:
        return len(self.rows)


class _Shared(NamedTuple):
    """The ids that two listings have in common. Holds their rows, so that the ids of these arrays are not reused."""

    low_rows: object
    high_rows: object
    low: Positions
    high: Positions


class Shadows:
    """Caches the entries that two listings share until one of them changes. Thread-safe."""

    def __init__(self) -> None:
        self._shared: dict[tuple[int, int], _Shared] = {}

    def hidden(self, listing: Shadowing, higher: Sequence[Shadowing], as_of: float | None) -> Mask | None:
        """Return the mask of entries whose id a higher listing has ``(n,)``; None without higher ones.

        Args:
            as_of: ignore copies that are not valid at this time; None ignores none.
        """
        if not higher:
            return None
        hidden = np.zeros(len(listing), dtype=bool)
        for above in higher:
            shared = self._share(listing, above)
            hidden[shared.low if as_of is None else shared.low[above.valid(as_of)[shared.high]]] = True
        return hidden

    def _share(self, low: Shadowing, high: Shadowing) -> _Shared:
        key = (id(low.rows), id(high.rows))
        shared = self._shared.pop(key, None)
        if shared is None or shared.low_rows is not low.rows or shared.high_rows is not high.rows:
            at = {entry_id: place for place, entry_id in enumerate(high.known_ids.tolist())}
            pairs = [(place, at[i]) for place, i in enumerate(low.known_ids.tolist()) if i in at]
            both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
            shared = _Shared(low.rows, high.rows, both[:, 0], both[:, 1])
        if len(self._shared) >= MOST_PAIRS:
            self._shared.clear()
        self._shared[key] = shared
        return shared
