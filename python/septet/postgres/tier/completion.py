"""Full-text scores of queries with a phrase, which the small corpus of a search cannot rank: it has no positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet.postgres.store.analysis import GRAMS, TEXTS
from septet.postgres.tier import apart
from septet.postgres.tier.phrases import bm25_of, columns_of, constants, times
from septet.query.plan import MEMORY
from septet.ranking.pool import tag_words
from septet.tiers.words import compared_texts, with_matched

if TYPE_CHECKING:
    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.apart import Apart
    from septet.postgres.tier.statistics import QueryTerms, Statistics
    from septet.query.plan import SearchPlan
    from septet.ranking.bm25_scale import TermCounts
    from septet.ranking.pool import Pool


def ranked_by_phrases(
    plan: SearchPlan,
    pool: Pool,
    entries: Sequence[CandidateRow],
    known: int,
    statistics: Statistics,
    terms: QueryTerms,
    counts: TermCounts,
    memories: Apart | None,
) -> Pool:
    """Return the candidates with their BM25 scores, and how much of the query they hold.

    Args:
        known: number of leading candidates with a score by the server.
        memories: separate statistics of memories.
    """
    scores = pool.columns["bm25"]
    if memories is not None:
        statistics = statistics.of_entries()
    score = _score_at_step if plan.query.steps else _score
    scores[known:] = [
        score(plan, entry, statistics, terms)
        if memories is None or entry.candidate.kind != MEMORY
        else apart.score(plan, entry, terms, memories)
        for entry in entries[known:]
    ]
    texts = []
    for entry in entries:
        c = entry.candidate
        fields = (c.id, c.title, c.description, c.context, tag_words(c.tags_json))
        texts.append(compared_texts(plan, fields, entry.grams))
    if plan.query.needed:
        pool = pool.with_columns({"all_words": np.array([float(holds_all(plan, entry, terms)) for entry in entries])})
    return with_matched(plan, pool, scores, texts, counts)


def _score_at_step(plan: SearchPlan, entry: CandidateRow, statistics: Statistics, terms: QueryTerms) -> float:
    """Return the score by the one step of a cascade; 0 without a match."""
    (_, every, words), (k1, b) = plan.query.steps[-1], constants(plan)
    columns = columns_of(TEXTS, entry.candidate, entry.grams)
    norm = k1 * (1 - b + b * sum(map(len, columns)) / statistics.average(TEXTS))
    wanted = [plan.query.terms[at] for at in words]
    idf = [statistics.idf_of(TEXTS, statistics.begun.get(terms.stem(term), 0)) for term in wanted]
    counted = zip([terms.tokens[term] for term in wanted], idf)
    return bm25_of(columns, plan.profile.text.weights.array, counted, k1, norm, begun=True, every=every)


def _score(plan: SearchPlan, entry: CandidateRow, statistics: Statistics, terms: QueryTerms) -> float:
    total, (k1, b) = 0.0, constants(plan)
    wanted = [term for term in plan.query.terms if terms.tokens[term]]
    for part in (TEXTS, GRAMS) if plan.query.grams else (TEXTS,):
        columns = columns_of(part, entry.candidate, entry.grams)
        norm = k1 * (1 - b + b * sum(map(len, columns)) / statistics.average(part))
        counted = [(terms.tokens[term], statistics.idf(part, terms.names[term])) for term in wanted]
        total += bm25_of(columns, plan.profile.text.weights.array if part == TEXTS else [1.0], counted, k1, norm)
    return total


def holds_all(plan: SearchPlan, entry: CandidateRow, terms: QueryTerms) -> bool:
    """Return True if an entry contains every word that a plan needs."""
    parts = (TEXTS, GRAMS) if plan.query.grams else (TEXTS,)
    columns = [column for part in parts for column in columns_of(part, entry.candidate, entry.grams)]
    if plan.query.has_phrase and entry.candidate.kind == MEMORY:
        # FTS5 has no context of memories.
        columns[3] = []

    def holds(term: str) -> bool:
        """Return True if any column has the term."""
        return any(times(column, terms.tokens[term]) for column in columns)

    def held(forms: Sequence[str], pieces: Sequence[str]) -> bool:
        """Return True if the entry has a form of a word, or all of its pieces."""
        own = [piece for piece in pieces if terms.tokens[piece]]
        return any(terms.tokens[form] and holds(form) for form in forms) or (bool(own) and all(map(holds, own)))

    return all(held(*word) for word in plan.query.needed)
