"""A tier over a store on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import NamedTuple, TypeVar

from septet import _core
from septet.errors import StoreError
from septet.profiles.plan import Plan
from septet.ranking.pool import EMPTY, Candidate, Pool
from septet.results import Note
from septet.storage import entries, feedback, fulltext, links
from septet.storage.connection import translated
from septet.storage.filters import conditions, conjunction, validity
from septet.storage.keeper import Keeper
from septet.storage.store import Store
from septet.storage.vectors import models_of
from septet.tiers.moment import NO_HITS, Moment, TextHits, open_moment
from septet.tiers.tier import Held, Inspected, Neighbours, Recalled

__all__ = ["LocalSession", "LocalTier"]

_Method = TypeVar("_Method", bound=Callable[..., object])
_Answer = TypeVar("_Answer")


class LocalTier(NamedTuple):
    """A store with a name and a priority."""

    name: str
    priority: float
    store: Store
    keeper: Keeper

    @contextmanager
    def open(self, plan: Plan, place: int) -> Iterator[LocalSession]:
        """Begin a search (see `Tier`)."""
        with open_moment(self.store, self.keeper, plan.of_tier(self.name)) as moment:
            yield LocalSession(self, place, moment)


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
    moment: Moment

    @property
    def generation(self) -> int:
        """The generation that is read."""
        return self.moment.read.generation

    @_telling
    def feedback(self) -> Mapping[str, int]:
        """Count the feedback rows by action."""
        return self._remembered("feedback", lambda: feedback.counts(self.moment.read))

    @_telling
    def recall(self) -> Recalled:
        """Return the candidates for the plan."""
        moment = self.moment
        hits, matches = _text(moment)
        return Recalled(
            pool=moment.pool(self.place, _core.unite(hits.slots, moment.nearest()), hits),
            matches=matches,
            with_vectors=moment.space is not None,
            mismatch=moment.mismatch,
            memories=_memories(moment),
            counts=fulltext.counts(moment.read, moment.plan) if moment.plan.comparable else None,
            notes=self._notes(hits),
        )

    @_telling
    def linked(self) -> bool:
        """Say whether the store holds links at all."""
        return self._remembered("linked", lambda: links.any_links(self.moment.read))

    @_telling
    def ids(self, rows: Sequence[int]) -> Sequence[str]:
        """Return the ids of candidates."""
        return entries.ids_at(self.moment.read, rows)

    @_telling
    def neighbours(self, anchors: Sequence[str], known: frozenset[str]) -> Neighbours:
        """Walk the links from the anchors."""
        if not self.linked():
            return Neighbours({}, EMPTY)
        graph = self.moment.plan.profile.graph
        distances = links.distances(self.moment.read, anchors, len(graph.proximity))
        fresh = sorted((i for i in distances if i not in known), key=distances.__getitem__)
        return Neighbours(distances, self._pool(self._passing(fresh)[: graph.most_pulled]))

    @_telling
    def hold(self, ids: Sequence[str]) -> Held:
        """Say which of the ids the store holds, and bring those that pass the filters."""
        plan = self.moment.plan
        valid = validity(plan.now)
        sql = f"SELECT e.id FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE e.live AND (? OR ({valid.sql}))"
        given = (json.dumps(list(ids)), plan.include_expired, *valid.parameters)
        held = frozenset(r[0] for r in self.moment.read.sql.execute(sql, given))
        return Held(held, self._pool(self._passing([i for i in ids if i in held])))

    @_telling
    def read(self, rows: Sequence[int]) -> Sequence[Candidate]:
        """Return whole candidates in the order of the rows."""
        return entries.read_rows(self.moment.read, rows)

    @_telling
    def inspect(self, entry_id: str) -> Inspected | None:
        """Return how an entry fares."""
        # A search needs none of it.
        from septet.tiers.inspection import filters_passed, legs_of

        candidate = entries.find(self.moment.read, [entry_id]).get(entry_id)
        if candidate is None:
            return None
        filters = filters_passed(self.moment, candidate)
        return Inspected(candidate, filters, legs_of(self.moment, candidate, filters))

    def _pool(self, rows: Sequence[int]) -> Pool:
        pool = self.moment.pool(self.place, self.moment.snapshot.slots_of(rows))
        return pool if "id" in pool.facts else pool.with_facts({"id": entries.ids_at(self.moment.read, rows)})

    def _passing(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of those ids that exist and pass every filter, in the order of the ids."""
        passing = conjunction(conditions(self.moment.plan))
        sql = f"SELECT e.row FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE {passing.sql} ORDER BY j.key"
        return [r[0] for r in self.moment.read.sql.execute(sql, (json.dumps(list(ids)), *passing.parameters))]

    def _notes(self, hits: TextHits) -> list[Note]:
        name, moment = self.tier.name, self.moment
        notes = []
        if hits.fallback:
            cause = "this SQLite has no bm25(); FTS5's default rank, all columns equal, stood in"
            notes.append(Note("bm25_unavailable", cause, "use a SQLite built with FTS5's ranking", name))
        if self.tier.keeper.mistrusted:
            cause = "full text in memory does not agree with FTS5's totals; FTS5 answers, more slowly"
            notes.append(Note("index_mismatch", cause, "check the file with SQLite's integrity_check", name))
        if self.tier.keeper.damaged:
            cause = "a file of the sidecar was damaged, and was removed; its content is made anew"
            notes.append(Note("sidecar_damaged", cause, "nothing, or look after the disk if it comes again", name))
        if moment.plan.asks_vectors and moment.space is None and moment.mismatch is None:
            cause = "a query vector was given, but this vault holds no vectors"
            notes.append(Note("no_vectors", cause, "add entries with vector=", name))
        space = moment.space
        if space is not None and moment.plan.model is None:
            models = self._remembered(("models", space.dimensions), lambda: models_of(moment.read, space.dimensions))
            others = [m for m in models if m != space.model]
            if others:
                cause = f"compared with vectors of model {space.model!r}, not of {', '.join(map(repr, others))}"
                notes.append(Note("model_assumed", cause, "name the query vector's model=", name))
        return notes

    def _remembered(self, key: object, ask: Callable[[], _Answer]) -> _Answer:
        return self.tier.keeper.remembered(self.moment.read, key, ask)


def _text(moment: Moment) -> tuple[TextHits, int]:
    """Return the best candidates by full text, and the matches seen before they were cut."""
    plan = moment.plan
    if not plan.asks_text:
        return NO_HITS, 0
    # To know whether the small-corpus guard fires, look far enough to count.
    take = plan.taken if plan.limit is not None else max(plan.taken, plan.profile.cuts.guard_below)
    hits = moment.text(take)
    matches = len(hits.slots)
    kept = fulltext.taken(plan, matches)
    return hits._replace(slots=hits.slots[:kept], scores=hits.scores[:kept]), matches


def _memories(moment: Moment) -> list[Candidate]:
    if not moment.plan.include_memories or not moment.plan.asks_text:
        return []
    return entries.read_rows(moment.read, fulltext.recall_memories(moment.read, moment.plan, moment.plan.taken))
