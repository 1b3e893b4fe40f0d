"""A tier over a store on this machine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from septet.profiles.plan import Plan
from septet.ranking.pool import Candidate, Pool
from septet.results import Note
from septet.storage import entries, fulltext, links
from septet.storage.filters import conditions, conjunction, validity
from septet.storage.keeper import Keeper
from septet.storage.store import Reading, Store
from septet.storage.vectors import models_of
from septet.tiers.inspection import filters_passed, legs_of
from septet.tiers.moment import Moment, open_moment
from septet.tiers.tier import Held, Inspected, Neighbours, Recalled

__all__ = ["LocalTier"]


@dataclass(frozen=True, slots=True)
class LocalTier:
    """A store with a name and a priority."""

    name: str
    priority: float
    store: Store
    keeper: Keeper

    def recall(self, plan: Plan) -> Recalled:
        """Return the candidates for a plan (see `Tier`)."""
        with self._moment(plan) as moment:
            hits, matches = _text(moment)
            seen = set(hits.rows)
            rows = [*hits.rows, *(r for r in moment.nearest() if r not in seen)]
            return Recalled(
                pool=moment.pool(self.name, rows, dict(zip(hits.rows, hits.scores))),
                generation=moment.read.generation,
                matches=matches,
                with_vectors=moment.space is not None,
                mismatch=moment.mismatch,
                memories=_memories(moment),
                counts=fulltext.counts(moment.read, plan) if plan.comparable else None,
                notes=self._notes(moment, hits),
            )

    def neighbours(self, plan: Plan, anchors: Sequence[str], known: frozenset[str]) -> Neighbours:
        """Walk the links from the anchors (see `Tier`)."""
        with self._moment(plan) as moment:
            if not links.any_links(moment.read):
                return Neighbours(False, {}, Pool([], [], {}))
            distances = links.distances(moment.read, anchors, len(plan.profile.graph.proximity))
            fresh = sorted((i for i in distances if i not in known), key=distances.__getitem__)
            rows = _passing(moment.read, plan, fresh)[: plan.profile.graph.most_pulled]
            return Neighbours(True, distances, moment.pool(self.name, rows, {}))

    def hold(self, plan: Plan, ids: Sequence[str]) -> Held:
        """Say which of the ids this tier holds, and bring those that pass the filters (see `Tier`)."""
        with self._moment(plan) as moment:
            valid = validity(plan.now)
            sql = (
                "SELECT e.id FROM json_each(?) j JOIN entries e ON e.id = j.value "
                f"WHERE e.live AND (? OR ({valid.sql}))"
            )
            given = (json.dumps(list(ids)), plan.include_expired, *valid.parameters)
            held = frozenset(r[0] for r in moment.read.sql.execute(sql, given))
            rows = _passing(moment.read, plan, [i for i in ids if i in held])
            return Held(held, moment.pool(self.name, rows, {}))

    def inspect(self, plan: Plan, entry_id: str) -> Inspected | None:
        """Return how an entry fares in a search (see `Tier`)."""
        with self._moment(plan) as moment:
            candidate = entries.find(moment.read, [entry_id]).get(entry_id)
            if candidate is None:
                return None
            filters = filters_passed(moment, candidate)
            return Inspected(candidate, filters, legs_of(moment, candidate, filters))

    def _moment(self, plan: Plan) -> AbstractContextManager[Moment]:
        return open_moment(self.store, self.keeper, plan.of_tier(self.name))

    def _notes(self, moment: Moment, hits: fulltext.TextHits) -> list[Note]:
        notes = []
        if hits.fallback:
            cause = "this SQLite has no bm25(); FTS5's default rank, all columns equal, stood in"
            notes.append(Note("bm25_unavailable", cause, "use a SQLite built with FTS5's ranking", self.name))
        if self.keeper.mistrusted:
            cause = "full text in memory does not agree with FTS5's totals; FTS5 answers, more slowly"
            notes.append(Note("index_mismatch", cause, "check the file with SQLite's integrity_check", self.name))
        if self.keeper.damaged:
            cause = "a file of the sidecar was damaged, and was removed; its content is made anew"
            notes.append(Note("sidecar_damaged", cause, "nothing, or look after the disk if it comes again", self.name))
        if moment.plan.asks_vectors and moment.space is None and moment.mismatch is None:
            cause = "a query vector was given, but this vault holds no vectors"
            notes.append(Note("no_vectors", cause, "add entries with vector=", self.name))
        if moment.space is not None and moment.plan.model is None:
            others = [m for m in models_of(moment.read, moment.space.dimensions) if m != moment.space.model]
            if others:
                cause = f"compared with vectors of model {moment.space.model!r}, not of {', '.join(map(repr, others))}"
                notes.append(Note("model_assumed", cause, "name the query vector's model=", self.name))
        return notes


def _text(moment: Moment) -> tuple[fulltext.TextHits, int]:
    """Return the best candidates by full text, and the matches seen before they were cut."""
    plan = moment.plan
    if not plan.asks_text:
        return fulltext.TextHits([], [], False), 0
    # To know whether the small-corpus guard fires, look far enough to count.
    take = plan.taken if plan.limit is not None else max(plan.taken, plan.profile.cuts.guard_below)
    hits = moment.text(take)
    matches = len(hits.rows)
    kept = fulltext.taken(plan, matches)
    return hits._replace(rows=hits.rows[:kept], scores=hits.scores[:kept]), matches


def _memories(moment: Moment) -> list[Candidate]:
    if not moment.plan.include_memories or not moment.plan.asks_text:
        return []
    return entries.read_rows(moment.read, fulltext.recall_memories(moment.read, moment.plan, moment.plan.taken))


def _passing(read: Reading, plan: Plan, ids: Sequence[str]) -> list[int]:
    """Return the rows of those ids that exist and pass every filter, in the order of the ids."""
    passing = conjunction(conditions(plan))
    sql = f"SELECT e.row FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE {passing.sql} ORDER BY j.key"
    return [r[0] for r in read.sql.execute(sql, (json.dumps(list(ids)), *passing.parameters))]
