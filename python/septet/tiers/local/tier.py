"""A tier over a store on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import NamedTuple, TypeVar

from septet import _core
from septet.errors import StoreError
from septet.query.plan import Plan
from septet.ranking.pool import EMPTY, Candidate, Pool
from septet.results import Note
from septet.snapshot.manager import SnapshotManager
from septet.storage.connection import translated
from septet.storage.store import Store
from septet.storage.tables import candidates, entries, feedback, fulltext, links
from septet.storage.tables.vectors import models_of
from septet.tiers.local.read_view import NO_HITS, ReadView, TextHits, open_read_view
from septet.tiers.protocol import Inspected, Neighbours, Overrides, Recalled

__all__ = ["LocalSession", "LocalTier"]

_Method = TypeVar("_Method", bound=Callable[..., object])
_Answer = TypeVar("_Answer")


class LocalTier(NamedTuple):
    """A store with a name and a priority."""

    name: str
    priority: float
    store: Store
    manager: SnapshotManager

    @contextmanager
    def open(self, plan: Plan, place: int) -> Iterator[LocalSession]:
        """Begin a search (see `Tier`)."""
        with open_read_view(self.store, self.manager, plan.of_tier(self.name)) as view:
            yield LocalSession(self, place, view)


def _telling(method: _Method) -> _Method:
    """Let a method raise SQLite's errors and a file's as Septet's, so that one tier can fail and the others answer."""

    @wraps(method)
    def told(session: LocalSession, *arguments: object) -> object:
        with translated(session.tier.store.path):
            try:
                return method(session, *arguments)
            except OSError as fault:
                cure = "search again; if it comes back, remove the folder, which is made anew"
                raise StoreError(f"a file in the folder of arrays cannot be read: {fault} ({cure})") from fault

    return told  # type: ignore[return-value]


class LocalSession(NamedTuple):
    """One search in one store, inside one read transaction (see `Session`)."""

    tier: LocalTier
    place: int
    view: ReadView

    @property
    def generation(self) -> int:
        """The generation that is read."""
        return self.view.read.generation

    @_telling
    def feedback(self) -> Mapping[str, int]:
        """Count the feedback rows by action."""
        return self._remembered("feedback", lambda: feedback.counts(self.view.read))

    @_telling
    def recall(self) -> Recalled:
        """Return the candidates for the plan."""
        view = self.view
        hits, matches = _text(view)
        return Recalled(
            pool=view.pool(self.place, _core.unite(hits.slots, view.nearest()), hits),
            matches=matches,
            with_vectors=view.space is not None,
            mismatch=view.mismatch,
            memories=_memories(view),
            counts=fulltext.counts(view.read, view.plan) if view.plan.comparable else None,
            notes=self._notes(hits),
        )

    @_telling
    def linked(self) -> bool:
        """Say whether the store holds links at all."""
        return self._remembered("linked", lambda: links.any_links(self.view.read))

    @_telling
    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of candidates."""
        return entries.ids_at(self.view.read, rows)

    @_telling
    def neighbours(self, anchors: Sequence[str], known: frozenset[str]) -> Neighbours:
        """Walk the links from the anchors."""
        if not self.linked():
            return Neighbours({}, EMPTY)
        graph = self.view.plan.profile.graph
        distances = links.distances(self.view.read, anchors, len(graph.proximity))
        fresh = sorted((i for i in distances if i not in known), key=distances.__getitem__)
        return Neighbours(distances, self._pool(self._passing(fresh)[: graph.most_pulled]))

    @_telling
    def overrides(self, ids: Sequence[str]) -> Overrides:
        """Say which of the ids the store holds, and bring those that pass the filters."""
        held = candidates.valid_ids(self.view.read, self.view.plan, ids)
        return Overrides(held, self._pool(self._passing([i for i in ids if i in held])))

    @_telling
    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return whole candidates in the order of the rows."""
        return entries.read_rows(self.view.read, rows)

    @_telling
    def inspect(self, entry_id: str) -> Inspected | None:
        """Return how an entry fares."""
        # A search needs none of it.
        from septet.tiers.local.inspection import filters_passed, legs_of

        candidate = entries.find(self.view.read, [entry_id]).get(entry_id)
        if candidate is None:
            return None
        filters = filters_passed(self.view, candidate)
        return Inspected(candidate, filters, legs_of(self.view, candidate, filters))

    def _pool(self, rows: Sequence[int]) -> Pool:
        pool = self.view.pool(self.place, self.view.snapshot.slots_of(rows))
        return pool if "id" in pool.facts else pool.with_facts({"id": entries.ids_at(self.view.read, rows)})

    def _passing(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of those ids that exist and pass every filter, in the order of the ids."""
        return candidates.passing_rows(self.view.read, self.view.plan, ids)

    def _notes(self, hits: TextHits) -> list[Note]:
        name, view = self.tier.name, self.view
        notes = []
        if hits.fallback:
            cause = "this SQLite has no bm25(); FTS5's default rank, all columns equal, stood in"
            notes.append(Note("bm25_unavailable", cause, "use a SQLite built with FTS5's ranking", name))
        if self.tier.manager.mistrusted:
            cause = "full text in memory does not agree with FTS5's totals; FTS5 answers, more slowly"
            notes.append(Note("index_mismatch", cause, "check the file with SQLite's integrity_check", name))
        if self.tier.manager.damaged:
            cause = "a file of the sidecar was damaged, and was removed; its content is made anew"
            notes.append(Note("sidecar_damaged", cause, "nothing, or look after the disk if it comes again", name))
        if view.plan.asks_vectors and view.space is None and view.mismatch is None:
            cause = "a query vector was given, but this vault holds no vectors"
            notes.append(Note("no_vectors", cause, "add entries with vector=", name))
        space = view.space
        if space is not None and view.plan.model is None:
            models = self._remembered(("models", space.dimensions), lambda: models_of(view.read, space.dimensions))
            others = [m for m in models if m != space.model]
            if others:
                cause = f"compared with vectors of model {space.model!r}, not of {', '.join(map(repr, others))}"
                notes.append(Note("model_assumed", cause, "name the query vector's model=", name))
        return notes

    def _remembered(self, key: object, ask: Callable[[], _Answer]) -> _Answer:
        return self.tier.manager.remembered(self.view.read, key, ask)


def _text(view: ReadView) -> tuple[TextHits, int]:
    """Return the best candidates by full text, and the matches seen before they were cut."""
    plan = view.plan
    if not plan.asks_text:
        return NO_HITS, 0
    # To know whether the small-corpus guard fires, look far enough to count.
    take = plan.taken if plan.limit is not None else max(plan.taken, plan.profile.cuts.guard_below)
    hits = view.text(take)
    matches = len(hits.slots)
    kept = fulltext.candidate_count(plan, matches)
    return hits._replace(slots=hits.slots[:kept], scores=hits.scores[:kept]), matches


def _memories(view: ReadView) -> list[Candidate]:
    if not view.plan.include_memories or not view.plan.asks_text:
        return []
    return entries.read_rows(view.read, fulltext.recall_memories(view.read, view.plan, view.plan.taken))
