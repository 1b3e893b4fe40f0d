"""Reach: BM25 scores of different corpora brought to one scale.

A corpus of three entries gives every common word an IDF of nearly 0, one of a million gives the same word 5: the raw
scores say more about the corpora than about the match. What compares is the share of the query that an entry matches.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = ["TermCounts", "factors", "idf"]

#: FTS5's BM25: its k1 and b, and the IDF it gives to words that more than half of the rows hold.
K1 = 1.2
B = 0.75
LEAST_IDF = 1e-6


class TermCounts(NamedTuple):
    """Entries in a corpus, how many of them hold each term of the query, and the k1 that its scores were made with."""

    entries: int
    holding: Mapping[str, int]
    k1: float = K1


def factors(corpora: Sequence[TermCounts], terms: Sequence[str]) -> list[float]:
    """Return for each corpus the factor that brings its BM25 scores to 0..1, comparable with the other corpora's.

    A score divided by the most that the corpus can give for the terms it knows is the matched share of those terms;
    times the share of the whole query that those terms carry, by the IDF over all corpora together.
    """
    rows = sum(c.entries for c in corpora)
    total = {t: sum(c.holding.get(t, 0) for c in corpora) for t in terms}
    everything = sum(idf(rows, total[t]) for t in terms if total[t])
    out = []
    for corpus in corpora:
        known = [t for t in terms if corpus.holding.get(t, 0)]
        most = (corpus.k1 + 1) * sum(idf(corpus.entries, corpus.holding[t]) for t in known)
        carried = sum(idf(rows, total[t]) for t in known)
        out.append(carried / everything / most if most > 0 else 0.0)
    return out


def idf(rows: int, holding: int) -> float:
    """Return FTS5's inverse document frequency of a term that so many rows hold, all of them at most."""
    # An index that is out of step with its table, and a server, may count more.
    return max(math.log((max(rows - holding, 0) + 0.5) / (holding + 0.5)), LEAST_IDF)
