"""Words that entries must hold, or must not: filters by FTS5's own matching, made of values and never of its syntax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from septet._core import index_terms, query_grams, words
from septet.errors import QueryError
from septet.inputs.arguments import listed, shown, utf8
from septet.query.filters import AllOf, AnyOf, Filter, Holds, Not

__all__ = ["MOST_WORDS", "AskedWords", "Web", "asked_words", "begins_with", "holds", "indexed_words"]

#: The options that name words.
NAMES = ("must", "must_not", "phrase", "prefix")
#: So many words all of them may name: each is looked up by itself.
MOST_WORDS = 100
#: So many characters they may have.
MOST_CHARS = 10_000


class Web(NamedTuple):
    """What a query in this syntax asks.

    Attributes:
        query: as it was given.
        text: its words without signs, quotes, fields and beginnings.
        must: words.
        must_not: texts, each a word or several in a row.
        phrases: texts of several words, or one in quotes.
        prefixes: beginnings of words.
        without: beginnings of words that entries must not hold.
        where: a filter, as in the option.
        filters: the same, checked; by names that no option gives.
        open: the query ends in a word that is ordinary text.
    """

    query: str
    text: str = ""
    must: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    where: Mapping[str, Any] = {}
    filters: Mapping[str, Filter] = {}
    open: bool = False

    def told(self) -> dict[str, Any]:
        """Return what was understood as a JSON-ready dict: the text, and of the options those that were named."""
        said = {
            "must": [*self.must],
            "must_not": [*self.must_not, *(f"{word}*" for word in self.without)],
            "phrase": [*self.phrases],
            "prefix": [*self.prefixes],
            "where": dict(self.where),
        }
        return {"text": self.text, **{name: value for name, value in said.items() if value}}


class AskedWords(NamedTuple):
    """What a search asks of words beside its query.

    Attributes:
        filters: by the name of their option.
        text: what counts in the full text as if the query held it too.
        begun: beginnings of words.
        cut: whether the last word of the query is one of them.
        without: beginnings of words that entries must not hold.
    """

    filters: Mapping[str, Filter]
    text: str
    begun: tuple[str, ...]
    cut: bool
    without: tuple[str, ...] = ()


def asked_words(options: Mapping[str, Any], query: str, web: Web | None = None) -> AskedWords:
    """Check the options that name words, and return what they ask.

    Args:
        web: what the query itself asks beside them.

    Raises:
        QueryError: a value that is no text, holds no letter or digit, or too many of them.
    """
    typed = query if web is None or web.open else ""
    given = {name: _values(name, options[name], typed) for name in NAMES}
    must = [word for text in given["must"] for word in _words("must", text)]
    must_not = [word for text in given["must_not"] for word in _words("must_not", text)]
    begun = [word for text in given["prefix"] for word in _words("prefix", text)]
    phrases = [_phrase(text) for text in given["phrase"]]
    count = len(must) + len(must_not) + len(begun) + len(phrases)
    if count > MOST_WORDS:
        raise QueryError(f"must, must_not, phrase and prefix name {count} words: at most {MOST_WORDS} are taken")
    said = [*must, *given["phrase"], *(() if options["prefix"] is True else begun)]
    unwanted: list[Filter] = [holds(word) for word in must_not]
    without: tuple[str, ...] = ()
    if web is not None:
        said += (*web.must, *web.phrases, *web.prefixes)
        must += [word for text in web.must for word in indexed_words(text)]
        begun += [word for text in web.prefixes for word in indexed_words(text)]
        phrases += [_phrase(text) for text in web.phrases]
        # In a row: of `e-mail` no other word with an e is meant.
        unwanted += [_phrase(text) for text in web.must_not]
        without = tuple(word for text in web.without for word in indexed_words(text))
    filters: dict[str, Filter] = {}
    if must:
        filters["must"] = AllOf(tuple(holds(word) for word in must))
    if unwanted:
        filters["must_not"] = Not(AnyOf(tuple(unwanted)))
    if phrases:
        filters["phrase"] = AllOf(tuple(phrases))
    if begun:
        filters["prefix"] = AllOf(tuple(begins_with(word) for word in begun))
    if without:
        filters["no prefix"] = Not(AnyOf(tuple(begins_with(word) for word in without)))
    cut = options["prefix"] is True and bool(given["prefix"])
    return AskedWords(filters, " ".join(said), tuple(begun), cut, without)


def holds(word: str) -> Filter:
    """Return the filter that an entry holds a word, in any field; in scripts without blanks, as a part of others."""
    return Holds(f'"{word}"', tuple(query_grams(word)))


def begins_with(word: str, known: Sequence[str] = ()) -> Filter:
    """Return the filter that an entry holds a word that begins with letters.

    Args:
        known: words that do, whatever their stems.
    """
    begun = Holds(f'"{word}" *', tuple(query_grams(word)))
    # One look-up for all.
    return AnyOf((begun, Holds(" OR ".join(f'"{one}"' for one in known), ()))) if known else begun


def _phrase(text: str) -> Filter:
    words = _words("phrase", text)
    together = Holds(f'"{" ".join(words)}"', ())
    grams = [query_grams(word) for word in words]
    if not any(len(gram) <= 2 and not gram.isascii() for some in grams for gram in some):
        return together
    # Of scripts without blanks FTS5 knows whole clauses alone.
    return AnyOf((together, AllOf(tuple(holds(word) for word in words))))


def _values(name: str, value: object, query: str) -> Sequence[str]:
    if value is None or (name == "prefix" and value is False):
        return ()
    if name == "prefix" and value is True:
        # Behind a blank another word begins, of which nothing is known.
        return [word for word in words(query)[-1:] if query[-1:].strip() and _is_indexed(word)]
    wanted = "text, or a list of texts" + ", or True for the last word of the query" * (name == "prefix")
    given = listed((value,) if isinstance(value, str) else value, name, QueryError, wanted, MOST_WORDS, of=str)
    if not given:
        raise QueryError(f"{name} is empty: wanted {wanted}, or {'False' if name == 'prefix' else 'None'}")
    return [utf8(text, name, QueryError, MOST_CHARS) for text in given]


def _is_indexed(word: str) -> bool:
    return bool(index_terms(word) or query_grams(word))


def indexed_words(text: str) -> list[str]:
    """Return the words of a text that the full text can hold."""
    return [word for word in words(text) if _is_indexed(word)]


def _words(name: str, text: str) -> Sequence[str]:
    found = indexed_words(text)
    if not found:
        raise QueryError(f"{name} has {shown(text)}: wanted a word, with a letter or a digit")
    return found
