"""What one search reads of a local store: a transaction, the snapshot of its generation, and the columns it fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import VectorError
from septet.profiles.plan import Plan
from septet.ranking.pool import Candidate, Pool
from septet.storage import entries, fulltext
from septet.storage.filters import chosen
from septet.storage.keeper import Keeper
from septet.storage.snapshot import Snapshot, VectorRows
from septet.storage.store import Reading, Store
from septet.storage.vectors import Space, choose
from septet.vector import QueryVector

__all__ = ["Moment", "open_moment"]

Column: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Moment:
    """A read transaction with the snapshot of exactly its generation.

    Attributes:
        space: the vectors that the query vector is compared with; None without any.
        mismatch: why there are none, when the store has vectors of other models or dimensions only.
    """

    plan: Plan
    read: Reading
    snapshot: Snapshot
    space: Space | None
    mismatch: VectorError | None

    @property
    def vectors(self) -> VectorRows | None:
        """The rows of the space."""
        return None if self.space is None else self.snapshot.vectors[self.space.space]

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Which slots pass every filter ``(s,)``; those named by the caller are asked of SQLite, once a generation."""
        snapshot, plan = self.snapshot, self.plan
        allowed = (snapshot.alive if plan.include_expired else snapshot.valid(plan.now)) & snapshot.searchable
        own = chosen(plan)
        if own is not None:
            sql = f"SELECT e.row FROM entries e WHERE e.live AND {own.sql}"
            allowed &= snapshot.mask(own, lambda: [r[0] for r in self.read.sql.execute(sql, own.parameters)])
        return allowed

    @cached_property
    def _parts(self) -> list[tuple[_core.TextIndex, _core.Statistics, NDArray[np.float64]]] | None:
        """What ranks full text in memory; None while FTS5 has to: no postings yet, or a term that is a phrase."""
        postings, query = self.snapshot.postings, self.plan.query
        if postings is None or any(len(_core.index_terms(t)) > 1 for t in set(query.terms)):
            return None
        return postings.parts(self.plan.profile.text.weights, grams=query.grams)

    def text(self, take: int) -> fulltext.TextHits:
        """Return the best ``take`` rows by BM25 among those that pass the filters; ties by row."""
        parts, snapshot = self._parts, self.snapshot
        if parts is None:
            return fulltext.recall(self.read, self.plan, take)
        terms = self.plan.query.terms
        slots, scores, _ = _core.bm25_top_k(parts, terms, take, self.allowed, ties=snapshot.rows)
        return fulltext.TextHits(snapshot.rows[slots].tolist(), scores.tolist(), False)

    def _bm25(self, slots: NDArray[np.int64], candidates: Sequence[Candidate], known: Mapping[int, float]) -> Column:
        """Return the scores of candidates ``(m,)``, 0 where no term matches."""
        if self._parts is not None:
            scores = _core.bm25_at(self._parts, self.plan.query.terms, slots)
            return np.where(np.isnan(scores), 0.0, scores)
        missing = [c.row for c in candidates if c.row not in known]
        found = {**known, **fulltext.score_rows(self.read, self.plan, missing)}
        return np.array([found.get(c.row, 0.0) for c in candidates], dtype=np.float64)

    def nearest(self) -> list[int]:
        """Return the rows of the vectors nearest to the query's, among those that pass the filters."""
        vectors, query = self.vectors, self.plan.vector
        if vectors is None or query is None:
            return []
        found, _ = vectors.nearest(query.scan, self.plan.taken, self.allowed)
        rows: list[int] = self.snapshot.rows[vectors.slots[found]].tolist()
        return rows

    def pool(self, tier: str, rows: Sequence[int], bm25: Mapping[int, float]) -> Pool:
        """Fetch candidates and fill every column that needs the corpus, whichever leg found them.

        Args:
            bm25: scores that are known already, by row.
        """
        plan = self.plan
        candidates = entries.read_rows(self.read, rows)
        slots = self.snapshot.slots_of([c.row for c in candidates])
        columns: dict[str, NDArray[np.float64]] = {}
        if plan.asks_text:
            if "bm25" in plan.fill:
                columns["bm25"] = self._bm25(slots, candidates, bm25)
            if "tfidf" in plan.fill:
                columns["tfidf"] = self._tfidf(slots)
            if "trigram" in plan.fill:
                columns["trigram"] = _core.trigrams(plan.query.text, [c.text for c in candidates])
        if self.vectors is not None and plan.vector is not None:
            columns["cosine"] = _cosines(self.vectors, plan.vector, slots)
        return Pool(candidates, [tier] * len(candidates), columns)

    def _tfidf(self, slots: NDArray[np.int64]) -> NDArray[np.float64]:
        out = np.full(len(slots), np.nan)
        known = slots >= 0
        terms = self.snapshot.terms
        if terms is not None:
            out[known] = terms.index.cosines(terms.frequencies, self.plan.query.text, slots[known])
        return out


@contextmanager
def open_moment(store: Store, keeper: Keeper, plan: Plan) -> Iterator[Moment]:
    """Open a transaction and the snapshot of its generation, again when another thread moved on in between."""
    while True:
        with store.reading() as read:
            space, mismatch = _space(read, plan)
            snapshot = keeper.view(read, plan.now, terms="tfidf" in plan.fill, space=space)
            if snapshot is not None:
                if plan.asks_text:
                    keeper.tend(store)
                yield Moment(plan, read, snapshot, space, mismatch)
                return


def _space(read: Reading, plan: Plan) -> tuple[Space | None, VectorError | None]:
    if not plan.asks_vectors or plan.vector is None:
        return None, None
    if plan.space is not None:
        return plan.space, None
    try:
        return choose(read, plan.model, plan.vector.scan.size), None
    except VectorError as fault:
        return None, fault


def _cosines(vectors: VectorRows, query: QueryVector, slots: NDArray[np.int64]) -> NDArray[np.float64]:
    out = np.full(len(slots), np.nan)
    at = vectors.at(slots)
    known = (at >= 0) & (slots >= 0)
    out[known] = _core.cosine_at(query.exact, vectors.rows, at[known])
    return out
