"""Read view of a local store for a batch of queries: a transaction, and the snapshot of its generation."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from septet import _core
from septet._core import ReadTransaction
from septet.errors import StoreBusy, StoreError, VectorError
from septet.model.vector import Space
from septet.profiles import ProfileLike
from septet.query.options import DEFAULTS
from septet.query.plan import SearchPlan, make_plan
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import Pool
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.snapshot import Snapshot, VectorRows
from septet.sqlite.store.store import SqliteReading, SqliteStore
from septet.sqlite.tables import entries
from septet.tiers.view import RULE, TierView, look, measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.model.arrays import Mask, Slots
    from septet.store.rows import Condition

_Answer = TypeVar("_Answer")

#: Maximum attempts to open a view while other threads publish later snapshots.
TURNS = 1_000


class ReadView(TierView):
    """A read transaction with the snapshot of the same generation.

    Attributes:
        fallbacks: ids of plans ranked by FTS5's default rank, because ``bm25()`` is missing.
        whole: number of matches with all needed words, by id of plan.
        uncertain: ids of plans for which nearer vectors may have been missed.
        leading: candidates of the first plan, and how many of them were found by words, the best first; None where FTS5
            found them, or nothing was searched.
    """

    def __init__(
        self,
        plans: Sequence[SearchPlan],
        transaction: ReadTransaction,
        manager: SnapshotManager,
        snapshot: Snapshot,
        space: Space | None,
        mismatch: VectorError | None,
    ) -> None:
        self.plans, self.plan = plans, plans[0]
        self.transaction, self.read = transaction, transaction.reading
        self.manager, self.snapshot = manager, snapshot
        self.corpus = snapshot.corpus_with_memories if self.plan.scores_memories else snapshot.corpus
        self.space, self.mismatch = space, mismatch
        self.without_vectors = NONE_OF_NONE
        if space is not None:
            memories = self.plan.scores_memories
            # The cache first, which saves a call in every search.
            self.without_vectors = snapshot.unembedded.get((space.space, memories)) or snapshot.without_vectors(
                space.space, memories
            )
        self.disagrees = False
        self.fallbacks: set[int] = set()
        self.unknown: set[int] = set()
        self.uncertain: set[int] = set()
        self.whole: dict[int, int] = {}
        self.answered: dict[int, int | None] = {}
        self.leading: tuple[Pool, int] | None = None

    def close(self) -> None:
        """End the transaction."""
        self.transaction.end()

    def remembered(self, key: object, ask: Callable[[], _Answer]) -> _Answer:
        """Return a cached answer of the store at this generation (see `Answers.remembered`)."""
        return self.manager.remembered(self.read, key, ask)

    @property
    def vectors(self) -> VectorRows | None:
        """The vectors of the space."""
        return None if self.space is None else self.snapshot.vectors[self.space.space]

    def links(self) -> _core.Links:
        """Return the links of the store, loaded on first use."""
        self.snapshot = self.manager.linked(self.snapshot, self.read)
        assert self.snapshot.links is not None
        return self.snapshot.links

    def candidates(self, tier: int) -> list[tuple[Pool, int]]:
        """Return the candidates of each plan, and the number of full-text matches before the cut."""
        plan = self.plan
        if plan.scans_words:
            return [self._nearest_by_words(tier, query) for query in range(len(self.plans))]
        cuts, space = plan.profile.cuts, self._space()
        if space is not None and plan.profile.balance is not None:
            agreement, large = space[5].agreement, space[5].population >= RULE.least_entries
            if agreement is None and large and self.snapshot.postings is not None:
                agreement = self._measured_agreement(space[0], space[5])
            self.disagrees = agreement is not None and agreement < RULE.low
        by_fts5 = [self._by_fts5(p) for p in self.plans]
        results = self.corpus.recall(
            [self._query(p, None if hits is None else hits[:2]) for p, hits in zip(self.plans, by_fts5)],
            tier=tier,
            k=(plan.candidates, plan.taken(compared=True)),
            guard=None if plan.limit is not None else (cuts.guard_below, cuts.limit),
            weights=plan.profile.text.weights.array,
            columns=plan.corpus_columns,
            space=space,
            selection=self.selection(),
            constants=plan.profile.text.constants,
            feedback=None if self.space is not None and not self.without_vectors[0] else self._feedback(),
            recall=self.manager.recall,
        )
        if by_fts5[0] is None:
            self.leading = results[0][0], results[0][2]
        if plan.profile.text.match == "all":
            for p, hits, (_, _, _, _, whole, *_) in zip(self.plans, by_fts5, results):
                self.whole[id(p)] = whole if hits is None else hits[3]
        elif plan.profile.text.match == "cascade":
            for p, hits, (_, _, _, _, _, step, _) in zip(self.plans, by_fts5, results):
                self.answered[id(p)] = step if hits is None else hits[4]
        if plan.typos:
            for p, (_, _, _, has_unknown, *_) in zip(self.plans, results):
                if has_unknown:
                    self.unknown.add(id(p))
        if self.manager.recall < 1:
            self.uncertain = {id(p) for p, (*_, certain) in zip(self.plans, results) if not certain}
        return [
            (self._completed(p, pool, None if hits is None else by_text), matches if hits is None else hits[2])
            for p, hits, (pool, matches, by_text, *_) in zip(self.plans, by_fts5, results)
        ]

    def candidates_at(self, tier: int, query: int, slots: Slots) -> Pool:
        """Return slots ``(m,)`` as candidates of a plan, with all columns filled."""
        plan = self.at_step(self.plans[query])
        pool = self.corpus.candidates_at(
            self._query(plan, _NONE if self.needs_fts5(plan) else None),
            slots,
            tier=tier,
            weights=plan.profile.text.weights.array,
            columns=plan.corpus_columns,
            space=self._space(),
            constants=plan.profile.text.constants,
        )
        if plan.scans_words:
            from septet.sqlite.tier.completion import cosines_of

            pool = pool.with_columns(
                {"tfidf": cosines_of(self.snapshot, plan.query.text, slots, memories=plan.scores_memories)}
            )
        return self._completed(plan, pool, 0 if self.needs_fts5(plan) else None)

    def _measured_agreement(self, space: int, sample: _core.Sample) -> float:
        snapshot, vectors = self.snapshot, self.snapshot.vectors[space]
        at = np.flatnonzero(vectors.keys <= sample.limit(sample.population))
        eligible = snapshot.alive if self.plan.scores_memories else snapshot.alive & snapshot.searchable
        at = at[eligible[vectors.slots[at]]]
        # Rows with equal keys are equal: draw the first of each. `np.unique` would load numpy.ma.
        first = dict(zip(vectors.keys[at[::-1]].tolist(), at[::-1].tolist()))
        drawn = [first[key] for key in sorted(first)[: RULE.entries]]
        agreement = measured(
            self.plan,
            entries.read_rows(self.read, snapshot.rows[vectors.slots[drawn]].tolist()),
            lambda plans: ReadView(plans, self.transaction, self.manager, snapshot, None, None),
            lambda rows: vectors.unit_rows(snapshot.slots_of(rows)),
            sample.pairs,
        )
        sample.agree(agreement)
        return agreement

    def _nearest_by_words(self, tier: int, query: int) -> tuple[Pool, int]:
        from septet.sqlite.tier.completion import nearest_by_words

        plan = self.plans[query]
        allowed, memories = self.selection(), plan.scores_memories
        slots = nearest_by_words(self.snapshot, plan.query.text, allowed, plan.candidates, memories=memories)
        return self.candidates_at(tier, query, slots), len(slots)

    def matches(self, query: int = 0) -> Pool:
        """Return all full-text matches of a plan, best first, ranked in memory."""
        plan = self.plans[query]
        all_slots = max(1, len(self.snapshot.rows))
        (result,) = self.corpus.recall(
            [self._query(plan, None)],
            tier=0,
            k=(all_slots, all_slots),
            guard=None,
            weights=plan.profile.text.weights.array,
            columns={"bm25"},
            selection=self.selection(),
            constants=plan.profile.text.constants,
        )
        return result[0]

    def needs_fts5(self, plan: SearchPlan) -> bool:
        """Return True if FTS5 ranks a plan: full text is not in memory yet, or a term is a phrase."""
        return plan.asks_text and (self.snapshot.postings is None or plan.query.has_phrase)

    def term_counts(self, plan: SearchPlan) -> TermCounts:
        """Return the number of entries, in total and with each term of a plan."""
        terms = plan.query.terms
        prefix_weights = plan.profile.text.weights.array if plan.query.steps else None
        if not self.needs_fts5(plan) and (counts := self.corpus.term_counts(terms, plan.query.grams, prefix_weights)):
            return TermCounts(counts[0], dict(zip(terms, counts[1])), plan.profile.text.k1)
        from septet.sqlite.tables import fulltext

        return fulltext.counts(self.read, plan, self.remembered("term counts", dict[tuple[str, bool], int]))

    def other_models(self) -> list[str]:
        """Return the other models with vectors of the dimension of the space."""
        from septet.sqlite.tables.vectors import models_of

        space = self.space
        if space is None:
            return []
        models = self.remembered(("models", space.dimensions), lambda: models_of(self.read, space.dimensions))
        return [model for model in models if model != space.model]

    def mask(self) -> Mask:
        """Return the mask of slots that pass all filters ``(s,)``."""
        return self.snapshot.mask(self._now(), self.plan.scores_memories, self._filter()[1])

    def _by_fts5(self, plan: SearchPlan) -> tuple[Slots, NDArray[np.float64], int, int, int | None] | None:
        """Return FTS5's best slots and scores, the number of matches, of those with every word, and the cascade's step.

        None if the full text is ranked in memory.
        """
        if not self.needs_fts5(plan):
            return None
        from septet.sqlite.tables import fulltext

        step: int | None = None
        if plan.query.steps:
            hits, step = fulltext.cascade(self.read, plan, look(plan))
        else:
            hits = fulltext.candidates(self.read, plan, look(plan))
        if hits.fallback:
            self.fallbacks.add(id(plan))
        scores = np.array(hits.scores, dtype=np.float64)
        return self.snapshot.slots_of(hits.rows), scores, hits.matches, hits.whole, step

    def _space(self) -> tuple[Any, ...] | None:
        space = self.space
        if space is None:
            return None
        vectors = self.snapshot.vectors[space.space]
        if self.plan.scores_memories:
            return (space.space, *vectors[:4], self.snapshot.sample_with_memories(space.space))
        return (space.space, *vectors[:5])

    def _now(self) -> float | None:
        return None if self.plan.include_expired else self.plan.now

    def selection(self) -> _core.Selection | None:
        """Return the slots that pass all filters; None for all."""
        if not self.plan.filters:
            return self.snapshot.selection(self._now(), self.plan.scores_memories)
        return self.snapshot.selection(self._now(), self.plan.scores_memories, *self._filter())

    def _filter(self) -> tuple[Condition | None, Callable[[], Sequence[int]] | None]:
        """Return the combined filters of the caller, and a function that reads the passing rows from SQLite."""
        if not self.plan.filters:
            return None, None
        from septet.sqlite.tables.conditions import filtered, rows_where

        condition = filtered(self.plan.filters)
        return condition, lambda: rows_where(self.read, condition)

    def _completed(self, plan: SearchPlan, pool: Pool, by_text: int | None) -> Pool:
        """Fill the columns of a pool that only SQLite has.

        Args:
            by_text: number of leading candidates with a BM25 score by FTS5; None if scored in memory.
        """
        late = self.without_vectors[0] > 0 and plan.asks_text and plan.vector is not None
        if by_text is None and not plan.boost_tags and not plan.needs_ids and not late:
            return pool
        rows = pool.rows
        if plan.asks_text and by_text is not None:
            from septet.sqlite.tier.completion import ranked_by_fts5

            pool = ranked_by_fts5(self.read, self.at_step(plan), pool, by_text, self.term_counts(plan))
        if late:
            from septet.tiers.words import titled

            pool = titled(plan, pool, lambda at: entries.column_at(self.read, "title", at))
        if plan.boost_tags:
            tags = _core.jaccard(list(plan.boost_tags), entries.tags_at(self.read, rows))
            pool = pool.with_columns({"tags": tags})
        return pool.with_ids(entries.ids_at(self.read, rows)) if plan.needs_ids else pool


NONE_OF_NONE = (0, 0)
_NONE = (np.empty(0, dtype=np.int64), np.empty(0))


def open_read_view(store: SqliteStore, manager: SnapshotManager, *plans: SearchPlan) -> ReadView:
    """Begin a transaction and take the snapshot of its generation; retry if another thread published a later one.

    Raises:
        StoreError: the file cannot be read.
        StoreBusy: the store kept changing.
    """
    plan = plans[0]
    vector_plan, asks_text = plan, False
    for candidate in plans:
        vector_plan = vector_plan if candidate.vector is None else candidate
        asks_text = asks_text or candidate.asks_text
    for _ in range(TURNS):
        seen = manager.current
        transaction = store.begin_reading()
        try:
            read = transaction.reading
            space, mismatch = _chosen_space(read, manager, vector_plan)
            snapshot = manager.view(
                read, plan.now, text=asks_text, terms="tfidf" in plan.corpus_columns, space=space, seen=seen
            )
            if snapshot is not None and store.at_rest is not None and snapshot is not seen and store.disturbed:
                # Another program wrote the file during the read.
                manager.forget()
                snapshot = None
            if snapshot is not None:
                if snapshot is not seen and read[1:] != store.identity.seen:
                    store.identity.saw(read.sql, read[1:])
                if asks_text and not plan.follows:
                    manager.schedule(store)
                # `SearchPlan.begins_words`, inlined.
                if plan.query.begun or (plan.required is not None and plan.required.without):
                    from septet.sqlite.tier.completion import completed

                    plans = tuple(completed(plans, snapshot))
                return ReadView(plans, transaction, manager, snapshot, space, mismatch)
        except BaseException as fault:
            transaction.end()
            if isinstance(fault, (sqlite3.Error, StoreError)) and store.at_rest is not None and store.disturbed:
                continue
            raise
        transaction.end()
    raise StoreBusy(f"{store.path} changed {TURNS} times while a search opened it: search again")


def measured_agreement(
    store: SqliteStore,
    clock: Callable[[], float],
    profile: ProfileLike,
    manager: SnapshotManager,
    snapshot: Snapshot,
    space: Space,
) -> float | None:
    """Return the agreement of a space's vectors with words, as a first search measures it; None if it cannot."""
    rows, slots, *_, sample, keys = snapshot.vectors[space.space]
    plan = make_plan("words", now=float(clock()), profile=profile, options=DEFAULTS)
    if plan.profile.balance is None or snapshot.postings is None or sample.population < RULE.least_entries:
        return None
    # Drawn again: the sample of the snapshot may remember the agreement of an earlier generation.
    drawn = _core.Sample(rows, keys, slots, snapshot.sampled)
    # The store may have changed since the snapshot.
    with (
        suppress(StoreError, sqlite3.Error),
        closing(ReadView((plan,), store.begin_reading(), manager, snapshot, space, None)) as view,
    ):
        return view._measured_agreement(space.space, drawn)
    return None


def _chosen_space(
    read: SqliteReading, manager: SnapshotManager, plan: SearchPlan
) -> tuple[Space | None, VectorError | None]:
    """Return the space that query vectors are compared in, or None and the error."""
    if plan.vector is None or "vector" not in plan.legs:
        return None, None
    if plan.space is not None:
        return plan.space, None
    model, dimensions = plan.model, plan.vector.scan.size

    def choose() -> tuple[Space | None, VectorError | None]:
        from septet.sqlite.tables import vectors

        try:
            return vectors.choose(read, model, dimensions), None
        except VectorError as fault:
            return None, fault

    return manager.remembered(read, ("space", model, dimensions), choose)
