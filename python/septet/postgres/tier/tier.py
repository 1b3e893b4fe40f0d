"""A tier over a vault on PostgreSQL, and its sessions: one search each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import StoreBusy, Unreachable
from septet.notes import Note
from septet.postgres.store.faults import AGAIN, again, of_worker
from septet.postgres.tables.candidates import passing_among, passing_rows, valid_ids
from septet.postgres.tables.links import edges
from septet.postgres.tier.phrases import MOST_ENTRIES
from septet.postgres.tier.spaces import SpaceCache
from septet.postgres.tier.view import PostgresView, asking_of
from septet.postgres.tier.vocabulary import words_near
from septet.ranking.pool import EMPTY, Candidate, Pool, numbers_of
from septet.tiers.protocol import (
    AT_ONCE,
    Inspected,
    Likeness,
    Neighbours,
    Overrides,
    TierCandidates,
    TierFacts,
    TierLost,
)
from septet.tiers.view import constants_of_fts5, memories_left_out, no_vectors
from septet.tiers.words import MOST_GUESSES, misspelt

if TYPE_CHECKING:
    from septet.listing.queries import Counted
    from septet.postgres.store.store import PostgresStore
    from septet.query.facets import Faceted
    from septet.query.filters import Filter
    from septet.query.plan import SearchPlan


NO_GUESSES: Mapping[str, Sequence[tuple[str, int, int]]] = MappingProxyType({})

_Method = TypeVar("_Method", bound=Callable[..., object])


def _translated(method: _Method) -> _Method:
    """Translate the server's errors in a method, so that one tier can fail and the others answer.

    If the server is lost after its candidates were read, the search continues without the tier.
    """

    @wraps(method)
    def translated(session: PostgresSession, *arguments: object) -> object:
        try:
            with session.view.transaction.asking():
                return method(session, *arguments)
        except Unreachable as fault:
            if session.has_candidates:
                raise TierLost(session.place, fault) from fault
            raise

    return translated  # type: ignore[return-value]


class PostgresSession:
    """A batch of queries over one vault (see `septet.tiers.protocol.Session`)."""

    __slots__ = ("generation", "has_candidates", "look", "name", "place", "store", "view")

    def __init__(
        self, name: str, store: PostgresStore, place: int, view: PostgresView, look: Callable[[], PostgresView]
    ) -> None:
        self.name, self.store, self.place, self.view = name, store, place, view
        #: Begins the search once more.
        self.look = look
        #: The generation that is read.
        self.generation = view.read.generation
        #: True once the search has its candidates.
        self.has_candidates = False

    def recovers(self, fault: Exception) -> bool:
        return False

    def close(self) -> None:
        self.view.close()

    @property
    def plans(self) -> Sequence[SearchPlan]:
        return self.view.plans

    @_translated
    def holds(self, rows: Sequence[int]) -> bool:
        return len(self.view.entries_at(rows)) == len(rows)

    @_translated
    def labels(self, rows: Sequence[int]) -> Mapping[str, Sequence[str]]:
        facts = self.view.facts_at(rows)
        return {name: [getattr(candidate, name) for candidate in facts] for name in ("kind", "severity", "domain")}

    def standing(self) -> TierFacts:
        statistics = self.view.statistics
        return TierFacts(statistics.feedback(), statistics.linked)

    def candidates(self) -> Sequence[TierCandidates]:
        """Return the candidates of each query; of a new transaction, where this one was broken off by another server.

        A standby does, and a cluster whose worker was started again.
        """
        try:
            return self._candidates()
        except (StoreBusy, Unreachable) as fault:
            if not isinstance(fault.__cause__, AGAIN) and not of_worker(fault.__cause__):
                raise
        return again(self._candidates_anew)()

    def _candidates_anew(self) -> Sequence[TierCandidates]:
        self.view.close()
        self.view = self.look()
        self.generation = self.view.read.generation
        return self._candidates()

    @_translated
    def _candidates(self) -> Sequence[TierCandidates]:
        view = self.view
        candidates = view.candidates(self.place)
        self.has_candidates = True
        notes = self._notes()
        return [
            TierCandidates(
                pool,
                matches,
                view.space is not None and plan.vector is not None,
                view.mismatch,
                view.memories.get(id(plan), ()),
                view.term_counts(plan) if plan.comparable else None,
                self._notes_of(plan, notes),
                view.more_memories.get(id(plan), 0),
                NO_GUESSES if id(plan) not in view.unknown else self._guesses(plan),
                view.whole[id(plan)] if plan.query.needed else None,
                view.answered.get(id(plan)) if plan.query.steps else None,
            )
            for plan, (pool, matches) in zip(view.plans, candidates)
        ]

    @_translated
    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        return [entry.id for entry in self.view.facts_at(rows)]

    @_translated
    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        return [entry.id if entry.parent is None else entry.parent for entry in self.view.facts_at(rows)]

    @_translated
    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        if not self.view.statistics.linked:
            return Neighbours([0] * len(known), EMPTY, ())
        # Most vaults hold no links.
        from septet.postgres.tables.candidates import rows_of
        from septet.tiers.protocol import rows_in

        rows = rows_in(known, self.place, lambda ids: rows_of(self.view.read, ids))
        steps, reached, more = near(self.view, [rows[at] for at in anchors], rows)
        return Neighbours(steps, self.view.candidates_at(self.place, query, reached), more)

    @_translated
    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        view, plan = self.view, self.view.plans[query]
        existing = valid_ids(view.read, plan, ids)
        if not existing:
            return Overrides(existing, EMPTY)
        rows = passing_rows(view.read, plan, [entry_id for entry_id in ids if entry_id in existing])
        pool = view.candidates_at(self.place, query, rows)
        return Overrides(existing, pool if pool.ids is not None else pool.with_ids([c.id for c in view.facts_at(rows)]))

    @_translated
    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        return self.view.facts_at(rows)

    @_translated
    def inspect(self, entry_id: str) -> Inspected | None:
        # A search needs none of it.
        from septet.postgres.tier.inspection import inspected

        return inspected(self.view, entry_id)

    @_translated
    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        return numbers_of([entry.attrs_json for entry in self.view.facts_at(rows)], paths)

    @_translated
    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        facts = self.view.facts_at(rows)
        return [
            (candidate.path or "", candidate.first_line or 0, candidate.last_line or 0, candidate.id)
            for candidate in facts
        ]

    @_translated
    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        space = self.view.space
        return ("", None) if space is None else (space.model, self.view.unit_rows(rows))

    @_translated
    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        # A search needs none of it.
        from septet.tiers.inspection import likeness_of

        return likeness_of(self.view.read, entry_id, model)

    @_translated
    def facets(self, query: int, fields: Sequence[Faceted]) -> Sequence[Counted]:
        from septet.postgres.tier.inspection import counted_matches

        return counted_matches(self.view, query, fields)

    @_translated
    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        from septet.postgres.tables.candidates import any_passing

        return any_passing(self.view.read, self.view.plan, filters)

    def _guesses(self, plan: SearchPlan) -> Mapping[str, Sequence[tuple[str, int, int]]]:
        unknown = misspelt(plan, lambda: self.view.term_counts(plan).holding)
        return words_near(self.view.read, unknown, MOST_GUESSES, memories=plan.scores_memories)

    def _notes_of(self, plan: SearchPlan, notes: Sequence[Note]) -> Sequence[Note]:
        """Add the notes on one query to those on all."""
        view, name = self.view, self.name
        if plan.query.has_phrase and view.statistics.phrases.cut & {*view.terms.of(plan.query.terms)}:
            cause = f"a word of the query was searched as a phrase, for which {MOST_ENTRIES:,} entries were read"
            notes = [*notes, Note("phrase_cut", cause, "ask with rarer words, or narrow the search", name)]
        if plan.query.has_phrase and plan.asks_text and plan.profile.text.constants is not None:
            notes = [*notes, constants_of_fts5(name)]
        left_out = view.left_out.get(id(plan), 0)
        return [*notes, memories_left_out(left_out, name)] if left_out else notes

    def _notes(self) -> list[Note]:
        name, view, plan = self.name, self.view, self.view.plan
        notes = self.store.notes(name)
        space = view.space
        if space is None and plan.vector is not None and plan.asks_vectors and view.mismatch is None:
            notes.append(no_vectors(name))
        notes += view.vector_notes(name)
        if space is not None and plan.asks_vectors and space.space in view.statistics.indexed:
            # Most spaces have no index.
            from septet.postgres.store.vector_index import approximate

            notes.append(approximate(space, view.statistics.indexed[space.space], name))
        return notes


class PostgresTier(NamedTuple):
    """A vault on a server with a name and a priority.

    Attributes:
        remembered: cache of searches.
        timeout_s: how long the server may keep a search waiting in all; None for the store's own bounds.
    """

    name: str
    priority: float
    store: PostgresStore
    remembered: SpaceCache
    timeout_s: float | None = None

    @property
    def crosses_threads(self) -> bool:
        """True: a session may be used by one thread after another."""
        return True

    def open(self, plans: Sequence[SearchPlan], place: int) -> PostgresSession:
        """Begin a search (see `septet.tiers.protocol.Tier`)."""
        plans = [plan.of_tier(self.name) if plan.embeddings else plan for plan in plans]
        until = None if self.timeout_s is None else time.monotonic() + self.timeout_s
        look = partial(self._look, plans, until)
        # A standby cancels a transaction that blocks the replay of the primary's removals.
        return PostgresSession(self.name, self.store, place, again(look)(), look)

    def _look(self, plans: Sequence[SearchPlan], until: float | None) -> PostgresView:
        """Begin a transaction, which the server may keep waiting until a time by `time.monotonic`."""
        asking = None if plans[0].begins_words else asking_of(self.store.vault, plans, self.remembered)
        transaction = self.store.begin_reading(
            None if until is None else max(0.0, until - time.monotonic()),
            () if asking is None else asking.statements,
            # The planner estimates how many entries pass filters.
            plan_once=not plans[0].filters,
        )
        try:
            with transaction.asking():
                return PostgresView(plans, transaction, self.remembered, asking)
        except BaseException:
            transaction.end()
            raise


def near(view: PostgresView, anchors: Sequence[int], known: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Walk the links from the rows of the anchors.

    Returns:
        The steps to each known row ``(m,)``, 0 for one that is not near; the rows ``(f,)`` of others that pass the
        filters, nearest first, as many as the profile takes; and the steps to them.
    """
    graph = view.plan.profile.graph
    depth, most = len(graph.proximity), graph.most_links
    # Candidates walk too where a walk from an anchor may miss them.
    starts = [row for row in (anchors if most is None else (*anchors, *known)) if row >= 0]
    links_found = np.array(edges(view.read, starts, depth, most), dtype=np.int64).reshape(-1, 3)
    source, target, age = (np.ascontiguousarray(links_found[:, at]) for at in range(3))
    links = _core.Links(source, target, age)
    steps, rows, more = links.near(_array(anchors), _array(known), depth, most)
    taken: list[int] = []
    distances: list[int] = []
    for start in range(0, len(rows), AT_ONCE):
        some = rows[start : start + AT_ONCE].tolist()
        passing = passing_among(view.read, view.plan, some)
        for row, distance in zip(some, more[start : start + AT_ONCE].tolist()):
            if row in passing and len(taken) < graph.most_pulled:
                taken.append(row)
                distances.append(distance)
        if len(taken) >= graph.most_pulled:
            break
    return steps.tolist(), taken, distances


def _array(rows: Sequence[int]) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64)
