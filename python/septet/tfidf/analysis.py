"""Text analysis and counting in Python, for parameters that the native vectorizer lacks."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import QueryError
from septet.inputs.arguments import called, shown

#: Two or more letters, digits and underscores: the default, implemented natively.
TOKEN_PATTERN = r"(?u)\b\w\w+\b"
_BLANKS = re.compile(r"\s\s+")
_ANALYZERS, _STRIPPING = ("word", "char", "char_wb"), ("ascii", "unicode")


class Analysis(NamedTuple):
    """The steps from a text to its terms, checked; see `septet.TfidfVectorizer`."""

    analyzer: str | Callable[[str], Iterable[str]]
    preprocessor: Callable[[str], str] | None
    lowercase: bool
    strip_accents: str | Callable[[str], str] | None
    tokenizer: Callable[[str], Iterable[str]] | None
    token_pattern: str | None
    ngrams: tuple[int, int]
    stop_words: frozenset[str]

    def function(self) -> Callable[[str], Iterable[str]]:
        """Return the function from a text to its terms."""
        if not isinstance(self.analyzer, str):
            return self.analyzer
        prepared = self.preprocessor or self._prepared
        fewest, most = self.ngrams
        if self.analyzer == "char":
            return lambda text: _chars(_BLANKS.sub(" ", prepared(text)), fewest, most)
        if self.analyzer == "char_wb":
            return lambda text: _chars_of_words(_BLANKS.sub(" ", prepared(text)), fewest, most)
        tokens = self.tokenizer or re.compile(self.token_pattern or TOKEN_PATTERN).findall
        stop_words = self.stop_words
        return lambda text: _words([token for token in tokens(prepared(text)) if token not in stop_words], fewest, most)

    def _prepared(self, text: str) -> str:
        text = text.lower() if self.lowercase else text
        if self.strip_accents is None or (isinstance(self.strip_accents, str) and text.isascii()):
            return text
        if not isinstance(self.strip_accents, str):
            return self.strip_accents(text)
        apart = unicodedata.normalize("NFKD", text)
        if self.strip_accents == "ascii":
            return apart.encode("ascii", "ignore").decode("ascii")
        return "".join(char for char in apart if not unicodedata.combining(char))


def analysis_of(parameters: Mapping[str, Any], ngrams: tuple[int, int], stop_words: Iterable[str]) -> Analysis | None:
    """Return the analysis of texts; None for the native default.

    Raises:
        QueryError: an invalid parameter.
    """
    names = ("analyzer", "preprocessor", "lowercase", "strip_accents", "tokenizer", "token_pattern")
    analyzer, preprocessor, lowercase, strip_accents, tokenizer, pattern = (parameters[name] for name in names)
    for name, known in (("analyzer", _ANALYZERS), ("strip_accents", (*_STRIPPING, None))):
        value = parameters[name]
        if not callable(value) and not (isinstance(value, (str, type(None))) and value in known):
            expected = ", ".join(map(repr, known))
            raise QueryError(f"{name} is {shown(value)}: wanted {expected}, or a function of a text")
    called(preprocessor, "preprocessor", QueryError)
    called(tokenizer, "tokenizer", QueryError)
    if tokenizer is None and analyzer == "word":
        _checked(pattern)
    usual = ("word", None, True, None, None, TOKEN_PATTERN)
    if (analyzer, preprocessor, bool(lowercase), strip_accents, tokenizer, pattern) == usual:
        return None
    if parameters["tokens"] != "words":
        raise QueryError(
            f"tokens={parameters['tokens']!r} has an analyzer of its own: leave {', '.join(names)} at their defaults"
        )
    return Analysis(
        analyzer, preprocessor, bool(lowercase), strip_accents, tokenizer, pattern, ngrams, frozenset(stop_words)
    )


def _checked(pattern: object) -> None:
    try:
        groups = re.compile(pattern).groups  # type: ignore[call-overload]
    except (TypeError, ValueError, re.error, RecursionError, OverflowError) as error:
        raise QueryError(f"token_pattern is {shown(pattern)}: wanted a regular expression ({error})") from None
    if groups > 1 or not isinstance(pattern, str):
        raise QueryError(f"token_pattern is {shown(pattern)}: wanted text with at most one group, which is the token")


def _words(tokens: list[str], fewest: int, most: int) -> list[str]:
    if most == 1:
        return tokens
    return [
        " ".join(tokens[at : at + length])
        for length in range(fewest, min(most, len(tokens)) + 1)
        for at in range(len(tokens) - length + 1)
    ]


def _chars(text: str, fewest: int, most: int) -> list[str]:
    return [
        text[at : at + length]
        for length in range(fewest, min(most, len(text)) + 1)
        for at in range(len(text) - length + 1)
    ]


def _chars_of_words(text: str, fewest: int, most: int) -> list[str]:
    """Return the runs of characters in words padded with a space on each side; a shorter word once, as a whole."""
    runs = []
    for word in text.split():
        padded = f" {word} "
        for length in range(fewest, most + 1):
            runs += [padded[at : at + length] for at in range(max(1, len(padded) - length + 1))]
            if length >= len(padded):
                break
    return runs


T = TypeVar("T")
#: Values, their columns, ascending within a row, and the bounds of rows.
Csr: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]"
#: Options of `TermCounter` only.
_PYTHON_ONLY = ("analysis", "binary", "features", "vocabulary")
#: Options that neither core uses.
_FRONTEND_ONLY = ("reading", "dtype")


def core_of(options: dict[str, Any]) -> _core.TfidfVectorizer | TermCounter:
    """Return a native or Python core for options of `septet.tfidf.parameters.native_options`."""
    if options["binary"] or any(options[name] is not None for name in ("analysis", "features", "vocabulary")):
        return TermCounter(options)
    return _core.TfidfVectorizer(**_native(options))


def _native(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in (*_PYTHON_ONLY, *_FRONTEND_ONLY)}


def called_with(call: Callable[..., T], texts: Sequence[Any], workers: int | None) -> T:
    """Return a native call's result for texts.

    Raises:
        QueryError: a text has half a surrogate pair.
    """
    try:
        return call(texts, threads=workers)
    except UnicodeEncodeError as error:
        raise QueryError(f"text {texts.index(error.object)} has half a surrogate pair; repair or drop it") from error
    except ValueError as error:
        raise QueryError(str(error)) from error


class TermCounter:
    """Counts, selects and weights terms, with the interface of the native vectorizer."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self.vocabulary: list[str] = []
        self.idf: NDArray[np.float64] = np.empty(0)
        self._columns: dict[str, int] = {}
        counting = {"norm": "none", "sublinear": False, "idf": False}
        self._native = None if options["analysis"] else _core.TfidfVectorizer(**{**_native(options), **counting})

    def restore(self, vocabulary: Sequence[str], idf: Sequence[float] | NDArray[np.float64]) -> None:
        """Restore ``vocabulary`` and ``idf`` of a fitted core."""
        self.vocabulary, self.idf = list(vocabulary), np.array(idf, dtype=np.float64)
        self._columns = {term: column for column, term in enumerate(self.vocabulary)}
        if self._native is not None:
            # Native code rejects the term "", which no text has.
            self._native.restore([term or " " for term in self.vocabulary], [1.0] * len(self.vocabulary))

    def fit(self, texts: Sequence[str], *, threads: int | None = None) -> None:
        """Learn vocabulary and document frequencies."""
        self._learn(texts, threads)

    def fit_transform(self, texts: Sequence[str], *, threads: int | None = None) -> Csr:
        """Fit and transform, counting the texts once."""
        return self._weighted(self._learn(texts, threads))

    def transform(self, texts: Sequence[str], *, threads: int | None = None) -> Csr:
        """Return a row of weights for each text."""
        return self._weighted(self._counted(texts, threads))

    def _learn(self, texts: Sequence[str], threads: int | None) -> Csr:
        fixed = self._options["vocabulary"]
        if fixed is not None:
            self.restore(fixed, np.ones(len(fixed)))
            terms, counts = fixed, self._counted(texts, threads)
        else:
            terms, counts = self._all(texts, threads)
        data, indices, _ = counts
        if self._options["binary"]:
            data = np.ones_like(data)
        frequencies = np.bincount(indices, minlength=len(terms))
        if fixed is None:
            columns = self._selected(frequencies, np.bincount(indices, data, len(terms)).astype(np.float64))
            counts, frequencies, terms = (
                _chosen((data, *counts[1:]), columns),
                frequencies[columns],
                [terms[column] for column in columns],
            )
        idf = np.ones(len(terms))
        if self._options["idf"]:
            smooth = int(self._options["smooth"])
            # Without smoothing, a term of no text has an infinite idf.
            with np.errstate(divide="ignore"):
                idf = np.log((len(texts) + smooth) / (frequencies + smooth)) + 1.0
        self.restore(terms, idf)
        return counts

    def _counted(self, texts: Sequence[str], threads: int | None) -> Csr:
        """Return the counts of known terms."""
        if self._native is not None:
            return called_with(self._native.transform, texts, threads)
        return _counts(texts, self._options["analysis"].function(), self._columns, learn=False)

    def _all(self, texts: Sequence[str], threads: int | None) -> tuple[list[str], Csr]:
        """Return all terms in order, and their counts."""
        if self._native is not None:
            counts: Csr = called_with(self._native.fit_transform, texts, threads)
            return self._native.vocabulary, counts
        columns: dict[str, int] = {}
        counts = _counts(texts, self._options["analysis"].function(), columns, learn=True)
        terms = sorted(columns)
        places = np.empty(len(terms), dtype=np.int32)
        places[[columns[term] for term in terms]] = np.arange(len(terms), dtype=np.int32)
        return terms, _ordered(counts, places)

    def _selected(self, frequencies: NDArray[np.int64], totals: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the selected columns, ascending."""
        inside = np.flatnonzero((frequencies >= self._options["least"]) & (frequencies <= self._options["most"]))
        most = self._options["features"]
        if most is None or len(inside) <= most:
            return inside
        # Ties are broken by numpy's default sort, as in scikit-learn.
        return np.sort(inside[np.argsort(-totals[inside])[:most]])

    def _weighted(self, counts: Csr) -> Csr:
        data, indices, indptr = counts
        values = np.ones_like(data) if self._options["binary"] else data
        if self._options["sublinear"]:
            values = np.log(values) + 1.0
        values = values * self.idf[indices]
        if self._options["norm"] != "none":
            if not np.isfinite(values).all():
                rare = self.vocabulary[int(indices[~np.isfinite(values)][0])]
                raise QueryError(
                    f"the idf of {shown(rare)} is infinite, as no text of the fit has this term of vocabulary: "
                    "leave smooth_idf=True"
                )
            n = len(indptr) - 1
            row = np.repeat(np.arange(n), np.diff(indptr))
            if self._options["norm"] == "l2":
                lengths = np.sqrt(np.bincount(row, values * values, n))
            else:
                lengths = np.bincount(row, np.abs(values), n)
            values = values / np.where(lengths == 0, 1.0, lengths)[row]
        return values, indices, indptr


def _counts(texts: Sequence[Any], analyze: Callable[[str], Any], columns: dict[str, int], *, learn: bool) -> Csr:
    """Count the terms of each text; add new terms to columns if ``learn``."""
    data: list[float] = []
    indices: list[int] = []
    indptr = [0]
    for text in texts:
        counts = Counter(analyze(text))
        for term in counts:
            if not isinstance(term, str):
                raise QueryError(f"the analyzer returned the term {shown(term)}: wanted texts")
            if learn:
                columns.setdefault(term, len(columns))
        row = sorted((columns[term], count) for term, count in counts.items() if term in columns)
        indices += [column for column, _ in row]
        data += [float(count) for _, count in row]
        indptr.append(len(indices))
    return np.array(data, dtype=np.float64), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int64)


def _ordered(counts: Csr, places: NDArray[np.int32]) -> Csr:
    """Return counts with renumbered columns, ascending within rows."""
    data, indices, indptr = counts
    moved = places[indices]
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((moved, row))
    return data[order], moved[order], indptr


def _chosen(counts: Csr, columns: NDArray[np.int64]) -> Csr:
    """Return the counts of some columns, renumbered."""
    data, indices, indptr = counts
    if not len(indices):
        return counts
    places = np.full(int(indices.max()) + 1, -1, dtype=np.int32)
    inside = columns[columns < len(places)]
    places[inside] = np.arange(len(inside), dtype=np.int32)
    moved = places[indices]
    chosen = moved >= 0
    ends = np.concatenate(([0], np.cumsum(chosen)))[indptr]
    return data[chosen], moved[chosen], ends.astype(np.int64)
