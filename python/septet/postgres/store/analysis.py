"""Terms of entries by part, as `septet._core` makes them, for the text legs of a search.

Parts are numbered as in schema.sql.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.ranking.pool import searched_text

TEXTS = 0
GRAMS = 1
TRIGRAMS = 2
TFIDF = 3
WORDS = 4
#: Only the tokens: FTS5's table of memories has no context of them, so an average memory is shorter there.
CONTEXTS = 7
#: Offset of the parts of memories.
MEMORIES = 16


class EntryTexts(NamedTuple):
    """The indexed texts of an entry; tags are a JSON list, grams separated by blanks."""

    id: str
    title: str
    description: str
    context: str
    tags: str
    grams: str


class PartTerms(NamedTuple):
    """The terms of ``n`` entries in one part: ``p`` pairs of an entry and a term, in the order of entries.

    Attributes:
        terms: each once, as the server keeps them (`_core.stored_terms`); numbers of trigrams as text.
        entry: by pair the position of the entry ``(p,)``.
        term: by pair the position of the term in ``terms`` ``(p,)``.
        has: by entry whether it has the part ``(n,)``.
        tokens: number of tokens by entry ``(n,)``, with repeats; 0 if no score needs it.
        counts: by pair how often the term is in each column ``(p, columns)``; empty but of texts and grams.
    """

    terms: Sequence[str]
    entry: NDArray[np.int64]
    term: NDArray[np.int64]
    has: NDArray[np.bool_]
    tokens: NDArray[np.int64]
    counts: NDArray[np.int32] = np.empty((0, 0), dtype=np.int32)


class PostingOrder(NamedTuple):
    """Terms of a part as COPY takes them, and its pairs ``(p,)`` in the order of the table's key, page by page."""

    names: list[bytes]
    pairs: NDArray[np.int64]


class Prepared(NamedTuple):
    """The index rows of findable entries, in the order of their write, computed before its transaction."""

    texts: list[EntryTexts]
    parts: dict[int, PartTerms]
    texts_order: PostingOrder
    grams_order: PostingOrder


def analysed(texts: Sequence[EntryTexts]) -> dict[int, PartTerms]:
    """Return the terms of some entries by part."""
    parts = _core.analysed(texts, [searched_text(*text[1:5]) for text in texts])
    every, none = np.ones(len(texts), dtype=bool), np.zeros(len(texts), dtype=np.int64)
    with_grams = np.fromiter((bool(text.grams) for text in texts), dtype=bool, count=len(texts))
    starts, numbers, trigrams = parts.trigrams
    distinct, places = np.unique(numbers, return_inverse=True)
    held, grams = (
        _part(terms, starts, numbers, has, tokens)._replace(counts=counts)
        for (terms, starts, numbers, counts, tokens), has in ((parts.texts, every), (parts.grams, with_grams))
    )
    of_contexts = held.counts[:, EntryTexts._fields.index("context")]
    contexts = np.bincount(held.entry, weights=of_contexts, minlength=len(texts)).astype(np.int64)
    empty = np.empty(0, dtype=np.int64)
    return {
        TEXTS: held,
        GRAMS: grams,
        TRIGRAMS: _part([str(trigram) for trigram in distinct.tolist()], starts, places, every, trigrams),
        TFIDF: _part(*parts.tfidf, every, none),
        WORDS: _part(*parts.words, every, none),
        CONTEXTS: PartTerms((), empty, empty, contexts > 0, contexts),
    }


def differences(part: PartTerms, signs: NDArray[np.int64]) -> tuple[dict[str, int], tuple[int, int]]:
    """Return by how much the counts of terms, and rows and tokens, change.

    Args:
        signs: 1 for an added entry, -1 for a removed one, 0 for a skipped one ``(n,)``.
    """
    # Sums of whole numbers below 2^53 are exact.
    sums = np.bincount(part.term, weights=signs[part.entry], minlength=len(part.terms)).astype(np.int64)
    changed = np.flatnonzero(sums)
    counts = {part.terms[at]: count for at, count in zip(changed.tolist(), sums[changed].tolist())}
    return counts, (int(signs[part.has].sum()), int((signs * part.tokens)[part.has].sum()))


def _part(
    terms: Sequence[str],
    starts: NDArray[np.int64],
    numbers: NDArray[np.integer],
    has: NDArray[np.bool_],
    tokens: NDArray[np.integer],
) -> PartTerms:
    entry = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return PartTerms(terms, entry, numbers.astype(np.int64), has, tokens.astype(np.int64))
