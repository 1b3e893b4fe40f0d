"""The words of a vault on PostgreSQL near a misspelt one, or with a prefix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from septet import _core
from septet.postgres.store.analysis import GRAMS, MEMORIES, TEXTS
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.tables import counts

if TYPE_CHECKING:
    from septet.postgres.store.transactions import PostgresReading


def words_near(
    read: PostgresReading, wanted: Mapping[str, int], most: int, *, memories: bool
) -> dict[str, list[tuple[str, int, int]]]:
    """Return by word the words within a number of edits: the word, the edits, and its document frequency.

    The nearest first, of those the most frequent first; as `septet._core.Corpus.words_near`.

    Args:
        memories: memories count too.
    """
    if not wanted:
        return {}
    folded: dict[str, int] = {}
    for word, edits in wanted.items():
        folded[_core.fold(word)] = max(edits, folded.get(_core.fold(word), 0))
    by_word = _found(read, counts.similar_words(read.vault, folded), list(folded))
    near: dict[str, dict[str, int]] = {}
    for word, edits in wanted.items():
        others = by_word[_core.fold(word)]
        nearby = zip(others, _core.edits_between(word, others, edits))
        near[word] = {other: away for other, away in nearby if away is not None}
    rows = _rows_holding(read, [other for nearby in near.values() for other in nearby], memories=memories)

    def nearest(nearby: Mapping[str, int]) -> list[tuple[str, int, int]]:
        """Return the best of the words that are near."""
        held = sorted((edits, -rows[other], other) for other, edits in nearby.items() if rows.get(other))
        return [(other, edits, -count) for edits, count, other in held[:most]]

    return {word: nearest(nearby) for word, nearby in near.items()}


def words_from(read: PostgresReading, beginnings: Sequence[str], most: int) -> dict[str, list[str]]:
    """Return by letters the words that begin with them, the most frequent first; memories do not count."""
    if not beginnings:
        return {}
    folded = list(dict.fromkeys(map(_core.fold, beginnings)))
    by_letters = _found(read, counts.words_beginning(read.vault, folded), folded)
    rows = _rows_holding(read, [word for words in by_letters.values() for word in words], memories=False)
    best = {
        letters: sorted((word for word in words if rows.get(word)), key=lambda word: (-rows[word], word))[:most]
        for letters, words in by_letters.items()
    }
    return {letters: best[_core.fold(letters)] for letters in beginnings}


def _found(read: PostgresReading, statement: Statement, names: Sequence[str]) -> dict[str, list[str]]:
    (answer,) = together(read, [statement])
    by_name: dict[str, list[str]] = {name: [] for name in names}
    for place, word in answer:
        by_name[names[place]].append(word)
    return by_name


def _rows_holding(read: PostgresReading, words: Iterable[str], *, memories: bool) -> dict[str, int]:
    """Return how many entries hold words, in any form: in their texts or among their grams, whichever are more."""
    every = ((word, _core.index_terms(word)) for word in dict.fromkeys(words))
    tokens = {word: terms[0] for word, terms in every if len(terms) == 1}
    if not tokens:
        return {}
    names = dict(zip(tokens, _core.stored_terms(list(tokens.values()))))
    stored = list(dict.fromkeys(names.values()))
    parts = (TEXTS, GRAMS, TEXTS + MEMORIES, GRAMS + MEMORIES) if memories else (TEXTS, GRAMS)
    (answer,) = together(read, [Statement(*counts.question(read.vault, dict.fromkeys(parts, stored)))])
    counted = counts.PartCounts.read(answer)
    texts, grams = (counted.of_all(part, memories)[1] for part in (TEXTS, GRAMS))
    return {word: max(texts.get(name, 0), grams.get(name, 0)) for word, name in names.items()}
