"""What SQLite fills in a pool: where full text is not in memory, and where vectors have not come yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.ranking.bm25_scale import K1, TermCounts
from septet.ranking.pool import Pool, tag_words
from septet.sqlite.tables import fulltext, indexing

if TYPE_CHECKING:
    from septet.query.plan import Plan
    from septet.sqlite.store.store import Reading

__all__ = ["ranked_by_fts5", "titled"]


def ranked_by_fts5(read: Reading, plan: Plan, pool: Pool, known: int, counts: TermCounts) -> Pool:
    """Return the candidates with their BM25 scores, and how much of the query they hold.

    Args:
        known: the candidates whose score FTS5 gave already, the first ones.
        counts: how many entries hold each term of the query.
    """
    rows, scores = pool.rows, pool.columns["bm25"]
    found = fulltext.score_rows(read, plan, rows[known:])
    scores[known:] = [found.get(row, 0.0) for row in rows[known:]]
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
    begun = bool(plan.query.steps)
    held = [counts.holding.get(term, 0) for term in terms]
    own = len(dict.fromkeys(plan.query.terms[: plan.query.words]))
    information, matched, title_share, title, reach = _core.matched_in(
        terms, own, counts.entries, held, texts, scores / (K1 + 1), begun
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


def titled(plan: Plan, pool: Pool, titles_at: Callable[[Sequence[int]], Sequence[str]]) -> Pool:
    """Return the candidates with the column ``titled``: 1 where the title of one without a vector is the query.

    Args:
        titles_at: returns the titles of rows.
    """
    columns = pool.columns
    cosine, share = columns.get("cosine"), columns.get("matched")
    if cosine is None or share is None:
        return pool
    # Not the share of the title, which does not know of character pairs and other grams.
    at = np.flatnonzero(np.isnan(cosine) & (share == 1.0))
    if not len(at):
        return pool
    rows = pool.rows
    wanted, values = _words(plan.query.text), np.zeros(len(rows))
    titles = titles_at([rows[i] for i in at])
    values[[i for i, title in zip(at, titles) if _words(title) == wanted]] = 1.0
    return pool.with_columns({"titled": values}) if values.any() else pool


def _words(text: str) -> Sequence[str]:
    return [_core.fold(word) for word in _core.words(text)]
