"""Completion of plans and pools: words of prefixes, columns filled by SQLite, and TF-IDF cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet._core import Selection
from septet.model.arrays import Slots
from septet.query.plan import SearchPlan
from septet.ranking.bm25_scale import K1, TermCounts
from septet.ranking.pool import Pool, tag_words
from septet.sqlite.snapshot.snapshot import Snapshot
from septet.sqlite.tables import fulltext, indexing
from septet.tiers.words import MOST_PREFIXED, with_indexed_words

if TYPE_CHECKING:
    from septet.sqlite.store.store import SqliteReading


def completed(plans: Sequence[SearchPlan], snapshot: Snapshot) -> Sequence[SearchPlan]:
    """Add the indexed words of prefixes to plans; return them unchanged if full text is not in memory."""
    if snapshot.postings is None:
        return plans

    def words_from(beginnings: Sequence[str]) -> dict[str, list[str]]:
        """Return the indexed words by prefix."""
        matches = {prefix: snapshot.corpus.words_from(prefix, MOST_PREFIXED) or () for prefix in beginnings}
        return {prefix: [word for word, _, _ in words] for prefix, words in matches.items()}

    return with_indexed_words(plans, words_from)


def ranked_by_fts5(read: SqliteReading, plan: SearchPlan, pool: Pool, known: int, counts: TermCounts) -> Pool:
    """Return the candidates with BM25 scores and matched shares of the query.

    Args:
        known: number of leading candidates with a score by FTS5.
        counts: number of entries with each term of the query.
    """
    rows, scores = pool.rows, pool.columns["bm25"]
    row_scores = fulltext.score_rows(read, plan, rows[known:])
    scores[known:] = [row_scores.get(row, 0.0) for row in rows[known:]]
    terms = list(dict.fromkeys(plan.query.terms))
    texts = [("", "")] * len(rows)
    for at, entry_id, heading, *others, tags, grams in indexing.indexed_texts(read, rows):
        texts[at] = heading, " ".join((entry_id, heading, *others, tag_words(tags), grams if plan.query.grams else ""))
        if plan.query.steps:
            of_column = dict(
                zip(("id", "title", "description", "context", "tags"), (entry_id, heading, *others, tag_words(tags)))
            )
            texts[at] = (
                of_column["title"] if "title" in plan.query.columns else "",
                "\n".join(map(of_column.__getitem__, plan.query.columns)),
            )
    prefixes = bool(plan.query.steps)
    holding = [counts.holding.get(term, 0) for term in terms]
    word_count = len(dict.fromkeys(plan.query.terms[: plan.query.words]))
    information, matched, title_share, title, reach = _core.matched_in(
        terms, word_count, counts.entries, holding, texts, scores / (K1 + 1), prefixes
    )
    if plan.query.needed:
        whole = fulltext.whole_rows(read, plan, rows)
        pool = pool.with_columns({"all_words": np.array([float(row in whole) for row in rows])})
    return pool.with_columns(
        {
            "bm25": scores,
            "information": information,
            "matched": matched,
            "matched_title": title_share,
            "title": title,
            "reach": reach,
        }
    )


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
    return slots[_best(cosines_of(snapshot, text, slots, memories=memories), snapshot.rows[slots], k)]


def _best(values: NDArray[np.float64], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` highest values above 0, best first, ties by row."""
    minimum = np.partition(values, -k)[-k] if len(values) > k else 0.0
    places = np.flatnonzero((values >= minimum) & (values > 0))
    return places[np.lexsort((rows[places], -values[places]))][:k]
