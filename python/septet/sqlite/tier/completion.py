"""Completion of plans and pools: words of prefixes, columns filled by SQLite, and TF-IDF cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from septet._core import Selection
from septet.model.arrays import Slots
from septet.query.plan import SearchPlan
from septet.ranking.bm25_scale import TermCounts
from septet.ranking.pool import Pool, tag_words
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.tables import fulltext, indexing
from septet.tiers.words import MOST_PREFIXED, compared_texts, with_indexed_words, with_matched

if TYPE_CHECKING:
    from septet.sqlite.store.store import SqliteReading


def completed(plans: Sequence[SearchPlan], snapshot: Snapshot) -> Sequence[SearchPlan]:
    """Add the indexed words of prefixes to plans; return them unchanged if full text is not in memory."""
    if snapshot.postings is None:
        return plans

    def words_from(beginnings: Sequence[str]) -> dict[str, list[str]]:
        matches = {prefix: snapshot.corpus.words_from(prefix, MOST_PREFIXED) or () for prefix in beginnings}
        return {prefix: [word for word, _, _ in words] for prefix, words in matches.items()}

    return with_indexed_words(plans, words_from)


def ranked_by_fts5(read: SqliteReading, plan: SearchPlan, pool: Pool, known: int, counts: TermCounts) -> Pool:
    """Return the candidates with BM25 scores, the first ``known`` by FTS5, and matched shares of the query."""
    rows, scores = pool.rows, pool.columns["bm25"]
    row_scores = fulltext.score_rows(read, plan, rows[known:])
    scores[known:] = [row_scores.get(row, 0.0) for row in rows[known:]]
    texts = [("", "")] * len(rows)
    for at, *fields, tags, grams in indexing.indexed_texts(read, rows):
        texts[at] = compared_texts(plan, (*fields, tag_words(tags)), grams)
    if plan.query.needed:
        whole = fulltext.whole_rows(read, plan, rows)
        pool = pool.with_columns({"all_words": np.array([float(row in whole) for row in rows])})
    return with_matched(plan, pool, scores, texts, counts)


def cosines_of(snapshot: Snapshot, text: str, slots: Slots, *, memories: bool) -> NDArray[np.float64]:
    """Return the TF-IDF cosines of slots ``(m,)`` with a text, 0 to 1; ``memories`` includes memories in the IDF."""
    terms = snapshot.terms_with_memories if memories else snapshot.terms
    assert terms is not None
    return terms.index.cosines(terms.frequencies, text, slots)


def nearest_by_words(snapshot: Snapshot, text: str, allowed: Selection | None, k: int, *, memories: bool) -> Slots:
    """Return the ``k`` allowed slots with the highest TF-IDF cosines above 0, best first."""
    slots = np.arange(len(snapshot.rows), dtype=np.int64)
    if allowed is not None:
        slots = allowed.allowed(slots)
    values = cosines_of(snapshot, text, slots, memories=memories)
    minimum = np.partition(values, -k)[-k] if len(values) > k else 0.0
    places = np.flatnonzero((values >= minimum) & (values > 0))
    # Ties by row.
    return slots[places[np.lexsort((snapshot.rows[slots[places]], -values[places]))][:k]]
