"""Read views of tiers: what those of all backends share, their notes, and the agreement of vectors with words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from septet.errors import VectorError
from septet.model.vector import Space
from septet.notes import Note
from septet.query.parse import TextQuery, parse
from septet.query.plan import SearchPlan
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.fusion import Agreement
from septet.ranking.pool import Candidate, Pool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.model.arrays import Slots
    from septet.sqlite.store.soundness import Unsound

RULE = Agreement()
#: Maximum count of excluded memories.
MOST_MEMORIES = 100


class TierView(Protocol):
    """A read view of a batch of queries.

    The plans differ in their queries and query vectors; filters, limits and profile are those of the first.

    Attributes:
        space: space that query vectors are compared in; None without any.
        mismatch: error if the vault only has vectors of other models or dimensions.
        without_vectors: number of entries without a vector of the space, and their total; with memories, if searched.
        disagrees: True if words decide, because vectors hardly agree with them.
        unknown: ids of plans with a term that no entry contains.
        whole: number of matches with all needed words, by id of plan.
        answered: step of the cascade with matches, by id of plan.
    """

    plans: Sequence[SearchPlan]
    plan: SearchPlan
    space: Space | None
    mismatch: VectorError | None
    without_vectors: tuple[int, int]
    disagrees: bool
    unknown: set[int]
    answered: dict[int, int | None]

    def candidates(self, tier: int) -> list[tuple[Pool, int]]:
        """Return the candidates of each plan, and the number of full-text matches before the cut.

        Args:
            tier: place of the tier among the searched ones.
        """

    def term_counts(self, plan: SearchPlan) -> TermCounts:
        """Return the number of entries, in total and with each term of a plan."""

    def other_models(self) -> list[str]:
        """Return the other models with vectors of the dimension of the space."""

    @property
    def taken(self) -> int:
        """Number of candidates per leg for the first plan."""
        return self.plan.taken(compared=self.space is not None and self.plan.asks_vectors)

    def at_step(self, plan: SearchPlan) -> SearchPlan:
        """Reduce a cascade to its step with matches, or to its last step without any."""
        if len(plan.query.steps) < 2:
            return plan
        step = self.answered.get(id(plan))
        return plan._replace(query=plan.query.at_step(-1 if step is None else step))

    def vector_notes(self, tier: str) -> list[Note]:
        """Return the notes on vectors that are missing, disagree with words, or are those of one of several models."""
        plan, space, (missing, of), notes = self.plan, self.space, self.without_vectors, list[Note]()
        if missing and plan.asks_vectors:
            effect = "their similarity was estimated" if plan.profile.estimates else "they count as not near"
            cause = f"{missing} of {of} entries have no vector yet; {effect}"
            notes.append(Note("vectors_incomplete", cause, "embed(), or add entries with vector=", tier))
        if space is not None and self.disagrees and plan.asks_text:
            cause = f"the vectors of {space.model!r} barely separate related entries from unrelated ones: "
            cure = "check that all come from this model, and add those that do not again"
            notes.append(Note("vectors_disagree", f"{cause}results are ranked by words", cure, tier))
        if space is not None and plan.model is None and (others := self.other_models()):
            cause = f"compared with vectors of model {space.model!r}, not of {', '.join(map(repr, others))}"
            notes.append(Note("model_assumed", cause, "name the query vector's model=", tier))
        return notes

    def _query(self, plan: SearchPlan, hits: tuple[Slots, NDArray[np.float64]] | None) -> tuple[Any, ...]:
        query, vector = plan.query, plan.vector if self.space is not None and plan.asks_vectors else None
        terms = query.terms if plan.asks_text else ()
        steps = [step[1:] for step in query.steps] if query.steps else ()
        return query.text, terms, query.words, query.grams, vector, hits, query.needed, steps

    def _feedback(self) -> tuple[int, int, int, float] | None:
        """Return the feedback rule; None if most entries have vectors, or several tiers must be comparable."""
        missing, of = self.without_vectors
        if self.plan.needs_ids or (self.space is not None and 3 * missing < 2 * of):
            return None
        if self.space is None and "feedback" not in self.plan.profile.text_columns:
            return None
        rule = self.plan.profile.text.feedback
        return rule.rows, rule.terms, rule.agreeing, rule.covered


def look(plan: SearchPlan) -> int:
    """Return the number of full-text matches to read: enough to decide the small-corpus guard."""
    return plan.candidates if plan.limit is not None else max(plan.candidates, plan.profile.cuts.guard_below)


def measured(
    plan: SearchPlan,
    drawn: Sequence[Candidate],
    view_of: Callable[[Sequence[SearchPlan]], TierView],
    units_of: Callable[[Sequence[int]], NDArray[np.float64]],
    pairs: tuple[float, float],
) -> float:
    """Return the agreement of a space's vectors with words: from 0, none, to 1, that of a working model.

    The cosine of an entry with others that share its rarest words is expressed as a z-score against random pairs. Most
    are positive for a working model, and half for random or broken vectors.

    Args:
        plan: a search of the space; its profile defines words.
        drawn: random entries with a vector.
        view_of: returns the read view of plans.
        units_of: returns the unit vectors of rows ``(m, d)``, NaN without one.
        pairs: mean and standard deviation of the cosines of random pairs.
    """
    if len(drawn) < RULE.least_entries:
        return 1.0
    plans = [_plan(plan, f"{entry.title}\n{entry.description}") for entry in drawn]
    view = view_of(plans)
    view.plans = [_rarest(p, view.term_counts(p)) for p in plans]
    near = [
        [row for row in pool.rows if row != entry.row][: RULE.nearest]
        for entry, (pool, _) in zip(drawn, view.candidates(0))
    ]
    rows = list(dict.fromkeys(row for entry, others in zip(drawn, near) for row in (entry.row, *others)))
    unit = dict(zip(rows, units_of(rows)))
    mean, deviation = pairs
    deviations = []
    for entry, others in zip(drawn, near):
        cosines = np.array([unit[entry.row] @ unit[row] for row in others])
        cosines = cosines[cosines < RULE.same]
        if len(cosines) >= RULE.least_near:
            deviations.append(float((cosines.mean() - mean) / deviation))
    if len(deviations) < RULE.least_entries:
        return 1.0
    quantile = sorted(deviations)[int(RULE.far * len(deviations))]
    return min(max((quantile - RULE.none) / (RULE.full - RULE.none), 0.0), 1.0)


def _plan(plan: SearchPlan, text: str) -> SearchPlan:
    """Return the plan of a text-only search for the words of a text."""
    return plan._replace(
        query=parse(text, plan.profile.text),
        filters={},
        vector=None,
        legs=frozenset({"text"}),
        candidates=RULE.nearest + 1,
        corpus_columns=frozenset(),
        needs_ids=False,
        typos=False,
        boost_tags=(),
    )


def _rarest(plan: SearchPlan, counts: TermCounts) -> SearchPlan:
    query = plan.query
    rare = range(2, max(2, counts.entries // RULE.common) + 1)
    shared = [term for term in dict.fromkeys(query.terms) if counts.holding.get(term, 0) in rare]
    rarest = set(sorted(shared, key=counts.holding.__getitem__)[: RULE.rarest])
    words = [term for term in dict.fromkeys(query.terms[: query.words]) if term in rarest]
    terms = (*words, *(term for term in shared if term in rarest and term not in words))
    return plan._replace(query=TextQuery(query.text, terms, 0, query.grams, query.has_phrase, words=len(words)))


def constants_of_fts5(tier: str) -> Note:
    """Return the note that the BM25 constants of a profile were not used."""
    cause = "FTS5 ranked the full text of this query, by its own k1 = 1.2 and b = 0.75"
    cure = "nothing once the index is in memory; a term that FTS5 splits into several always needs it"
    return Note("constants_of_fts5", cause, cure, tier)


def memories_left_out(count: int, tier: str) -> Note:
    """Return the note on matching memories excluded from a search."""
    number = f"{MOST_MEMORIES} or more memories" if count >= MOST_MEMORIES else f"{count} memories"
    cause = f"{number if count > 1 else '1 memory'} with a word of the query {'were' if count > 1 else 'was'} left out"
    return Note("memories_left_out", cause, "ask with include_memories=True (--memories), or recall()", tier)


def no_vectors(tier: str) -> Note:
    """Return the note that a query vector had no vectors to be compared with."""
    cause = "a query vector was given, but this vault holds no vectors"
    return Note("no_vectors", cause, "add entries with vector=", tier)


def rows_left_out(rows: Sequence[Unsound], tier: str) -> Note:
    """Return the note on rows with invalid content, which were excluded."""
    more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
    cause = f"skipped rows that are damaged or were written by another program: {rows[0]}{more}"
    return Note("rows_left_out", cause, "see `septet doctor`, restore a backup, or store them again", tier)
