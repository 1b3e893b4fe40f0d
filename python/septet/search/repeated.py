"""Entries that say the same: one function, of which callers need to know no more."""

from __future__ import annotations

from functools import lru_cache

from septet._core import index_terms, stop_words
from septet.model.entry import Entry

#: Stop words that change a statement.
_TELLING = frozenset({"no", "not", "only", "all", "few", "most", "more", "must", "may", "might", "should"})
#: Texts that are longer are compared by their characters.
MOST_CHARS = 20_000


def says_same(entry: Entry, other: Entry) -> bool:
    """Return True if two entries say the same: the same words in the same order, but for articles and the like.

    Words are compared by stem, without capitals and signs. A name, a number or ``not`` that only one of them has makes
    them different.
    """
    texts = _text(entry), _text(other)
    return texts[0] == texts[1] or (max(map(len, texts)) <= MOST_CHARS and len({*map(_statement, texts)}) == 1)


def _text(entry: Entry) -> str:
    return f"{entry.title}\n{entry.description}\n{entry.context}"


@lru_cache(maxsize=128)
def _statement(text: str) -> tuple[bytes, ...]:
    """Return the stems of the words that make a statement."""
    terms = index_terms(text)
    return tuple([term for term in terms if term not in _empty_terms()] or terms)


@lru_cache(maxsize=1)
def _empty_terms() -> frozenset[bytes]:
    return frozenset(term for word in stop_words() - _TELLING for term in index_terms(word))
