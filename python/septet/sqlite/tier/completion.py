"""Columns of a pool filled by SQLite: if full text is not in memory, or vectors are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.ranking.bm25_scale import K1, TermCounts
from septet.ranking.pool import Pool, tag_words
from septet.sqlite.tables import fulltext, indexing

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.sqlite.store.store import SqliteReading


def ranked_by_fts5(read: SqliteReading, plan: Plan, pool: Pool, known: int, counts: TermCounts) -> Pool:
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
