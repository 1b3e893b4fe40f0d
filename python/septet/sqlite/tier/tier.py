"""A tier over a store on this machine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from septet.errors import SeptetError, StoreError
from septet.notes import Note
from septet.query.plan import SearchPlan
from septet.ranking.pool import EMPTY, Candidate, Pool, numbers_of
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.store.connection import SQLITE_FAULTS, store_error
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables import entries
from septet.sqlite.tier.read_view import ReadView, open_read_view
from septet.store.rows import MissingRows
from septet.system.records import NamedTuple
from septet.tiers.protocol import Inspected, Likeness, Neighbours, Overrides, SearchAgain, TierCandidates, TierFacts
from septet.tiers.view import constants_of_fts5, no_vectors, rows_left_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.listing import Listings
    from septet.listing.queries import Counted
    from septet.query.facets import Faceted
    from septet.query.filters import Filter
    from septet.sqlite.store.soundness import Unsound

NO_GUESSES: Mapping[str, Sequence[tuple[str, int, int]]] = MappingProxyType({})

_Method = TypeVar("_Method", bound=Callable[..., object])


class LateListings:
    """The listings of a store, created on first use: most searches need none."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store

    @cached_property
    def made(self) -> Listings:
        """The listings."""
        from septet.listing import Listings

        return Listings(self._store)


class LocalTier(NamedTuple):
    """A store with a name and a priority."""

    name: str
    priority: float
    store: SqliteStore
    manager: SnapshotManager
    listings: LateListings

    @property
    def crosses_threads(self) -> bool:
        """True if sessions may move between threads; in memory, a transaction holds a lock."""
        return not self.store.in_memory

    def open(self, plans: Sequence[SearchPlan], place: int) -> LocalSession:
        """Begin a search (see `Tier`)."""
        plans = [plan.of_tier(self.name) if plan.embeddings else plan for plan in plans]
        left_out = self.store.left_out
        if left_out is not self.manager.left_out:
            self.manager.forget()
            self.manager.left_out = left_out
        try:
            return LocalSession(self, place, open_read_view(self.store, self.manager, *plans), left_out)
        except _FAULTS as fault:
            self._recover(fault, left_out)
            if isinstance(fault, SQLITE_FAULTS):
                raise store_error(fault, self.store.path) from fault
            raise

    def recovers(self, fault: Exception, left_out: Sequence[Unsound]) -> bool:
        """Exclude rows with invalid content, if they may have caused an error; return True if rows were excluded.

        Args:
            left_out: rows excluded when the error occurred.
        """
        if isinstance(fault, SeptetError) and type(fault) is not StoreError:
            return False
        from septet.sqlite.store.mending import set_aside  # imported here: a sound vault does not need it

        return set_aside(self.store, left_out)

    def _recover(self, fault: Exception, left_out: Sequence[Unsound]) -> None:
        if self.recovers(fault, left_out):
            raise SearchAgain(f"rows of {self.store.path} have content that Septet does not write") from fault
        if self.store.left_out and not isinstance(fault, (SeptetError, sqlite3.Error, MemoryError)):
            from septet.sqlite.store.soundness import unsound_error  # the metadata of the vault itself is invalid

            raise unsound_error(self.store.path, self.store.left_out[0]) from fault


#: Errors that damaged arrays or rows may cause.
_FAULTS = (
    sqlite3.Error, OSError, ValueError, TypeError, AttributeError, LookupError, ArithmeticError, MemoryError,
    RecursionError, StoreError,
)  # fmt: skip


def _translated(method: _Method) -> _Method:
    """Translate SQLite's errors to Septet's, so that a search can continue without the tier.

    After errors caused by damaged arrays or rows, discard these and restart the search.
    """

    @wraps(method)
    def translated(session: LocalSession, *arguments: object) -> object:
        try:
            return method(session, *arguments)
        except _FAULTS as fault:
            manager = session.tier.manager
            is_own = isinstance(fault, SeptetError) and not isinstance(fault, MissingRows)
            # Another thread may have discarded it before.
            if not (is_own or isinstance(fault, sqlite3.Error)) and (manager.give_up(fault) or manager.damaged):
                raise SearchAgain(f"arrays in the folder beside {session.tier.store.path} are damaged") from fault
            session.close()
            session.tier._recover(fault, session.left_out)
            if isinstance(fault, SQLITE_FAULTS):
                raise store_error(fault, session.tier.store.path) from fault
            raise

    return translated  # type: ignore[return-value]


class LocalSession:
    """A batch of queries over one store, inside one read transaction (see `Session`)."""

    __slots__ = ("generation", "left_out", "place", "tier", "view")

    def __init__(self, tier: LocalTier, place: int, view: ReadView, left_out: Sequence[Unsound] = ()) -> None:
        self.tier, self.place, self.view, self.left_out = tier, place, view, left_out
        #: Generation of the transaction.
        self.generation = view.read.generation

    def close(self) -> None:
        self.view.close()

    def recovers(self, fault: Exception) -> bool:
        return self.tier.recovers(fault, self.left_out)

    @property
    def plans(self) -> Sequence[SearchPlan]:
        return self.view.plans

    def holds(self, rows: Sequence[int]) -> bool:
        return not len(rows) or int(self.view.snapshot.slots_of(rows).min()) >= 0

    def labels(self, rows: Sequence[int]) -> Mapping[str, Sequence[str]]:
        snapshot = self.view.snapshot
        slots, names = snapshot.slots_of(rows), snapshot.names
        return {
            name: [names[at] for at in snapshot.columns[name][slots].tolist()]
            for name in ("kind", "severity", "domain")
        }

    @_translated
    def standing(self) -> TierFacts:
        return self.view.remembered("standing", self._standing)

    def _standing(self) -> TierFacts:
        from septet.sqlite.tables import feedback, links

        return TierFacts(feedback.counts(self.view.read), links.any_links(self.view.read))

    @_translated
    def candidates(self) -> Sequence[TierCandidates]:
        view = self.view
        candidates = view.candidates(self.place)
        if "path" in view.plan.profile.columns:
            # Imported here: few profiles have the column.
            from septet.sqlite.tier.additions import with_paths

            candidates = [
                (with_paths(view, self.place, query, pool), matches) for query, (pool, matches) in enumerate(candidates)
            ]
        notes, hidden = self._notes(), view.snapshot.hidden
        apart = view.plan.include_memories and not view.plan.scores_memories
        return [
            TierCandidates(
                pool,
                matches,
                view.space is not None and plan.vector is not None,
                view.mismatch,
                self._memories(plan) if apart else (),
                view.term_counts(plan) if plan.comparable else None,
                notes
                if not (hidden or view.uncertain or view.fallbacks) and plan.profile.text.constants is None
                else self._notes_of(plan, notes),
                self._memories_matching(plan) if apart else 0,
                NO_GUESSES if not view.unknown or id(plan) not in view.unknown else self._guesses(plan),
                view.whole[id(plan)] if plan.query.needed and view.whole else None,
                view.answered.get(id(plan)) if plan.query.steps else None,
            )
            for plan, (pool, matches) in zip(view.plans, candidates)
        ]

    @_translated
    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        return entries.ids_at(self.view.read, rows)

    @_translated
    def groups(self, rows: Sequence[int]) -> Sequence[str]:
        return entries.groups_at(self.view.read, rows)

    @_translated
    def neighbours(self, query: int, anchors: Sequence[int], known: Pool) -> Neighbours:
        if not self.standing().linked:
            return Neighbours([0] * len(known), EMPTY, ())
        # Imported here: most vaults contain no links.
        from septet.sqlite.tables.conditions import rows_of
        from septet.sqlite.tier.additions import near
        from septet.tiers.protocol import rows_in

        rows = rows_in(known, self.place, lambda ids: rows_of(self.view.read, ids))
        steps, slots, more = near(self.view, [rows[at] for at in anchors], rows)
        pool = self.view.candidates_at(self.place, query, slots)
        return Neighbours(steps, pool, more)

    @_translated
    def overrides(self, query: int, ids: Sequence[str]) -> Overrides:
        from septet.sqlite.tables import conditions

        read, plan = self.view.read, self.view.plans[query]
        covered = conditions.valid_ids(read, plan, ids)
        if not covered:
            return Overrides(covered, EMPTY)
        passing = conditions.passing_rows(read, plan, [i for i in ids if i in covered])
        return Overrides(covered, self._pool(query, passing))

    @_translated
    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        return entries.read_rows(self.view.read, rows)

    @_translated
    def inspect(self, entry_id: str) -> Inspected | None:
        # Imported here: searches do not need it.
        from septet.sqlite.tier.inspection import inspected

        inspection = inspected(self.view, entry_id)
        # Python code read arrays, which native calls would have checked.
        self.view.snapshot.check()
        return inspection

    @_translated
    def numbers(self, rows: Sequence[int], paths: Sequence[Sequence[str]]) -> Sequence[NDArray[np.float64]]:
        return numbers_of(entries.column_at(self.view.read, "attrs", rows), paths)

    @_translated
    def places(self, rows: Sequence[int]) -> Sequence[tuple[str, int, int, str]]:
        return entries.places_at(self.view.read, rows)

    @_translated
    def vectors(self, query: int, rows: Sequence[int]) -> tuple[str, NDArray[np.float64] | None]:
        view = self.view
        if view.space is None or view.vectors is None:
            return "", None
        matrix = view.vectors.unit_rows(view.snapshot.slots_of(rows))
        self.view.snapshot.check()
        return view.space.model, matrix

    @_translated
    def likeness(self, entry_id: str, model: str | None) -> Likeness | None:
        # Imported here: searches do not need it.
        from septet.tiers.inspection import likeness_of

        return likeness_of(self.view.read, entry_id, model)

    @_translated
    def facets(self, query: int, fields: Sequence[Faceted]) -> Sequence[Counted]:
        from septet.sqlite.tier.inspection import counted_matches

        counts = counted_matches(self.view, query, self.tier.listings.made, fields)
        self.view.snapshot.check()
        return counts

    @_translated
    def any_passing(self, filters: Sequence[Filter]) -> Sequence[bool]:
        from septet.sqlite.tables import conditions

        return conditions.any_passing(self.view.read, self.view.plan, filters)

    def _pool(self, query: int, rows: Sequence[int]) -> Pool:
        pool = self.view.candidates_at(self.place, query, self.view.snapshot.slots_of(rows))
        return pool if pool.ids is not None else pool.with_ids(entries.ids_at(self.view.read, rows))

    def _memories(self, plan: SearchPlan) -> list[Candidate]:
        if not plan.asks_text:
            return []
        from septet.sqlite.tables import fulltext

        rows = fulltext.recall_memories(self.view.read, self.view.at_step(plan), plan.candidates)
        return entries.read_rows(self.view.read, rows)

    def _guesses(self, plan: SearchPlan) -> Mapping[str, Sequence[tuple[str, int, int]]]:
        from septet.sqlite.tier.additions import guesses_of

        return guesses_of(self.view, plan)

    def _memories_matching(self, plan: SearchPlan) -> int:
        if not plan.asks_text:
            return 0
        from septet.sqlite.tables import fulltext

        return fulltext.count_memories(self.view.read, self.view.at_step(plan), -1)

    def _notes_of(self, plan: SearchPlan, notes: Sequence[Note]) -> Sequence[Note]:
        """Return the notes on one query, given those on all."""
        view = self.view
        if id(plan) in view.fallbacks:
            cause = "this SQLite has no bm25(); FTS5's default rank, all columns equal, was used"
            cure = "use a SQLite built with FTS5's ranking"
            notes = [Note("bm25_unavailable", cause, cure, self.tier.name), *notes]
        if id(plan) in view.uncertain:
            cause = f"lists were searched for a share of {self.tier.manager.recall:g} of the nearest vectors"
            notes = [*notes, Note("approximate", cause, "open the vault with recall=1", self.tier.name)]
        if plan.profile.text.constants is not None and view.needs_fts5(plan):
            notes = [*notes, constants_of_fts5(self.tier.name)]
        if not plan.include_memories and len(view.snapshot.memories):
            from septet.sqlite.tier.additions import left_out

            note = left_out(view, plan, self.tier.name)
            notes = notes if note is None else [*notes, note]
        return notes

    def _notes(self) -> list[Note]:
        name, view, manager, plan = self.tier.name, self.view, self.tier.manager, self.view.plan
        notes = self.tier.store.notes(name)
        if self.left_out:
            notes.append(rows_left_out(self.left_out, name))
        if manager.mistrusted:
            cause = "full text in memory does not agree with FTS5's totals; FTS5 answers, more slowly"
            notes.append(Note("index_mismatch", cause, "check the file with SQLite's integrity_check", name))
        if manager.damaged:
            cause = "a file of the sidecar was damaged, and was removed; its content is rebuilt"
            notes.append(
                Note("sidecar_damaged", cause, "no action is needed; check the disk if it happens again", name)
            )
        if view.space is None and plan.vector is not None and plan.asks_vectors and view.mismatch is None:
            notes.append(no_vectors(name))
        spells = plan.asks_text and "trigram" in plan.profile.columns
        if spells and view.snapshot.postings is None and not manager.mistrusted:
            cause = "full text is not in memory yet: FTS5 ranks it, and the spelling of words is not compared"
            notes.append(Note("index_building", cause, "nothing, or optimize() once for later processes", name))
        return notes + view.vector_notes(name)
