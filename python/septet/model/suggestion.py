"""Suggestions: the relation of a new entry to the stored ones."""

from __future__ import annotations

from typing import Literal

from septet.system.records import NamedTuple


class Suggestion(NamedTuple):
    """The answer of `add` and `remember` with ``on_similar="suggest"``, which store nothing.

    Attributes:
        verdict: ``new``; ``same``, as the other entry in other words; ``changes`` it, with another value; or
            ``contradicts`` it, by a denial.
        id: the id that the entry would have.
        other: the id of the other entry; None for ``new``.
        probability: the probability of the verdict, 0 to 1.
        reason: a short clause, such as ``8080 → 9090``.
    """

    verdict: Literal["new", "same", "changes", "contradicts"]
    id: str
    other: str | None
    probability: float
    reason: str
