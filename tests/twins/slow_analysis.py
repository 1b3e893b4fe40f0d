"""What `_core.analysed` does, slowly and in Python: for tests that compare both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from septet import _core

__all__ = ["slow_analysis"]


def slow_analysis(texts: Sequence[Sequence[str]], searched: Sequence[str]) -> Any:
    """Return what entries hold of each part, in the form of `_core.Analysis`."""
    rows = [[_core.index_terms(column) for column in one[:5]] for one in texts]
    grams = [[_core.index_terms(one[5])] for one in texts]
    words = [_words(text) for text in searched]
    trigrams = [sorted({hash3(t) for word in set(own) for t in _trigrams(word)}) for own in words]
    return SimpleNamespace(
        texts=_listed_rows(rows, 5),
        grams=_listed_rows(grams, 1),
        trigrams=(
            _starts(trigrams),
            np.array([number for own in trigrams for number in own], dtype=np.int32),
            np.array([sum(len(_trigrams(word)) for word in own) for own in words], dtype=np.int64),
        ),
        tfidf=_listed([dict.fromkeys(_core.tokenize(text)) for text in searched]),
        words=_listed([dict.fromkeys(own) for own in words]),
    )


def hash3(trigram: str) -> int:
    """Return a number for a trigram."""
    return sum(ord(letter) * 37**at for at, letter in enumerate(trigram)) % (1 << 17)


def _words(text: str) -> list[str]:
    folded = [_core.fold(word) for word in _core.words(text)]
    return [word for word in folded if word not in _core.stop_words() and (len(word) > 1 or not word.isascii())]


def _trigrams(word: str) -> list[str]:
    padded = f" {word} "
    return [padded[at : at + 3] for at in range(len(padded) - 2)]


def _name(term: str | bytes) -> str:
    return term if isinstance(term, str) else term.decode("utf-8", "backslashreplace")


def _starts(lists: Sequence[Any]) -> Any:
    return np.cumsum([0, *map(len, lists)]).astype(np.int64)


def _listed(lists: Sequence[Any]) -> tuple[Any, ...]:
    names: dict[Any, int] = {}
    numbers = [names.setdefault(term, len(names)) for own in lists for term in own]
    return [*map(_name, names)], _starts(lists), np.array(numbers, dtype=np.int32)


def _listed_rows(rows: Sequence[Sequence[Sequence[bytes]]], columns: int) -> tuple[Any, ...]:
    found = [[Counter(column) for column in row] for row in rows]
    lists = [dict.fromkeys(term for column in row for term in column) for row in rows]
    counts = [[column[term] for column in own] for own, terms in zip(found, lists) for term in terms]
    tokens = np.array([sum(map(len, row)) for row in rows], dtype=np.int32)
    return *_listed(lists), np.array(counts, dtype=np.int32).reshape(-1, columns), tokens
