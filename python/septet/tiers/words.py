"""Words of a query in a tier: completed prefixes, misspelt words, and titles that equal the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.ranking.pool import Pool

if TYPE_CHECKING:
    from septet.query.plan import Plan


def titled(plan: Plan, pool: Pool, titles_at: Callable[[Sequence[int]], Sequence[str]]) -> Pool:
    """Return the candidates with the column ``titled``: 1 if the title equals the query, for those without a vector.

    Args:
        titles_at: returns the titles of rows.
    """
    columns = pool.columns
    cosine, share = columns.get("cosine"), columns.get("matched")
    if cosine is None or share is None:
        return pool
    # Not `matched_title`, which excludes character pairs and other grams.
    positions = np.flatnonzero(np.isnan(cosine) & (share == 1.0))
    if not len(positions):
        return pool
    rows = pool.rows
    query_words, values = _words(plan.query.text), np.zeros(len(rows))
    titles = titles_at([rows[i] for i in positions])
    values[[i for i, title in zip(positions, titles) if _words(title) == query_words]] = 1.0
    return pool.with_columns({"titled": values}) if values.any() else pool


def _words(text: str) -> Sequence[str]:
    return [_core.fold(word) for word in _core.words(text)]
