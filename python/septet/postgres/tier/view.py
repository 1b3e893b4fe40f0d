"""The reads of a batch of queries on PostgreSQL: a transaction, statistics, candidates, a small corpus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.store.packing import unpacked
from septet.postgres.store.pipeline import together
from septet.postgres.tables import fragments as stored
from septet.postgres.tables import nearest, phrases
from septet.postgres.tables.covered import limit
from septet.postgres.tier.apart import term_counts
from septet.postgres.tier.candidates import Chosen, LegCandidates, read_candidates
from septet.postgres.tier.corpus import CountedTerms, SmallCorpus, small_corpus
from septet.postgres.tier.phrases import constants
from septet.postgres.tier.spaces import Compared, SpaceCache, compared, likely
from septet.postgres.tier.statistics import Asking, outside_of
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import EMPTY, Pool
from septet.store.rows import MissingRows
from septet.tiers.view import RULE, TierView, measured

if TYPE_CHECKING:
    from septet.model.arrays import Slots
    from septet.model.vector import Space
    from septet.postgres.store.transactions import PostgresReadTransaction
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.apart import Apart
    from septet.query.plan import SearchPlan
    from septet.ranking.pool import Candidate

#: Extra hits for word feedback: those whose scores differ by rounding may be among the best.
MORE_BEST = 8


class PostgresView(TierView):
    """A read transaction with the results read so far; the twin of SQLite's `ReadView`.

    Args:
        kept: cache of earlier searches.
        asking: the statements sent with its beginning; None if they depend on words of the vault.

    Attributes:
        statistics: of the whole vault.
        whole: by identity of plans that need words, how many matches hold all of them.
        memories: by identity of plans the best memories, where they have a fixed score.
        more_memories: by identity of plans, how many of these match.
        left_out: number of matching memories that the search excludes, by identity of plans.
        apart: separate statistics of memories, by identity of plans.
        found: every entry that was read, by row.
    """

    def __init__(
        self, plans: Sequence[SearchPlan], transaction: PostgresReadTransaction, kept: SpaceCache, asking: Asking | None
    ) -> None:
        self.transaction, self.read = transaction, transaction.reading
        answers = transaction.first
        if asking is None:
            from septet.postgres.tier.vocabulary import words_from
            from septet.tiers.words import MOST_PREFIXED, with_indexed_words

            plans = with_indexed_words(plans, lambda beginnings: words_from(self.read, beginnings, MOST_PREFIXED))
            asking = asking_of(self.read.vault, plans, kept)
            answers = together(self.read, asking.statements)
        settled = phrases.settled(self.read, plans[0].filters)
        self.plans = [plan._replace(filters=settled) for plan in plans] if plans[0].filters else plans
        self.plan = self.plans[0]
        self.terms = asking.terms
        self.statistics = asking.taken(answers)
        kept.spaces = self.statistics.spaces
        self.statistics.outside = outside_of(self.read, self.plan, *self.statistics.counted_outside, kept.outside)
        self._compared, self.mismatch = compared(self.read, self.plans, self.statistics, asking.spaces, kept)
        self.space: Space | None = None
        self.without_vectors = (0, 0)
        if self._compared is not None:
            self.space, has = self._compared[:2]
            self.without_vectors = has.missing, has.entries + has.missing
        self.disagrees = False
        self.unknown: set[int] = set()
        self.whole: dict[int, int] = {}
        self.answered: dict[int, int | None] = {}
        self.memories: dict[int, Sequence[Candidate]] = {}
        self.more_memories: dict[int, int] = {}
        self.left_out: dict[int, int] = {}
        self.apart: dict[int, Apart] = {}
        self.found: dict[int, CandidateRow] = {}
        self._terms_counted, self._kept = CountedTerms(self.statistics), kept

    def close(self) -> None:
        """End the transaction."""
        self.transaction.end()

    def candidates(self, tier: int) -> list[tuple[Pool, int]]:
        """Return the candidates of each plan, and the number of full-text matches before the cut."""
        plan = self.plan
        if plan.scans_words:
            return [self._nearest_by_words(tier, query) for query in range(len(self.plans))]
        has = self._compared
        if has is not None and plan.profile.balance is not None:
            agreement, large = has.sample.agreement, has.sample.population >= RULE.least_entries
            if agreement is None and large:
                agreement = self._measured_agreement(has)
            self.disagrees = agreement is not None and agreement < RULE.low
        chosen = read_candidates(self.read, self.plans, self.statistics, self.terms, self.space)
        self.found.update(chosen.found)
        self.apart.update((id(self.plans[at]), own) for at, own in chosen.apart.items())
        feedback = None if self.space is not None and not self.without_vectors[0] else self._feedback()
        self._tell(chosen, feedback)
        small = self._corpus([*chosen.found.values()])
        cuts = plan.profile.cuts
        results = small.corpus.recall(
            [self._query(item, _given(item, small, answered)) for item, answered in zip(self.plans, chosen.answered)],
            tier=tier,
            k=(plan.candidates, plan.taken(compared=True)),
            guard=None if plan.limit is not None else (cuts.guard_below, cuts.limit),
            weights=plan.profile.text.weights.array,
            columns=plan.corpus_columns,
            space=small.space,
            constants=plan.profile.text.constants,
            feedback=feedback,
        )
        for item, answered in zip(self.plans, chosen.answered):
            self.memories[id(item)], self.more_memories[id(item)] = answered.memories, answered.more
            self.left_out[id(item)] = answered.left_out
            if item.query.steps:
                self.answered[id(item)] = answered.step
            if item.query.needed:
                self.whole[id(item)] = answered.whole
            if item.typos and item.asks_text and not item.query.has_phrase and self._lacks_any(item):
                self.unknown.add(id(item))
        return [
            (self._completed(item, pool, by_text), answered.matches)
            for item, answered, (pool, _, by_text, *_) in zip(self.plans, chosen.answered, results)
        ]

    def candidates_at(self, tier: int, query: int, rows: Sequence[int]) -> Pool:
        """Return live entries at rows ``(m,)`` as candidates of a plan, every column filled."""
        if not rows:
            return EMPTY
        plan = self.at_step(self.plans[query])
        entries = self.entries_at(rows)
        if "tfidf" in plan.corpus_columns:
            self._terms_counted.add_tokens([plan.query.text, *(entry.candidate.text for entry in entries)])
            self._terms_counted.ask(self.read)
        small = self._corpus(entries)
        pool = small.corpus.candidates_at(
            self._query(plan, _given(plan, small, LegCandidates())),
            small.slots_of(rows),
            tier=tier,
            weights=plan.profile.text.weights.array,
            columns=plan.corpus_columns,
            space=small.space,
            constants=plan.profile.text.constants,
        )
        if plan.scans_words:
            from septet.postgres.tier.likeness import cosines_of

            of_rows = dict(zip(rows, cosines_of(self, plan.query.text, entries)))
            pool = pool.with_columns({"tfidf": np.array([of_rows[row] for row in pool.rows])})
        return self._completed(self.plans[query], pool, 0)

    def bm25_of_grams(self, entry: CandidateRow) -> float:
        """Return the share of parts of words and names in the BM25 of an entry."""
        plan, small = self.at_step(self.plan), self._corpus([entry])
        pool = small.corpus.candidates_at(
            self._query(plan, _given(plan, small, LegCandidates())),
            small.slots_of([entry.candidate.row]),
            tier=0,
            weights=plan.profile.text.weights.array,
            columns={"bm25", "bm25_grams"},
            constants=plan.profile.text.constants,
        )
        return float(pool.columns["bm25_grams"][0])

    def entries_at(self, rows: Sequence[int]) -> list[CandidateRow]:
        """Return live entries at rows ``(m,)``; those not read yet take one round trip."""
        missing = [row for row in dict.fromkeys(rows) if row not in self.found]
        if missing:
            (more,) = together(self.read, [stored.of_rows(self.read.vault, missing, self.space)])
            self.found.update((plan.candidate.row, plan) for plan in stored.all_of(more))
        return [self.found[row] for row in rows if row in self.found]

    def facts_at(self, rows: Sequence[int]) -> list[Candidate]:
        """Return live entries at rows ``(m,)``.

        Raises:
            MissingRows: one of them is not there.
        """
        entries = self.entries_at(rows)
        if len(entries) < len(rows):
            raise MissingRows(f"{len(rows) - len(entries)} of {len(rows)} rows are not in the vault")
        return [entry.candidate for entry in entries]

    def unit_rows(self, rows: Sequence[int]) -> NDArray[np.float64]:
        """Return the unit vectors of entries ``(m, d)``, NaN without one."""
        assert self.space is not None
        units = np.full((len(rows), self.space.dimensions), np.nan)
        vectors = [plan.vector for plan in self.entries_at(rows)]
        at = [place for place, vector in enumerate(vectors) if vector is not None]
        if at:
            held = [vector for vector in vectors if vector is not None]
            units[at] = _core.unit_rows(unpacked(self.read.vault.vectors, held, self.space.dimensions))
        return units

    def other_models(self) -> list[str]:
        """Return the models that have vectors of as many dimensions as the space, but for its own."""
        space = self.space
        if space is None:
            return []
        others = [plan for plan in self.statistics.spaces if plan.dimensions == space.dimensions]
        return sorted(other.model for other in others if other.model != space.model)

    def term_counts(self, plan: SearchPlan) -> TermCounts:
        """Return the number of entries, and how many of them hold each term of a plan."""
        statistics, names, grams, (k1, _) = self.statistics, self.terms.names, plan.query.grams, constants(plan)
        if id(plan) in self.apart:
            return term_counts(plan, statistics, self.terms, self.apart[id(plan)])
        if plan.query.steps:
            begun = {term: statistics.begun.get(self.terms.stem(term), 0) for term in plan.query.terms}
            return TermCounts(statistics.rows, begun, k1)
        holding = {term: statistics.holding(names.get(term), grams=grams) for term in dict.fromkeys(plan.query.terms)}
        return TermCounts(statistics.rows, holding, k1)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _measured_agreement(self, has: Compared) -> float:
        shift, memories = has.covered.shift, has.covered.memories
        statement = nearest.drawn(self.read.vault, has.space, limit(shift), RULE.entries, memories=memories)
        (rows,) = together(self.read, [statement])
        agreement = measured(
            self.plan,
            self.facts_at([row for (row,) in rows]),
            lambda plans: PostgresView(plans, self.transaction, self._kept, None),
            self.unit_rows,
            has.sample.pairs,
        )
        has.sample.agree(agreement)
        return agreement

    def _lacks_any(self, plan: SearchPlan) -> bool:
        if plan.query.steps:
            return not all(self.statistics.begun.get(self.terms.stem(term), 0) for term in plan.query.terms)
        tables = (TEXTS, GRAMS) if plan.query.grams else (TEXTS,)
        names = self.terms.of(plan.query.terms)
        return any(not any(self.statistics.count(part, name) for part in tables) for name in names)

    def _tell(self, chosen: Chosen, feedback: tuple[int, int, int, float] | None) -> None:
        """Count the terms of the candidates, if the profile needs them."""
        if "tfidf" in self.plan.corpus_columns:
            texts = [entry.candidate.text for entry in chosen.found.values()]
            self._terms_counted.add_tokens([*(plan.query.text for plan in self.plans), *texts])
        if "feedback" in self.plan.corpus_columns and feedback is not None:
            best = [row for item in chosen.answered for row in item.by_text[: feedback[0] + MORE_BEST]]
            self._terms_counted.add_text([chosen.found[row] for row in dict.fromkeys(best)])
        self._terms_counted.ask(self.read)

    def _corpus(self, entries: Sequence[CandidateRow]) -> SmallCorpus:
        return small_corpus(
            entries,
            self.statistics,
            self.terms,
            terms_counted=self._terms_counted.stored,
            columns=self.plan.corpus_columns,
            space=self._compared,
        )

    def _nearest_by_words(self, tier: int, query: int) -> tuple[Pool, int]:
        from septet.postgres.tier.likeness import nearest_by_words

        rows = nearest_by_words(self, query)
        return self.candidates_at(tier, query, rows), len(rows)

    def _completed(self, plan: SearchPlan, pool: Pool, by_text: int) -> Pool:
        """Fill the columns that need no corpus, or that it cannot give.

        Args:
            by_text: the candidates that full text found, the first ones.
        """
        if plan.query.has_phrase and plan.asks_text:
            from septet.postgres.tier.completion import ranked_by_phrases

            entries = [self.found[row] for row in pool.rows]
            counts, memories = self.term_counts(plan), self.apart.get(id(plan))
            item = self.at_step(plan)
            pool = ranked_by_phrases(item, pool, entries, by_text, self.statistics, self.terms, counts, memories)
        late = self.without_vectors[0] > 0 and plan.asks_text and plan.vector is not None
        if not plan.boost_tags and not plan.needs_ids and not late:
            return pool
        facts = [self.found[row].candidate for row in pool.rows]
        if late:
            from septet.tiers.words import titled

            pool = titled(plan, pool, lambda rows: [self.found[row].candidate.title for row in rows])
        if plan.boost_tags:
            tags = _core.jaccard(list(plan.boost_tags), [candidate.tags for candidate in facts])
            pool = pool.with_columns({"tags": tags})
        return pool.with_ids([candidate.id for candidate in facts]) if plan.needs_ids else pool


def asking_of(vault: VaultRow, plans: Sequence[SearchPlan], kept: SpaceCache) -> Asking:
    """Return the first statements of a search of these plans."""
    return Asking(vault, plans, likely(plans, kept.spaces))


def _given(plan: SearchPlan, small: SmallCorpus, answered: LegCandidates) -> tuple[Slots, NDArray[np.float64]] | None:
    """Return the slots and scores by full text of a query with a phrase, which the server ranked; None for others."""
    if not (plan.query.has_phrase and plan.asks_text):
        return None
    return small.slots_of(answered.by_text), np.array(answered.scores, dtype=np.float64)
