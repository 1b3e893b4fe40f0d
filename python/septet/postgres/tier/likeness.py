"""Similar entries of a vault on PostgreSQL: the nearest by words.

The nearest are found exactly without reading every text: by Cauchy–Schwarz the cosine of two texts is at most the
length of that part of the one's unit vector whose words the other holds, and full text tells who may hold a word. Texts
are read in the order of these bounds, until no bound is left above the least cosine that is wanted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Protocol

import numpy as np

from septet import _core
from septet.postgres.store.pipeline import together
from septet.postgres.tables.conditions import conditions, conjunction
from septet.postgres.tables.fulltext import Shares, sharing
from septet.postgres.tier.corpus import CountedTerms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.statistics import Statistics
    from septet.query.plan import SearchPlan


#: Texts read in one round trip.
TEXTS_AT_ONCE = 512
#: Rounding never makes a bound smaller than what it bounds.
ABOVE = 1 + 1 / 10**9


class _View(Protocol):
    """The parts of `septet.postgres.tier.view.PostgresView` that are read here."""

    plans: Sequence[SearchPlan]
    read: PostgresReading
    statistics: Statistics

    def entries_at(self, rows: Sequence[int]) -> list[CandidateRow]:
        """Return live entries at rows."""


def nearest_by_words(view: _View, query: int) -> list[int]:
    """Return the rows that pass the filters with the highest TF-IDF cosines above 0 with a query's text, best first."""
    plan = view.plans[query]
    counted = CountedTerms(view.statistics)
    counted.add_tokens([plan.query.text])
    counted.ask(view.read)
    shares = _shares(view, plan.query.text)
    if shares is None:
        return []
    (bounds,) = together(view.read, [sharing(view.read.vault, shares, conjunction(conditions(plan)))])
    best: list[tuple[float, int]] = []
    for start in range(0, len(bounds), TEXTS_AT_ONCE):
        if len(best) == plan.candidates and bounds[start][1] ** 0.5 * ABOVE < -best[-1][0]:
            break
        entries = view.entries_at([row for row, _ in bounds[start : start + TEXTS_AT_ONCE]])
        cosines = cosines_of(view, plan.query.text, entries).tolist()
        best += [(-cosine, entry.candidate.row) for cosine, entry in zip(cosines, entries) if cosine > 0]
        best = sorted(best)[: plan.candidates]
    return [row for _, row in best]


def cosines_of(view: _View, text: str, entries: Sequence[CandidateRow]) -> NDArray[np.float64]:
    """Return the TF-IDF cosines of entries ``(m,)`` with a text, 0 to 1."""
    texts, counted = [entry.candidate.text for entry in entries], CountedTerms(view.statistics)
    counted.add_tokens([text, *texts])
    counted.ask(view.read)
    index = _core.TermIndex()
    index.append(texts)
    frequencies = index.frequencies_given(view.statistics.documents(), view.statistics.frequencies)
    return index.cosines(frequencies, text, np.arange(len(texts), dtype=np.int64))


def _shares(view: _View, text: str) -> Shares | None:
    """Return the words of a text with their shares of its unit vector, squared; None where it has no words."""
    counts, statistics = Counter(_core.tokenize(text)), view.statistics
    rows = statistics.documents()
    squares = {
        word: (count * (log((rows + 1) / (statistics.frequencies.get(word, 0) + 1)) + 1)) ** 2
        for word, count in counts.items()
    }
    whole = sum(squares.values())
    if not whole:
        return None
    terms: list[str] = []
    words: list[int] = []
    weights: list[float] = []
    many: list[int] = []
    base = 0.0
    for number, (word, square) in enumerate(squares.items()):
        own = list(dict.fromkeys(_core.stored_terms(_core.index_terms(word)))) if word.isascii() else []
        if not own:
            # Other scripts are cut in other ways.
            base += square / whole
        terms += own
        words += [number] * len(own)
        weights += [square / whole] * len(own)
        many += [len(own)] * len(own)
    return Shares(terms, words, weights, many, base)
