"""The small corpus of a search: the candidates from the server, with the statistics of the whole vault."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.model.arrays import NameTable
from septet.postgres.store.analysis import GRAMS, TEXTS, TFIDF, TRIGRAMS
from septet.postgres.store.packing import unpacked
from septet.postgres.store.pipeline import together
from septet.ranking.pool import Candidate, searched_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.tables.fragments import CandidateRow
    from septet.postgres.tier.spaces import Compared
    from septet.postgres.tier.statistics import QueryTerms, Statistics

#: The columns of the full text of an entry.
COLUMNS = ("id", "title", "description", "context", "tags_json")


class SmallCorpus(NamedTuple):
    """Some entries as searches read them.

    Attributes:
        slots: by row.
        space: the vectors, as `Corpus.recall` takes them; None without any.
    """

    corpus: _core.Corpus
    slots: Mapping[int, int]
    space: tuple[Any, ...] | None

    def slots_of(self, rows: Sequence[int]) -> NDArray[np.int64]:
        """Return the slot of each row ``(m,)``."""
        return np.array([self.slots[row] for row in rows], dtype=np.int64)


def small_corpus(
    candidates: Sequence[CandidateRow],
    statistics: Statistics,
    terms: QueryTerms,
    *,
    terms_counted: Mapping[bytes, str] | None = None,
    columns: Collection[str] = (),
    space: Compared | None = None,
) -> SmallCorpus:
    """Return entries as a corpus, in the order of their rows, by which equals are ordered.

    Args:
        terms_counted: stored form of further terms that were counted in the vault.
        columns: requested columns; for TF-IDF the statistics have the counts of all terms of the entries.
    """
    candidates = sorted(candidates, key=lambda item: item.candidate.row)
    names = NameTable()
    values = zip(*[entry.candidate for entry in candidates]) if candidates else ((),) * len(Candidate._fields)
    facts: dict[str, Sequence[Any]] = dict(zip(Candidate._fields, values))
    arrays: dict[str, NDArray[Any]] = {
        "rows": np.array(facts["row"], dtype=np.int64),
        **{name: np.array(facts[name], dtype=np.float64) for name in ("created_at", "updated_at")},
        "valid_from": np.array([-np.inf if time is None else time for time in facts["valid_from"]], dtype=np.float64),
        "valid_until": np.array([np.inf if time is None else time for time in facts["valid_until"]], dtype=np.float64),
        **{name: np.array(names.numbers(facts[name]), dtype=np.int32) for name in ("kind", "severity", "domain")},
    }
    texts = list(zip(*[facts[name] for name in COLUMNS]))
    searched = [] if {"trigram", "tfidf"}.isdisjoint(columns) else [searched_text(*item[1:]) for item in texts]
    text = _full_text(
        texts,
        [entry.grams for entry in candidates],
        searched if "trigram" in columns else (),
        statistics,
        {**terms.stored, **(terms_counted or {})},
        terms.trigrams,
    )
    counted = None
    if "tfidf" in columns:
        index = _core.TermIndex()
        index.append(searched)
        counted = index, index.frequencies_given(statistics.documents(), statistics.frequencies)
    corpus = _core.Corpus(arrays, names.native, text=text, terms=counted)
    of_rows = dict(zip(facts["row"], range(len(candidates))))
    return SmallCorpus(corpus, of_rows, None if space is None else _vectors(candidates, space))


def _full_text(
    rows: Sequence[Sequence[str]],
    grams: Sequence[str],
    searched: Sequence[str],
    statistics: Statistics,
    stored: Mapping[bytes, str],
    trigrams: Sequence[int],
) -> tuple[Any, ...]:
    def holding(part: int) -> dict[bytes, int]:
        return {token: statistics.count(part, name) for token, name in stored.items() if statistics.knows(part, name)}

    in_texts, in_grams = holding(TEXTS), holding(GRAMS)
    # The words with a beginning are not known in advance.
    of_texts = _core.TextIndex(len(COLUMNS), None if statistics.begun else list(in_texts))
    of_grams, spelling = _core.TextIndex(1, list(in_grams)), _core.SpellingIndex()
    of_texts.append(rows)
    of_grams.append([(text,) for text in grams])
    spelling.append(searched)
    slots, with_grams = np.arange(len(rows), dtype=np.int64), np.flatnonzero([text != "" for text in grams])
    counts = {number: statistics.count(TRIGRAMS, str(number)) for number in trigrams}
    return (
        of_texts,
        of_texts.statistics_given(slots, *statistics.totals(TEXTS), in_texts, statistics.begun),
        of_grams,
        of_grams.statistics_given(with_grams, *statistics.totals(GRAMS), in_grams),
        spelling,
        spelling.statistics_given(statistics.rows, statistics.totals(TRIGRAMS)[1], counts),
    )


def _vectors(candidates: Sequence[CandidateRow], space: Compared) -> tuple[Any, ...]:
    rows = unpacked(
        space.stored, [entry.vector for entry in candidates if entry.vector is not None], space.space.dimensions
    )
    slots = np.flatnonzero([entry.vector is not None for entry in candidates])
    positions = np.full(len(candidates), -1, dtype=np.int32)
    positions[slots] = np.arange(len(slots), dtype=np.int32)
    return space.space.space, _core.unit_rows(rows), slots, None, positions, space.sample


class CountedTerms:
    """The third round trip: counts of the candidates' own terms, for profiles that need them."""

    def __init__(self, statistics: Statistics) -> None:
        self._statistics = statistics
        #: Stored form by token of full text, and of TF-IDF.
        self.stored: dict[bytes, str] = {}
        self._tokens: dict[str, str] = {}

    def add_text(self, entries: Iterable[CandidateRow]) -> None:
        """Count the terms of full text that entries hold."""
        new: dict[bytes, None] = {}
        for entry in entries:
            c = entry.candidate
            for text in (c.id, c.title, c.description, c.context, c.tags_json):
                new.update(dict.fromkeys(_core.index_terms(text)))
        unknown = [token for token in new if token not in self.stored]
        self.stored.update(zip(unknown, _core.stored_terms(unknown)))

    def add_tokens(self, texts: Iterable[str]) -> None:
        """Count the tokens of TF-IDF in texts."""
        new = dict.fromkeys(token for text in texts for token in _core.tokenize(text))
        unknown = [token for token in new if token not in self._tokens]
        self._tokens.update(zip(unknown, _core.stored_terms(unknown)))

    def ask(self, read: PostgresReading) -> None:
        """Read the missing counts, in one round trip if there are any."""
        statistics = self._statistics
        wanted = [(TEXTS, name) for name in self.stored.values() if not statistics.knows(TEXTS, name)]
        tokens = [token for token in self._tokens if token not in statistics.frequencies]
        wanted += [(TFIDF, self._tokens[token]) for token in tokens]
        if not wanted:
            return
        (rows,) = together(read, [statistics.question(read.vault, wanted, {})])
        statistics.take(rows)
        gone = statistics.outside.holding
        for token in tokens:
            statistics.frequencies[token] = statistics.count(TFIDF, self._tokens[token]) - gone.get(token, 0)
