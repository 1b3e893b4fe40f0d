"""Required and excluded words: filters by FTS5 matching, built from values, never from FTS5 syntax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from septet._core import index_terms, query_grams, words
from septet.errors import QueryError
from septet.inputs.arguments import listed, shown, utf8
from septet.query.filters import AllOf, AnyOf, Filter, Holds, Not
from septet.query.options import WORDS

#: Maximum words in all of them: each is a separate lookup.
MOST_WORDS = 100
#: Maximum characters of a value.
MOST_CHARS = 10_000


class Web(NamedTuple):
    """A parsed query in web syntax.

    Attributes:
        query: the original text.
        text: its words without signs, quotes, fields and prefixes.
        must: required words.
        must_not: excluded words and phrases.
        phrases: texts of several words, or one quoted word.
        prefixes: prefixes of words.
        without: prefixes of excluded words.
        where: filter, as in the option.
        filters: the parsed filter, by names distinct from those of options.
        open: True if the query ends in a plain word.
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

    def to_dict(self) -> dict[str, Any]:
        """Return the text and the non-empty options as a JSON-ready dict."""
        options = {
            "must": [*self.must],
            "must_not": [*self.must_not, *(f"{word}*" for word in self.without)],
            "phrase": [*self.phrases],
            "prefix": [*self.prefixes],
            "where": dict(self.where),
        }
        return {"text": self.text, **{name: value for name, value in options.items() if value}}


class RequiredWords(NamedTuple):
    """Words that results must contain or lack.

    Attributes:
        filters: filters by option name.
        text: text added to the terms of the query.
        begun: prefixes of words.
        cut: True if the last word of the query is a prefix.
        without: prefixes of excluded words.
    """

    filters: Mapping[str, Filter]
    text: str
    begun: tuple[str, ...]
    cut: bool
    without: tuple[str, ...] = ()


def required_words(required: object, query: str, web: Web | None = None) -> RequiredWords:
    """Check the option ``words``.

    Args:
        required: the option; None for none.
        web: parsed web syntax of the query, which is added to it.

    Raises:
        QueryError: an unknown key, a value that is not text or has no letter or digit, or too many words.
    """
    options = _keys(required)
    typed = query if web is None or web.open else ""
    texts = {name: _values(name, options[name], typed) for name in WORDS}
    must = [word for text in texts["must"] for word in _words("must", text)]
    must_not = [word for text in texts["must_not"] for word in _words("must_not", text)]
    prefixes = [word for text in texts["prefix"] for word in _words("prefix", text)]
    phrases = [_phrase(text) for text in texts["phrase"]]
    count = len(must) + len(must_not) + len(prefixes) + len(phrases)
    if count > MOST_WORDS:
        raise QueryError(f"must, must_not, phrase and prefix name {count} words: at most {MOST_WORDS} are taken")
    query_texts = [*must, *texts["phrase"], *(() if options["prefix"] is True else prefixes)]
    excluded: list[Filter] = [holds(word) for word in must_not]
    without: tuple[str, ...] = ()
    if web is not None:
        query_texts += (*web.must, *web.phrases, *web.prefixes)
        must += [word for text in web.must for word in indexed_words(text)]
        prefixes += [word for text in web.prefixes for word in indexed_words(text)]
        phrases += [_phrase(text) for text in web.phrases]
        # As a phrase: `e-mail` must not exclude every `e`.
        excluded += [_phrase(text) for text in web.must_not]
        without = tuple(word for text in web.without for word in indexed_words(text))
    filters: dict[str, Filter] = {}
    if must:
        filters["must"] = AllOf(tuple(holds(word) for word in must))
    if excluded:
        filters["must_not"] = Not(AnyOf(tuple(excluded)))
    if phrases:
        filters["phrase"] = AllOf(tuple(phrases))
    if prefixes:
        filters["prefix"] = AllOf(tuple(begins_with(word) for word in prefixes))
    if without:
        filters["no prefix"] = Not(AnyOf(tuple(begins_with(word) for word in without)))
    cut = options["prefix"] is True and bool(texts["prefix"])
    return RequiredWords(filters, " ".join(query_texts), tuple(prefixes), cut, without)


def _keys(required: object) -> Mapping[str, Any]:
    if required is None:
        required = {}
    if not isinstance(required, Mapping):
        raise QueryError(f"words is {shown(required)}: wanted a dict such as {{'must': 'retry'}}")
    for name in required:
        if name not in WORDS:
            raise QueryError(f"words has the key {shown(name)}: known are {', '.join(WORDS)}")
    return {**{name: option.default for name, option in WORDS.items()}, **required}


def holds(word: str) -> Filter:
    """Return a filter for a word in any field; in scripts without spaces, also as a part of other words."""
    return Holds(f'"{word}"', tuple(query_grams(word)))


def begins_with(word: str, known: Sequence[str] = ()) -> Filter:
    """Return a filter for words with a prefix.

    Args:
        known: indexed words with the prefix, whose stems may lack it.
    """
    prefix = Holds(f'"{word}" *', tuple(query_grams(word)))
    # One lookup for all known words.
    return AnyOf((prefix, Holds(" OR ".join(f'"{match}"' for match in known), ()))) if known else prefix


def _phrase(text: str) -> Filter:
    words = _words("phrase", text)
    together = Holds(f'"{" ".join(words)}"', ())
    grams = [query_grams(word) for word in words]
    if not any(len(gram) <= 2 and not gram.isascii() for word_grams in grams for gram in word_grams):
        return together
    # In scripts without spaces FTS5 indexes whole clauses only.
    return AnyOf((together, AllOf(tuple(holds(word) for word in words))))


def _values(name: str, value: object, query: str) -> Sequence[str]:
    if value is None or (name == "prefix" and value is False):
        return ()
    if name == "prefix" and value is True:
        # After a space the next word is not typed yet.
        return [word for word in words(query)[-1:] if query[-1:].strip() and _is_indexed(word)]
    expected = "text, or a list of texts" + ", or True for the last word of the query" * (name == "prefix")
    texts = listed((value,) if isinstance(value, str) else value, name, QueryError, expected, MOST_WORDS, of=str)
    if not texts:
        raise QueryError(f"{name} is empty: wanted {expected}, or {'False' if name == 'prefix' else 'None'}")
    return [utf8(text, name, QueryError, MOST_CHARS) for text in texts]


def _is_indexed(word: str) -> bool:
    return bool(index_terms(word) or query_grams(word))


def indexed_words(text: str) -> list[str]:
    """Return the words of a text that the full-text index can contain."""
    return [word for word in words(text) if _is_indexed(word)]


def _words(name: str, text: str) -> Sequence[str]:
    indexed = indexed_words(text)
    if not indexed:
        raise QueryError(f"{name} has {shown(text)}: wanted a word, with a letter or a digit")
    return indexed
