"""The small corpus of a search: what the server chose, with the statistics of the whole vault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.snapshot.columns import NameTable
from septet.storage.postgres.analysis import GRAMS, TEXTS, TRIGRAMS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from septet.storage.postgres.tables.found import Found
    from septet.tiers.postgres.spaces import Compared
    from septet.tiers.postgres.statistics import QueryTerms, Statistics

__all__ = ["SmallCorpus", "small_corpus"]

#: The columns of the full text of an entry.
COLUMNS = 5


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
    found: Sequence[Found],
    statistics: Statistics,
    terms: QueryTerms,
    *,
    told: Mapping[bytes, str] | None = None,
    tfidf: bool = False,
    space: Compared | None = None,
) -> SmallCorpus:
    """Return entries as a corpus, in the order of their rows, by which equals are ordered.

    Args:
        told: terms beside those of the queries that were counted in the vault, and what stands for each there.
        tfidf: fill what TF-IDF needs, given that the counts of all terms of the entries are among the statistics.
    """
    found = sorted(found, key=lambda one: one.candidate.row)
    slots = np.arange(len(found), dtype=np.int64)
    names = NameTable()
    facts = [one.candidate for one in found]
    columns: dict[str, NDArray[Any]] = {
        "rows": np.array([c.row for c in facts], dtype=np.int64),
        "created_at": np.array([c.created_at for c in facts], dtype=np.float64),
        "updated_at": np.array([c.updated_at for c in facts], dtype=np.float64),
        "valid_from": np.array([-np.inf if c.valid_from is None else c.valid_from for c in facts], dtype=np.float64),
        "valid_until": np.array([np.inf if c.valid_until is None else c.valid_until for c in facts], dtype=np.float64),
        "kind": np.array(names.numbers(c.kind for c in facts), dtype=np.int32),
        "severity": np.array(names.numbers(c.severity for c in facts), dtype=np.int32),
        "domain": np.array(names.numbers(c.domain for c in facts), dtype=np.int32),
    }
    text = _full_text(found, slots, statistics, {**terms.stored, **(told or {})}, terms.trigrams)
    corpus = _core.Corpus(columns, names.native, text=text, terms=_terms(found, statistics) if tfidf else None)
    of_rows = {c.row: slot for slot, c in enumerate(facts)}
    return SmallCorpus(corpus, of_rows, None if space is None else _vectors(found, space))


def _full_text(
    found: Sequence[Found],
    slots: NDArray[np.int64],
    statistics: Statistics,
    stored: Mapping[bytes, str],
    trigrams: Sequence[int],
) -> tuple[Any, ...]:
    entries, grams, spelling = _core.TextIndex(COLUMNS), _core.TextIndex(1), _core.SpellingIndex()
    facts = [one.candidate for one in found]
    entries.append([(c.id, c.title, c.description, c.context, c.tags_json) for c in facts])
    grams.append([(one.grams,) for one in found])
    spelling.append([c.text for c in facts])
    with_grams = np.array([slot for slot, one in enumerate(found) if one.grams], dtype=np.int64)

    def given(part: int) -> dict[bytes, int]:
        return {token: statistics.count(part, name) for token, name in stored.items() if statistics.knows(part, name)}

    counts = {number: statistics.count(TRIGRAMS, str(number)) for number in trigrams}
    return (
        entries,
        entries.statistics_given(slots, *statistics.totals(TEXTS), given(TEXTS), statistics.begun),
        grams,
        grams.statistics_given(with_grams, *statistics.totals(GRAMS), given(GRAMS)),
        spelling,
        spelling.statistics_given(statistics.rows, statistics.totals(TRIGRAMS)[1], counts),
    )


def _terms(found: Sequence[Found], statistics: Statistics) -> tuple[_core.TermIndex, _core.Frequencies]:
    index = _core.TermIndex()
    index.append([one.candidate.text for one in found])
    return index, index.frequencies_given(statistics.documents(), statistics.frequencies)


def _vectors(found: Sequence[Found], space: Compared) -> tuple[Any, ...]:
    d = space.space.dimensions
    held = [(slot, one.vector) for slot, one in enumerate(found) if one.vector is not None]
    rows = np.array([vector for _, vector in held], dtype=np.float32).reshape(len(held), d)
    units, codes = _core.unit_rows(rows), _core.Codes(d)
    codes.append(units)
    slots = np.array([slot for slot, _ in held], dtype=np.int64)
    positions = np.full(len(found), -1, dtype=np.int32)
    positions[slots] = np.arange(len(held), dtype=np.int32)
    return space.space.space, units, slots, codes, positions, space.sample
