"""A tier over a store on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import VectorError
from septet.profiles.plan import MEMORY, Plan
from septet.ranking.cuts import guarded
from septet.ranking.pool import Candidate, Pool
from septet.results import LegReport, Note
from septet.storage import entries, fulltext, links
from septet.storage.filters import conditions, conjunction
from septet.storage.keeper import Keeper
from septet.storage.snapshot import Snapshot, VectorRows
from septet.storage.store import Reading, Store
from septet.storage.vectors import Space, choose
from septet.tiers.tier import Inspected, Neighbours, Recalled
from septet.vector import QueryVector

__all__ = ["LocalTier"]


@dataclass(frozen=True, slots=True)
class _Moment:
    """What one search reads: a transaction, a snapshot, and the vectors that the query can be compared with."""

    read: Reading
    snapshot: Snapshot
    vectors: VectorRows | None
    mismatch: VectorError | None


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
            read = moment.read
            hits, matches = self._text(read, plan)
            rows = list(hits.rows)
            if moment.vectors is not None and plan.vector is not None:
                seen = set(rows)
                rows += [r for r in self._nearest(moment, plan) if r not in seen]
            pool = self._filled(moment, plan, rows, dict(zip(hits.rows, hits.scores)))
            memories = self._memories(read, plan)
        return Recalled(
            pool=pool,
            generation=read.generation,
            matches=matches,
            with_vectors=moment.vectors is not None,
            mismatch=moment.mismatch,
            memories=memories,
            notes=self._notes(plan, moment, hits),
        )

    def neighbours(self, plan: Plan, anchors: Sequence[str], known: frozenset[str]) -> Neighbours:
        """Walk the links from the anchors (see `Tier`)."""
        with self._moment(plan) as moment:
            read = moment.read
            if not links.any_links(read):
                return Neighbours(False, {}, Pool([], [], {}))
            distances = links.distances(read, anchors, len(plan.profile.graph.proximity))
            fresh = sorted((i for i in distances if i not in known), key=distances.__getitem__)
            rows = self._passing(read, plan, fresh)[: plan.profile.graph.most_pulled]
            pool = self._filled(moment, plan, rows, {})
        return Neighbours(True, distances, pool)

    def inspect(self, plan: Plan, entry_id: str) -> Inspected | None:
        """Return how an entry fares in a search (see `Tier`)."""
        with self._moment(plan) as moment:
            read = moment.read
            candidate = entries.find(read, [entry_id]).get(entry_id)
            if candidate is None:
                return None
            named = conditions(plan, memories=plan.include_memories and candidate.kind == MEMORY)
            sql = ", ".join(f"coalesce(({c.sql}), 0)" for c in named.values())
            values = [v for c in named.values() for v in c.parameters]
            passed = read.sql.execute(
                f"SELECT {sql} FROM entries e WHERE e.row = ?", (*values, candidate.row)
            ).fetchone()
            filters = {name: bool(ok) for name, ok in zip(named, passed) if name != "live"}
            legs = [self._text_place(read, plan, candidate)]
            if plan.vector is not None:
                legs.append(self._vector_place(moment, plan, candidate))
        return Inspected(candidate, filters, legs)

    @contextmanager
    def _moment(self, plan: Plan) -> Iterator[_Moment]:
        """Open a transaction and the snapshot of its generation, again when another thread moved on in between."""
        while True:
            with self.store.reading() as read:
                space, mismatch = self._space(read, plan)
                snapshot = self.keeper.view(read, plan.now, terms="tfidf" in plan.fill, space=space)
                if snapshot is not None:
                    vectors = None if space is None else snapshot.vectors[space.space]
                    yield _Moment(read, snapshot, vectors, mismatch)
                    return

    @staticmethod
    def _space(read: Reading, plan: Plan) -> tuple[Space | None, VectorError | None]:
        if plan.vector is None or "vector" not in plan.legs:
            return None, None
        try:
            return choose(read, plan.model, plan.vector.scan.size), None
        except VectorError as fault:
            return None, fault

    @staticmethod
    def _text(read: Reading, plan: Plan) -> tuple[fulltext.TextHits, int]:
        """Return the best candidates by full text, and the matches seen before they were cut."""
        if "text" not in plan.legs or not plan.query.terms:
            return fulltext.TextHits([], [], False), 0
        # To know whether the small-corpus guard fires, look far enough to count.
        take = plan.taken if plan.limit is not None else max(plan.taken, plan.profile.cuts.guard_below)
        hits = fulltext.recall(read, plan, take)
        matches = len(hits.rows)
        if not guarded(plan.profile.cuts, limit=plan.limit, matches=matches):
            hits = hits._replace(rows=hits.rows[: plan.taken], scores=hits.scores[: plan.taken])
        return hits, matches

    def _nearest(self, moment: _Moment, plan: Plan) -> list[int]:
        vectors, snapshot = moment.vectors, moment.snapshot
        assert vectors is not None and plan.vector is not None
        allowed = self._allowed(moment, plan)
        found, _ = _core.top_k(plan.vector.scan, vectors.rows, plan.taken, allowed[vectors.slots])
        rows: list[int] = snapshot.rows[vectors.slots[found]].tolist()
        return rows

    def _allowed(self, moment: _Moment, plan: Plan) -> NDArray[np.bool_]:
        """Return which slots pass every filter ``(s,)``; those named by the caller are asked of SQLite."""
        snapshot = moment.snapshot
        allowed = (snapshot.alive if plan.include_expired else snapshot.valid(plan.now)) & snapshot.searchable
        if plan.filters:
            passing = conjunction(conditions(plan))
            sql = f"SELECT e.row FROM entries e WHERE {passing.sql}"
            rows = np.array([r[0] for r in moment.read.sql.execute(sql, passing.parameters)], dtype=np.int64)
            slots = snapshot.slots_of(rows)
            chosen = np.zeros(len(allowed), dtype=bool)
            chosen[slots[slots >= 0]] = True
            allowed &= chosen
        return allowed

    @staticmethod
    def _passing(read: Reading, plan: Plan, ids: Sequence[str]) -> list[int]:
        """Return the rows of those ids that exist and pass every filter, in the order of the ids."""
        passing = conjunction(conditions(plan))
        sql = f"SELECT e.row FROM json_each(?) j JOIN entries e ON e.id = j.value WHERE {passing.sql} ORDER BY j.key"
        return [r[0] for r in read.sql.execute(sql, (json.dumps(list(ids)), *passing.parameters))]

    def _filled(self, moment: _Moment, plan: Plan, rows: Sequence[int], bm25: dict[int, float]) -> Pool:
        """Fetch candidates and fill every column that needs the corpus, whichever leg found them."""
        candidates = entries.read_rows(moment.read, rows)
        slots = moment.snapshot.slots_of([c.row for c in candidates])
        columns: dict[str, NDArray[np.float64]] = {}
        if "text" in plan.legs:
            if "bm25" in plan.fill and plan.query.terms:
                missing = [c.row for c in candidates if c.row not in bm25]
                scores = {**bm25, **fulltext.score_rows(moment.read, plan, missing)}
                columns["bm25"] = np.array([scores.get(c.row, 0.0) for c in candidates], dtype=np.float64)
            if "tfidf" in plan.fill:
                columns["tfidf"] = self._tfidf(moment.snapshot, plan, slots)
            if "trigram" in plan.fill:
                columns["trigram"] = _core.trigrams(plan.query.text, [c.text for c in candidates])
        if moment.vectors is not None and plan.vector is not None:
            columns["cosine"] = self._cosines(moment.vectors, plan.vector, slots)
        return Pool(candidates, [self.name] * len(candidates), columns)

    @staticmethod
    def _tfidf(snapshot: Snapshot, plan: Plan, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        out = np.full(len(slots), np.nan)
        known = slots >= 0
        if snapshot.terms is not None:
            terms = snapshot.terms
            out[known] = terms.index.cosines(terms.frequencies, plan.query.text, slots[known])
        return out

    @staticmethod
    def _cosines(vectors: VectorRows, query: QueryVector, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        out = np.full(len(slots), np.nan)
        at = vectors.at(slots)
        known = (at >= 0) & (slots >= 0)
        out[known] = _core.cosine_at(query.exact, vectors.rows, at[known])
        return out

    def _memories(self, read: Reading, plan: Plan) -> list[Candidate]:
        if not plan.include_memories or not plan.query.terms:
            return []
        return entries.read_rows(read, fulltext.recall_memories(read, plan, plan.taken))

    def _notes(self, plan: Plan, moment: _Moment, hits: fulltext.TextHits) -> list[Note]:
        notes = []
        if hits.fallback:
            cause = "this SQLite has no bm25(); FTS5's default rank, all columns equal, stood in"
            notes.append(Note("bm25_unavailable", cause, "use a SQLite built with FTS5's ranking", self.name))
        if plan.vector is not None and "vector" in plan.legs and moment.vectors is None and moment.mismatch is None:
            cause = "a query vector was given, but this vault holds no vectors"
            notes.append(Note("no_vectors", cause, "add entries with vector=", self.name))
        return notes

    def _text_place(self, read: Reading, plan: Plan, candidate: Candidate) -> LegReport:
        if "text" not in plan.legs or not plan.query.terms:
            return LegReport("text", False, None, 0, plan.taken, None, "the leg was not asked, or no term is left")
        rank, of, score = fulltext.place(read, plan, candidate.row)
        hit = [t for t in dict.fromkeys(plan.query.terms) if self._matches(read, plan, t, candidate.row)]
        detail = f"matches {', '.join(hit)}" if hit else f"holds none of {', '.join(dict.fromkeys(plan.query.terms))}"
        return LegReport("text", rank is not None, rank, of, plan.taken, score, detail)

    @staticmethod
    def _matches(read: Reading, plan: Plan, term: str, row: int) -> bool:
        one = replace(plan, query=replace(plan.query, terms=(term,)))
        return row in fulltext.score_rows(read, one, [row])

    def _vector_place(self, moment: _Moment, plan: Plan, candidate: Candidate) -> LegReport:
        vectors, query = moment.vectors, plan.vector
        if vectors is None or query is None:
            return LegReport("vector", False, None, 0, plan.taken, None, "the vault holds no vectors for this query")
        allowed = self._allowed(moment, plan)[vectors.slots]
        at = vectors.at(moment.snapshot.slots_of([candidate.row]))[0]
        of = int(np.count_nonzero(allowed))
        if at < 0:
            return LegReport("vector", False, None, of, plan.taken, None, "the entry has no vector")
        own = float(_core.cosine_at(query.exact, vectors.rows, np.array([at], dtype=np.int64))[0])
        order, _ = _core.top_k(query.scan, vectors.rows, of, allowed)
        place = np.flatnonzero(order == at)
        rank = int(place[0]) + 1 if len(place) else None
        return LegReport("vector", True, rank, of, plan.taken, own, f"cosine {own:.4f}")
