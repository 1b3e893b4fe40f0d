"""Space: a model with a dimension; vectors can be compared with those of the same space only."""

from __future__ import annotations

from typing import NamedTuple


class Space(NamedTuple):
    """A model with a dimension, and how many live entries have a vector in it.

    Attributes:
        space: the number of the space in its store.
        keyed_by: what addresses a vector: ``text``, the text alone, or ``entry``, the text of one entry.
        entries: 0 where they were not counted.
    """

    space: int
    model: str
    dimensions: int
    keyed_by: str
    entries: int
