"""The parameters of a vectorizer, checked when it is fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from septet.errors import QueryError
from septet.inputs.arguments import exact, flags, listed, real, shown, utf8, whole
from septet.tfidf.analysis import analysis_of
from septet.tfidf.english import ENGLISH
from septet.tfidf.reading import DECODE_ERRORS, INPUTS, Reading, checked_encoding

__all__ = ["OUTPUTS", "fixed_vocabulary", "native_options", "one_of", "reading_of"]

OUTPUTS = ("rows", "scipy")
#: No text has runs of more tokens, and larger counts mean all.
MOST = 2**31 - 1
MOST_STOP_WORDS, MOST_TERMS = 1_000_000, 100_000_000
#: Tokens of a term: a text has as many terms for each number of tokens as it has tokens.
MOST_TOKENS = 100


def native_options(given: Mapping[str, Any], texts: int) -> dict[str, Any]:
    """Return the options of `septet.tfidf.counted.core_of` for a corpus of so many texts.

    With a vocabulary, how often terms come leaves none out.

    Raises:
        QueryError: a parameter is not what it may be.
    """
    one_of(given["output"], "output", OUTPUTS)
    switches = {name: given[name] for name in ("use_idf", "smooth_idf", "sublinear_tf", "lowercase", "binary")}
    flags({name: bool(value) if isinstance(value, np.bool_) else value for name, value in switches.items()}, QueryError)
    norm, vocabulary = given["norm"], fixed_vocabulary(given["vocabulary"])
    least, most = _frequency(given["min_df"], "min_df", texts), _frequency(given["max_df"], "max_df", texts)
    if most < least and texts and vocabulary is None:
        raise QueryError(
            f"max_df is {shown(given['max_df'])} and min_df {shown(given['min_df'])}: of {texts:,} texts that is at "
            f"most {most:g} and at least {least:g}, which no term can be in"
        )
    features, ngrams, stop_words = (
        given["max_features"],
        _ngrams(given["ngram_range"]),
        _stop_words(given["stop_words"]),
    )
    return {
        "tokens": one_of(given["tokens"], "tokens", ("words", "signals")),
        "ngrams": ngrams,
        "stop_words": stop_words,
        "analysis": analysis_of(given, ngrams, stop_words),
        "reading": reading_of(given),
        "vocabulary": vocabulary,
        "dtype": _dtype(given["dtype"]),
        "binary": bool(given["binary"]),
        "least": least,
        "most": most,
        "features": None if features is None else min(whole(features, "max_features", QueryError, 1), MOST),
        "norm": "none" if norm is None else one_of(norm, "norm", ("l2", "l1"), " or None"),
        "sublinear": bool(given["sublinear_tf"]),
        "idf": bool(given["use_idf"]),
        "smooth": bool(given["smooth_idf"]),
    }


def reading_of(given: Mapping[str, Any]) -> Reading:
    """Return how documents are read.

    Raises:
        QueryError: a parameter is not what it may be.
    """
    own = callable(given["analyzer"]) or given["preprocessor"] is not None
    bare = given["tokenizer"] is not None and not given["lowercase"] and given["strip_accents"] is None
    return Reading(
        one_of(given["input"], "input", INPUTS),
        checked_encoding(given["encoding"]),
        one_of(given["decode_error"], "decode_error", DECODE_ERRORS),
        own or (bare and given["analyzer"] == "word"),
    )


def fixed_vocabulary(value: Mapping[str, int] | Iterable[str] | None) -> list[str] | None:
    """Return the terms of a given vocabulary by column; None for None.

    Raises:
        QueryError: no terms, one twice, or columns that are not 0 to n - 1.
    """
    if value is None:
        return None
    wanted = "a list of terms, or a dict from terms to columns"
    if isinstance(value, Mapping):
        columns = {term: exact(column) for term, column in value.items()}
        inside = [column for column in columns.values() if isinstance(column, (int, np.integer))]
        if sorted(inside) != list(range(len(columns))):
            raise QueryError(f"vocabulary is {shown(value)}: wanted each column from 0 to {len(columns) - 1:,} once")
        value = sorted(columns, key=columns.__getitem__)
    elif isinstance(value, (set, frozenset)):
        value = sorted(utf8(term, "a term of vocabulary", QueryError) for term in value)
    given = listed(value, "vocabulary", QueryError, wanted, MOST_TERMS, of=str)
    terms = [utf8(term, "a term of vocabulary", QueryError) for term in given]
    if not terms:
        raise QueryError(f"vocabulary is empty: wanted {wanted}, or None to learn them")
    if len(set(terms)) < len(terms):
        twice = Counter(terms).most_common(1)[0][0]
        raise QueryError(f"vocabulary has {shown(twice)} twice: wanted each term once")
    return terms


def _dtype(value: Any) -> np.dtype[Any]:
    """Return the type of weights: float32 if that is asked for, else float64, also for whole numbers."""
    try:
        found = np.dtype(value)
    except (TypeError, ValueError, SyntaxError, AttributeError, RecursionError, OverflowError):
        found = np.dtype(object)
    if found not in (np.dtype(np.float32), np.dtype(np.float64)) and found.kind not in "iu":
        raise QueryError(f"dtype is {shown(value)}: wanted numpy.float64 or numpy.float32")
    return np.dtype(np.float32 if found == np.float32 else np.float64)


def one_of(value: object, name: str, known: tuple[str, ...], more: str = "") -> str:
    """Return a name that is known.

    Raises:
        QueryError: it is not.
    """
    text = exact(value)
    if isinstance(text, str) and text in known:
        return text
    wanted = " or ".join(map(repr, known))
    raise QueryError(f"{name} is {shown(value)}: wanted {wanted}{more}")


def _frequency(value: object, name: str, texts: int) -> float:
    """Return in how many texts: a whole number counts them, any other is a share of all."""
    number = exact(value)
    if isinstance(number, (bool, np.bool_)):
        raise QueryError(f"{name} is {shown(value)}: wanted a number of texts, or a share from 0.0 to 1.0")
    if isinstance(number, (int, np.integer)):
        return float(min(whole(number, name, QueryError, 1), MOST))
    return real(number, name, QueryError, 0.0, 1.0) * texts


def _ngrams(value: object) -> tuple[int, int]:
    wanted = "two whole numbers, the fewest and the most tokens of a term"
    found = listed(value, "ngram_range", QueryError, wanted, 2)
    if len(found) != 2:
        raise QueryError(f"ngram_range is {shown(value)}: wanted {wanted}")
    fewest, most = (whole(one, "ngram_range", QueryError, 1, MOST_TOKENS) for one in found)
    if fewest > most:
        raise QueryError(f"ngram_range is {shown(value)}: wanted {wanted}")
    return fewest, most


def _stop_words(value: object) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        one_of(value, "stop_words", ("english",), ", or a list of words")
        return list(ENGLISH)
    found = listed(value, "stop_words", QueryError, "'english', or a list of words", MOST_STOP_WORDS)
    return [utf8(word, "a stop word", QueryError) for word in found]
