"""Entries of a tier to compare: words and vector of one, and rows of candidates."""

from __future__ import annotations

import numpy as np

from septet.model.spaces import Space
from septet.store.protocol import Reading
from septet.store.rules import joined
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
    document = joined((candidate.title, candidate.description, candidate.context))
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
