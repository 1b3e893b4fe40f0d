"""What a tier is: a name, a priority, and something that can recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from septet.errors import SeptetError, VectorError
from septet.model.results import Note
from septet.query.plan import Plan
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import Candidate, Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.listing.counting import Counted
    from septet.model.explanation import LegReport
    from septet.query.facets import Faceted
    from septet.query.filters import Filter

__all__ = [
    "Inspected",
    "Likeness",
    "Neighbours",
    "Overrides",
    "Recalled",
    "SearchAgain",
    "Session",
    "Standing",
    "Tier",
    "TierLost",
]


class SearchAgain(Exception):
    """A tier let go of something damaged that the search had used: without it the search has to begin again."""


class TierLost(Exception):
    """A tier that has recalled cannot be asked any more: the search goes on without it.

    Attributes:
        place: of the tier among those that are searched.
        fault: why.
    """

    def __init__(self, place: int, fault: SeptetError) -> None:
        super().__init__(str(fault))
        self.place, self.fault = place, fault


class Recalled(NamedTuple):
    """What one tier found for one query.

    Attributes:
        pool: candidates with the columns that need the corpus; full-text order first, then what vectors added.
        matches: how many entries hold a word of the query and pass the filters, also those that are no candidates.
        with_vectors: whether the query vector was compared with this tier's vectors.
        mismatch: why the query vector could not be compared, when the tier has vectors of other dimensions only.
        memories: matching memories, best first, where the profile fixes their score; others are in the pool.
        counts: how many entries hold each term, when the plan wants scores that compare across tiers.
        more: memories that match and are not in ``matches``.
        guesses: by word of the query that no entry holds, words near it that some do: each with its edits and how many
            entries hold it; only where the plan asks for them.
        whole: how many of the matches hold every word that the plan needs; None where it needs none, or none is said.
        step: of a plan that cascades, the number of the step that has an answer; None where no step has one.
    """

    pool: Pool
    matches: int
    with_vectors: bool
    mismatch: VectorError | None
    memories: Sequence[Candidate]
    counts: TermCounts | None
    notes: Sequence[Note]
    more: int = 0
    guesses: Mapping[str, Sequence[tuple[str, int, int]]] = MappingProxyType({})
    whole: int | None = None
    step: int | None = None


class Standing(NamedTuple):
    """What ranking needs to know of a tier, whatever the query: feedback rows by action, and whether it holds links."""

    feedback: Mapping[str, int]
    linked: bool


class Neighbours(NamedTuple):
    """What is near the anchors over links.

    Attributes:
        known: the steps to each known candidate ``(m,)``, 0 for one that is not near.
        pool: candidates that were not known.
        steps: the steps to them.
    """

    known: Sequence[int]
    pool: Pool
    steps: Sequence[int]


class Overrides(NamedTuple):
    """Ids of lower tiers that a tier holds too (live and valid), and its copies that pass the filters."""

    ids: frozenset[str]
    pool: Pool


class Inspected(NamedTuple):
    """How one entry of a tier fares in a search: the filters it passes and its place in each leg."""

    candidate: Candidate
    filters: Mapping[str, bool]
    legs: Sequence[LegReport]


class Likeness(NamedTuple):
    """What other entries are compared with, where they are to be like one entry.

    Attributes:
        ids: the entry and the parts that it was split into.
        words: what full text sees of it.
        document: what is embedded of it.
        model: whose vector it has; None without one.
        vector: as it is stored ``(d,)``; None without one.
    """

    ids: frozenset[str]
    words: str
    document: str
    model: str | None
    vector: NDArray[np.float32] | None


class Session(Protocol):
    """One search in one tier, for a batch of queries: everything is read at one generation.

    A query is named by its place in the batch.

    Raises:
        SeptetError: from every method, when the tier fails.
        SearchAgain: likewise, when it would not fail another time.
        TierLost: from every method but `recall`, when what it has recalled is of no use any more.
    """

    @property
    def generation(self) -> int:
        """The generation that is read."""

    def recovers(self, fault: Exception) -> bool:
        """Leave out what an error over its candidates came from; say whether the search may begin again without it."""

    def standing(self) -> Standing:
        """Return what ranking needs to know of the tier."""

    def recall(self) -> Sequence[Recalled]:
        """Return the candidates of each query, all of which pass the filters."""

    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of candidates."""

    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of the parents of candidates, their own where they have none."""

    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        """Walk the links from the anchors, positions of known candidates; others come back, if they pass the filters.

        Candidates of other tiers are known by their ids.
        """

    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        """Say which of the ids, found in lower tiers, this tier holds: its copies stand in for theirs."""

    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return whole candidates in the order of the rows."""

    def inspect(self, entry_id: str) -> Inspected | None:
        """Return how an entry fares for the first query, or None when the tier does not hold it."""

    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        """Return for each path into attrs the numbers of candidates ``(m,)``, NaN where there is none."""

    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        """Return path, first and last line, empty and 0 where there is none, and id of candidates."""

    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        """Return the model of the vectors that a query is compared with, and those of candidates at unit length.

        They have the shape ``(m, d)``, NaN where there is none; None stands for no comparison.
        """

    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        """Return what entries like one are compared with, None when the tier does not hold it.

        Args:
            model: whose vector it should be; None for that which searches use.
        """

    def facets(self, query: int, asked: Sequence[Faceted]) -> Sequence[Counted]:
        """Return by values of fields how many entries match a query and pass the filters.

        Where vectors alone are compared, all that pass the filters count.
        """

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        """Say for each filter whether an entry that the plan may find without its own filters passes it."""

    def close(self) -> None:
        """End the search."""


class ServedSession(Session, Protocol):
    """A session of a vault, which remote tiers can be told of too."""

    @property
    def plans(self) -> Sequence[Plan]:
        """The queries."""

    def holds(self, rows: Sequence[int]) -> bool:
        """Say whether there is an entry at each of the rows."""

    def labels(self, rows: Sequence[int]) -> Mapping[str, Sequence[str]]:
        """Return ``kind``, ``severity`` and ``domain`` of candidates."""


class Tier(Protocol):
    """Something that can be searched."""

    @property
    def name(self) -> str:
        """The name a hit carries."""

    @property
    def priority(self) -> float:
        """Of entries with the same id, the one of the tier with the highest priority wins."""

    @property
    def crosses_threads(self) -> bool:
        """Whether a session may be used by one thread after another."""

    def open(self, plans: Sequence[Plan], place: int) -> Session:
        """Begin a search.

        Args:
            plans: one for each query; they differ in query and query vector only.
            place: the tier's place among those that are searched; its candidates carry it.

        Raises:
            SeptetError: the tier fails.
        """


class ServedTier(Tier, Protocol):
    """A tier over a vault, which a server can hold for others."""

    def open(self, plans: Sequence[Plan], place: int) -> ServedSession:
        """Begin a search, as of `Tier`."""
