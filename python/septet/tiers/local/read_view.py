"""What one search reads of a local store: a transaction, the snapshot of its generation, and the columns it fills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import VectorError
from septet.query.plan import Plan
from septet.ranking.pool import Pool
from septet.snapshot.arrays import Mask, Slots
from septet.snapshot.manager import SnapshotManager
from septet.snapshot.snapshot import Snapshot, VectorRows
from septet.spaces import Space
from septet.storage.store import Reading, Store
from septet.storage.tables import entries, fulltext
from septet.storage.tables.candidates import rows_where
from septet.storage.tables.conditions import chosen
from septet.storage.tables.vectors import choose

__all__ = ["NO_HITS", "ReadView", "TextHits", "open_read_view"]

Column: TypeAlias = NDArray[np.float64]


class TextHits(NamedTuple):
    """Slots and their BM25 scores ``(m,)``, best first; see `septet.storage.tables.fulltext.FtsRows`."""

    slots: Slots
    scores: Column
    fallback: bool


NO_HITS = TextHits(np.empty(0, dtype=np.int64), np.empty(0), False)


@dataclass(frozen=True, eq=False, repr=False)
class ReadView:
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
    def allowed(self) -> Mask | None:
        """Which slots pass every filter ``(s,)``, None when all do.

        Filters named by the caller are asked of SQLite, once a generation.
        """
        snapshot, plan = self.snapshot, self.plan
        allowed = snapshot.allowed(None if plan.include_expired else plan.now)
        own = chosen(plan)
        if own is None:
            return allowed
        mask = snapshot.mask(own, lambda: rows_where(self.read, own))
        return mask if allowed is None else allowed & mask

    @cached_property
    def _parts(self) -> list[tuple[_core.TextIndex, _core.Statistics, NDArray[np.float64]]] | None:
        """What ranks full text in memory; None while FTS5 has to: no postings yet, or a term that is a phrase."""
        postings, query = self.snapshot.postings, self.plan.query
        if postings is None or any(len(_core.index_terms(t)) > 1 for t in set(query.terms)):
            return None
        return postings.parts(self.plan.profile.text.weights, grams=query.grams)

    def text(self, take: int) -> TextHits:
        """Return the best ``take`` slots by BM25 among those that pass the filters; ties by row."""
        parts, snapshot = self._parts, self.snapshot
        if parts is None:
            found = fulltext.recall(self.read, self.plan, take)
            return TextHits(snapshot.slots_of(found.rows), np.array(found.scores, dtype=np.float64), found.fallback)
        slots, scores, _ = _core.bm25_top_k(parts, self.plan.query.terms, take, self.allowed, ties=snapshot.rows)
        return TextHits(slots, scores, False)

    def _bm25(self, slots: Slots, known: TextHits) -> Column:
        """Return the scores of slots ``(m,)``, 0 where no term matches; those known already come first."""
        others = slots[len(known.slots) :]
        if not len(others):
            return known.scores
        if self._parts is not None:
            scores = _core.bm25_at(self._parts, self.plan.query.terms, others)
            scores = np.where(np.isnan(scores), 0.0, scores)
        else:
            rows = self.snapshot.rows[others].tolist()
            found = fulltext.score_rows(self.read, self.plan, rows)
            scores = np.array([found.get(row, 0.0) for row in rows], dtype=np.float64)
        return np.concatenate([known.scores, scores])

    def nearest(self) -> Slots:
        """Return the slots of the vectors nearest to the query's, among those that pass the filters."""
        vectors, query = self.vectors, self.plan.vector
        if vectors is None or query is None:
            return np.empty(0, dtype=np.int64)
        found, _ = vectors.nearest(query.scan, self.plan.taken, self.rows_allowed)
        return vectors.slots[found]

    @property
    def rows_allowed(self) -> Mask | None:
        """Which vectors pass every filter ``(v,)``, None when all do."""
        return None if self.space is None else self.snapshot.rows_allowed(self.space.space, self.allowed)

    def pool(self, tier: int, slots: Slots, known: TextHits | None = None) -> Pool:
        """Return candidates with every column that needs the corpus filled, whichever leg found them.

        Args:
            tier: the tier's place among those that are asked.
            slots: ``(m,)``.
            known: scores of the first slots, found by the text leg.
        """
        plan, snapshot = self.plan, self.snapshot
        columns = snapshot.times(slots)
        rows: list[int] = snapshot.rows[slots].tolist()
        if plan.asks_text:
            if "bm25" in plan.fill:
                columns["bm25"] = self._bm25(slots, NO_HITS if known is None else known)
            if "tfidf" in plan.fill:
                columns["tfidf"] = self._tfidf(slots)
            if "trigram" in plan.fill:
                columns["trigram"] = self._trigram(slots, rows)
        if self.vectors is not None and plan.vector is not None:
            columns["cosine"] = _core.cosine_at(plan.vector.exact, self.vectors.rows, self.vectors.at(slots))
        facts: dict[str, Sequence[Any]] = {**snapshot.facts.texts(slots)}
        if plan.tags:
            facts["tags"] = entries.tags_at(self.read, rows)
        if plan.asks_ids:
            facts["id"] = entries.ids_at(self.read, rows)
        return Pool(rows, [tier] * len(rows), facts, columns)

    def _trigram(self, slots: Slots, rows: Sequence[int]) -> Column:
        postings, text = self.snapshot.postings, self.plan.query.text
        if postings is None:
            return _core.trigrams(text, entries.texts_at(self.read, rows))
        return postings.spelling.cosines(text, slots)

    def _tfidf(self, slots: Slots) -> Column:
        terms = self.snapshot.terms
        if terms is None:
            return np.full(len(slots), np.nan)
        return terms.index.cosines(terms.frequencies, self.plan.query.text, slots)


@contextmanager
def open_read_view(store: Store, manager: SnapshotManager, plan: Plan) -> Iterator[ReadView]:
    """Open a transaction and the snapshot of its generation, again when another thread moved on in between."""
    while True:
        with store.reading() as read:
            space, mismatch = _space(read, manager, plan)
            snapshot = manager.view(read, plan.now, terms="tfidf" in plan.fill, space=space)
            if snapshot is not None:
                if plan.asks_text:
                    manager.schedule(store)
                yield ReadView(plan, read, snapshot, space, mismatch)
                return


def _space(read: Reading, manager: SnapshotManager, plan: Plan) -> tuple[Space | None, VectorError | None]:
    if not plan.asks_vectors or plan.vector is None:
        return None, None
    if plan.space is not None:
        return plan.space, None
    model, dimensions = plan.model, plan.vector.scan.size

    def ask() -> tuple[Space | None, VectorError | None]:
        try:
            return choose(read, model, dimensions), None
        except VectorError as fault:
            return None, fault

    return manager.remembered(read, ("space", model, dimensions), ask)
