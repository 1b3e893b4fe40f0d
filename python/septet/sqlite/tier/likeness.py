"""Similar entries: words and vector of an entry in any store, and nearest entries by words in a local one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from septet._core import Selection
from septet.model.arrays import Slots
from septet.sqlite.snapshot.snapshot import Snapshot


def cosines_of(snapshot: Snapshot, text: str, slots: Slots, *, memories: bool) -> NDArray[np.float64]:
    """Return the TF-IDF cosines of slots ``(m,)`` with a text, 0 to 1; ``memories`` includes memories in the IDF."""
    terms = snapshot.terms_with_memories if memories else snapshot.terms
    assert terms is not None
    return terms.index.cosines(terms.frequencies, text, slots)


def nearest_by_words(snapshot: Snapshot, text: str, allowed: Selection | None, k: int, *, memories: bool) -> Slots:
    """Return the ``k`` allowed slots with the highest TF-IDF cosines above 0, best first."""
    slots = np.arange(len(snapshot.rows), dtype=np.int64)
    if allowed is not None:
        slots = allowed.allowed(slots)
    return slots[_best(cosines_of(snapshot, text, slots, memories=memories), snapshot.rows[slots], k)]


def _best(values: NDArray[np.float64], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` highest values above 0, best first, ties by row."""
    minimum = np.partition(values, -k)[-k] if len(values) > k else 0.0
    places = np.flatnonzero((values >= minimum) & (values > 0))
    return places[np.lexsort((rows[places], -values[places]))][:k]
