"""Protocols of tiers and their sessions, and the values they exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from septet.errors import SeptetError, VectorError
from septet.notes import Note
from septet.query.plan import SearchPlan
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import Candidate, Pool
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.listing.queries import Counted
    from septet.model.explanation import LegReport
    from septet.query.facets import Faceted
    from septet.query.filters import Filter


class SearchAgain(Exception):
    """A tier discarded damaged data that the search had used: restart the search."""


class TierLost(Exception):
    """A tier failed after its candidates were read: continue the search without it.

    Attributes:
        place: place of the tier among the searched ones.
        fault: the error.
    """

    def __init__(self, place: int, fault: SeptetError) -> None:
        super().__init__(str(fault))
        self.place, self.fault = place, fault


class TierCandidates(NamedTuple):
    """Candidates of one tier for one query.

    Attributes:
        pool: candidates with corpus columns, in full-text order, followed by those of the vector leg.
        matches: number of entries that contain a word of the query and pass the filters, including non-candidates.
        with_vectors: True if the query vector was compared with this tier's vectors.
        mismatch: error if the tier only has vectors of other models or dimensions.
        memories: matching memories, best first, if the profile fixes their score; otherwise they are in the pool.
        counts: number of entries with each term, if the plan needs scores comparable between tiers.
        more: number of matching memories not in ``matches``.
        guesses: similar indexed words by unknown word of the query, each with its edits and number of entries, if the
            plan guesses.
        whole: number of matches with every needed word; None if the plan needs none, or it is unknown.
        step: index of the cascade's step with matches; None without one.
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


class TierFacts(NamedTuple):
    """Query-independent facts of a tier: number of feedback rows by action, and True if it has links."""

    feedback: Mapping[str, int]
    linked: bool


class Neighbours(NamedTuple):
    """Neighbours of the anchors over links.

    Attributes:
        known: steps to each known candidate ``(m,)``, 0 if unreached.
        pool: newly reached candidates.
        steps: steps to these.
    """

    known: Sequence[int]
    pool: Pool
    steps: Sequence[int]


class Overrides(NamedTuple):
    """Ids of lower tiers that a tier contains too (live and valid), and its copies that pass the filters."""

    ids: frozenset[str]
    pool: Pool


class Inspected(NamedTuple):
    """Explanation of one entry of a tier: True for the filters it passes, and its place in each leg."""

    candidate: Candidate
    filters: Mapping[str, bool]
    legs: Sequence[LegReport]


class Likeness(NamedTuple):
    """Words and vector of an entry, for the search of similar ones.

    Attributes:
        ids: ids of the entry and of its parts.
        words: its full text.
        document: its embedded text.
        model: model of its vector; None without one.
        vector: stored vector ``(d,)``; None without one.
    """

    ids: frozenset[str]
    words: str
    document: str
    model: str | None
    vector: NDArray[np.float32] | None


class Session(Protocol):
    """A batch of queries in one tier, read at one generation.

    ``query`` is the index of a query in the batch.

    Raises:
        SeptetError: from every method, if the tier fails.
        SearchAgain: from every method, if a retry would succeed.
        TierLost: from every method except `candidates`, if its candidates became unusable.
    """

    @property
    def generation(self) -> int:
        """Generation of the session."""

    def recovers(self, fault: Exception) -> bool:
        """Exclude data that caused an error over the candidates; return True if the search may restart without it."""

    def standing(self) -> TierFacts:
        """Return the query-independent facts of the tier."""

    def candidates(self) -> Sequence[TierCandidates]:
        """Return the candidates of each query, which pass the filters."""

    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of candidates."""

    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of the parents of candidates, or their own ids without one."""

    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        """Follow links from the anchors, positions of known candidates; return others that pass the filters.

        Candidates of other tiers are identified by their ids.
        """

    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        """Return the ids of lower tiers that this tier contains: its copies replace theirs."""

    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Read full candidates in the order of the rows."""

    def inspect(self, entry_id: str) -> Inspected | None:
        """Explain an entry for the first query; None if the tier does not contain it."""

    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        """Return for each path into attrs the numbers of candidates ``(m,)``, NaN if there is none."""

    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        """Return path, first line, last line and id of candidates; missing paths are empty, lines 0."""

    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        """Return the model that a query is compared by, and unit vectors of candidates ``(m, d)``, NaN without one.

        None if no vectors are compared.
        """

    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        """Return the words and vector of an entry; None if the tier does not contain it.

        Args:
            model: model of the vector; None for the model of searches.
        """

    def facets(self, query: int, fields: Sequence[Faceted]) -> Sequence[Counted]:
        """Count the matches of a query that pass the filters, by values of fields.

        In a vector-only search, all entries that pass the filters count.
        """

    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        """Return for each filter True if any entry passes it, ignoring the plan's own filters."""

    def close(self) -> None:
        """End the search."""


class ServedSession(Session, Protocol):
    """A session of a vault that can be served to remote tiers."""

    @property
    def plans(self) -> Sequence[SearchPlan]:
        """The queries."""

    def holds(self, rows: Sequence[int]) -> bool:
        """Return True if every row has an entry."""

    def labels(self, rows: Sequence[int]) -> Mapping[str, Sequence[str]]:
        """Return ``kind``, ``severity`` and ``domain`` of candidates."""


class Tier(Protocol):
    """A searchable store with a name and a priority."""

    @property
    def name(self) -> str:
        """Name of the tier in hits."""

    @property
    def priority(self) -> float:
        """For entries with the same id, the tier with the highest priority wins."""

    @property
    def crosses_threads(self) -> bool:
        """True if sessions may move between threads."""

    def open(self, plans: Sequence[SearchPlan], place: int) -> Session:
        """Open a session.

        Args:
            plans: one for each query; they differ in query and query vector only.
            place: place of the tier among the searched ones, stored in its candidates.

        Raises:
            SeptetError: the tier fails.
        """


class ServedTier(Tier, Protocol):
    """A tier over a vault that a server can serve."""

    def open(self, plans: Sequence[SearchPlan], place: int) -> ServedSession:
        """Open a session (see `Tier`)."""


#: Neighbours per batch, until enough pass the filters.
AT_ONCE = 512


def rows_in(known: Pool, tier: int, rows_of: Callable[[Sequence[str]], Mapping[str, int]]) -> list[int]:
    """Return the row of each candidate ``(m,)`` in a tier; candidates of other tiers are found by id, -1 if missing.

    Args:
        tier: place of the tier.
        rows_of: returns the rows of the tier's entries by id.
    """
    places, ids = known.tiers, known.ids
    if ids is None or places.count(tier) == len(places):
        return known.rows
    others = rows_of([i for i, place in zip(ids, places) if place != tier])
    return [row if place == tier else others.get(i, -1) for row, i, place in zip(known.rows, ids, places)]
