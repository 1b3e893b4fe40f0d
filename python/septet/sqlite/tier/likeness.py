"""Similar entries: words and vector of an entry in any store, and nearest entries by words in a local one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from septet._core import Selection
from septet.model.spaces import Space
from septet.sqlite.snapshot.arrays import Slots
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.tables import texts
from septet.store.protocol import Reading
from septet.tiers.protocol import Likeness

#: Preference among an entry's vectors, by state of their space.
ORDER = {"active": 0, "given": 1, "standby": 2, "filling": 3, "left": 4}


def likeness_of(read: Reading, entry_id: str, model: str | None) -> Likeness | None:
    """Return the words and vector of an entry for comparison; None if the store does not contain it."""
    tables = read.tables
    candidate = tables.entries.find(read, [entry_id]).get(entry_id)
    if candidate is None:
        return None
    ids = frozenset([entry_id, *tables.parts.of(read, [entry_id])])
    document = texts.joined((candidate.title, candidate.description, candidate.context))
    space = _space_of(read, candidate.row, model)
    if space is None:
        return Likeness(ids, candidate.text, document, None, None)
    blob = tables.vectors.of_rows(read, space, [candidate.row])[0].vector
    row = np.frombuffer(blob, dtype="<f4").astype(np.float32)
    return Likeness(ids, candidate.text, document, space.model, row)


def _space_of(read: Reading, row: int, model: str | None) -> Space | None:
    """Return the space of the preferred vector of an entry; None without vectors."""
    tables = read.tables
    states = {text.space.space: text.state for text in tables.texts.text_spaces(read)}
    spaces = [
        space
        for space in tables.vectors.all_spaces(read)
        if model in (None, space.model) and tables.vectors.of_rows(read, space, [row])
    ]
    if len(spaces) > 1:
        filled = {space.space: space.entries for space in tables.vectors.spaces(read)}
        spaces.sort(key=lambda s: (ORDER[states.get(s.space, "given")], -filled.get(s.space, 0), s.space))
    return spaces[0] if spaces else None


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
