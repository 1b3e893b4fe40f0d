"""What a tier is: a name, a priority, and something that can recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from septet.errors import VectorError
from septet.query.plan import Plan
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import Candidate, Pool
from septet.results import Note

if TYPE_CHECKING:
    from septet.explanation import LegReport

__all__ = ["Inspected", "Neighbours", "Overrides", "Recalled", "Session", "Tier"]


class Recalled(NamedTuple):
    """What one tier found.

    Attributes:
        pool: candidates with the columns that need the corpus; full-text order first, then what vectors added.
        matches: full-text matches seen, exact as long as they are fewer than the guard's threshold.
        with_vectors: whether the query vector was compared with this tier's vectors.
        mismatch: why the query vector could not be compared, when the tier has vectors of other dimensions only.
        memories: matching memories, best first.
        counts: how many entries hold each term, when the plan wants scores that compare across tiers.
    """

    pool: Pool
    matches: int
    with_vectors: bool
    mismatch: VectorError | None
    memories: Sequence[Candidate]
    counts: TermCounts | None
    notes: Sequence[Note]


class Neighbours(NamedTuple):
    """Entries near the anchors over links: the distance of each id, and those that were no candidates yet."""

    distances: Mapping[str, int]
    pool: Pool


class Overrides(NamedTuple):
    """Which of some ids a tier holds (live and valid), and those of them that pass the filters, as candidates."""

    ids: frozenset[str]
    pool: Pool


class Inspected(NamedTuple):
    """How one entry of a tier fares in a search: the filters it passes and its place in each leg."""

    candidate: Candidate
    filters: Mapping[str, bool]
    legs: Sequence[LegReport]


class Session(Protocol):
    """One search in one tier: everything is read at one generation.

    Raises:
        SeptetError: from every method, when the tier fails.
    """

    @property
    def generation(self) -> int:
        """The generation that is read."""

    def feedback(self) -> Mapping[str, int]:
        """Count the feedback rows by action."""

    def recall(self) -> Recalled:
        """Return the candidates for the plan, all of which pass its filters."""

    def linked(self) -> bool:
        """Say whether the tier holds links at all."""

    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of candidates."""

    def neighbours(self, anchors: Sequence[str], known: frozenset[str]) -> Neighbours:
        """Walk the links from the anchors; entries not ``known`` come back as candidates, if they pass the filters."""

    def overrides(self, ids: Sequence[str]) -> Overrides:
        """Say which of the ids, found in lower tiers, this tier holds: its copies stand in for theirs."""

    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return whole candidates in the order of the rows."""

    def inspect(self, entry_id: str) -> Inspected | None:
        """Return how an entry fares, or None when the tier does not hold it."""


class Tier(Protocol):
    """Something that can be searched."""

    @property
    def name(self) -> str:
        """The name a hit carries."""

    @property
    def priority(self) -> float:
        """Of entries with the same id, the one of the tier with the highest priority wins."""

    def open(self, plan: Plan, place: int) -> AbstractContextManager[Session]:
        """Begin a search.

        Args:
            place: the tier's place among those that are asked; its candidates carry it.

        Raises:
            SeptetError: the tier fails.
        """
