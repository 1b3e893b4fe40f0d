"""Reach: BM25 scores of different corpora on one scale.

A common word has an IDF of nearly 0 in a corpus of three entries, and 5 in one of a million: raw scores depend more on
the corpus than on the match. The share of the query that an entry matches is comparable.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from septet.system.records import NamedTuple

#: FTS5's BM25: k1, b, and the IDF of words in more than half of the rows.
K1 = 1.2
B = 0.75
LEAST_IDF = 1e-6


class TermCounts(NamedTuple):
    """Number of entries in a corpus, number with each term of the query, and the k1 of its scores."""

    entries: int
    holding: Mapping[str, int]
    k1: float = K1


def factors(corpora: Sequence[TermCounts], terms: Sequence[str]) -> list[float]:
    """Return for each corpus the factor that scales its BM25 scores to 0..1, comparable between corpora.

    A score divided by the maximum score of the terms in the corpus is the matched share of these terms. It is
    multiplied by their share of the query, by IDF over all corpora.
    """
    rows = sum(c.entries for c in corpora)
    total = {t: sum(c.holding.get(t, 0) for c in corpora) for t in terms}
    query_idf = sum(idf(rows, total[t]) for t in terms if total[t])
    out = []
    for corpus in corpora:
        matched = [t for t in terms if corpus.holding.get(t, 0)]
        maximum = (corpus.k1 + 1) * sum(idf(corpus.entries, corpus.holding[t]) for t in matched)
        matched_idf = sum(idf(rows, total[t]) for t in matched)
        out.append(matched_idf / query_idf / maximum if maximum > 0 else 0.0)
    return out


def idf(rows: int, holding: int) -> float:
    """Return FTS5's inverse document frequency of a term in ``holding`` of ``rows`` rows."""
    # An index out of sync with its table, or a server, may report holding > rows.
    return max(math.log((max(rows - holding, 0) + 0.5) / (holding + 0.5)), LEAST_IDF)
