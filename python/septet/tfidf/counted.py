"""A vectorizer that counts first and weights then, for parameters that the native one does not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import QueryError
from septet.inputs.arguments import shown

__all__ = ["Counted", "called_with", "core_of"]

T = TypeVar("T")
#: Values, their columns, ascending within a row, and the bounds of rows.
Csr: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]"
#: What only this one knows.
_OWN = ("analysis", "binary", "features", "vocabulary")
#: What neither needs.
_OUTSIDE = ("reading", "dtype")


def core_of(options: dict[str, Any]) -> _core.TfidfVectorizer | Counted:
    """Return what learns and weights by options of `septet.tfidf.parameters.native_options`."""
    if options["binary"] or any(options[name] is not None for name in ("analysis", "features", "vocabulary")):
        return Counted(options)
    return _core.TfidfVectorizer(**_native(options))


def _native(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in (*_OWN, *_OUTSIDE)}


def called_with(call: Callable[..., T], given: Sequence[Any], workers: int | None) -> T:
    """Return what a native call makes of texts.

    Raises:
        QueryError: one has half a surrogate pair.
    """
    try:
        return call(given, threads=workers)
    except UnicodeEncodeError as error:
        raise QueryError(f"text {given.index(error.object)} has half a surrogate pair; repair or drop it") from error
    except ValueError as error:
        raise QueryError(str(error)) from error


class Counted:
    """Counts terms, keeps some of them, and weights the counts; the methods of the native vectorizer."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self.vocabulary: list[str] = []
        self.idf: NDArray[np.float64] = np.empty(0)
        self._columns: dict[str, int] = {}
        counting = {"norm": "none", "sublinear": False, "idf": False}
        self._native = None if options["analysis"] else _core.TfidfVectorizer(**{**_native(options), **counting})

    def restore(self, vocabulary: Sequence[str], idf: Sequence[float] | NDArray[np.float64]) -> None:
        """Take over what ``vocabulary`` and ``idf`` of a fitted one gave."""
        self.vocabulary, self.idf = list(vocabulary), np.array(idf, dtype=np.float64)
        self._columns = {term: column for column, term in enumerate(self.vocabulary)}
        if self._native is not None:
            # No text has the term "", which native code does not take.
            self._native.restore([term or " " for term in self.vocabulary], [1.0] * len(self.vocabulary))

    def fit(self, texts: Sequence[str], *, threads: int | None = None) -> None:
        """Learn vocabulary and document frequencies."""
        self._learn(texts, threads)

    def fit_transform(self, texts: Sequence[str], *, threads: int | None = None) -> Csr:
        """Return `transform` of the same texts after `fit`, counting them once."""
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
        found = np.bincount(indices, minlength=len(terms))
        if fixed is None:
            kept = self._kept(found, np.bincount(indices, data, len(terms)).astype(np.float64))
            counts, found, terms = _chosen((data, *counts[1:]), kept), found[kept], [terms[column] for column in kept]
        idf = np.ones(len(terms))
        if self._options["idf"]:
            smooth = int(self._options["smooth"])
            # A given term that no text has is infinitely rare without smoothing.
            with np.errstate(divide="ignore"):
                idf = np.log((len(texts) + smooth) / (found + smooth)) + 1.0
        self.restore(terms, idf)
        return counts

    def _counted(self, texts: Sequence[str], threads: int | None) -> Csr:
        """Return the counts of known terms."""
        if self._native is not None:
            return called_with(self._native.transform, texts, threads)
        return _counts(texts, self._options["analysis"].made(), self._columns, learn=False)

    def _all(self, texts: Sequence[str], threads: int | None) -> tuple[list[str], Csr]:
        """Return all terms in order, and their counts."""
        if self._native is not None:
            counts: Csr = called_with(self._native.fit_transform, texts, threads)
            return self._native.vocabulary, counts
        columns: dict[str, int] = {}
        counts = _counts(texts, self._options["analysis"].made(), columns, learn=True)
        terms = sorted(columns)
        places = np.empty(len(terms), dtype=np.int32)
        places[[columns[term] for term in terms]] = np.arange(len(terms), dtype=np.int32)
        return terms, _ordered(counts, places)

    def _kept(self, found: NDArray[np.int64], totals: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the columns that stay, ascending."""
        inside = np.flatnonzero((found >= self._options["least"]) & (found <= self._options["most"]))
        most = self._options["features"]
        if most is None or len(inside) <= most:
            return inside
        # Of terms that come equally often those stay that numpy's default sort puts first, as with scikit-learn.
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
    """Return how often each term is in each text; columns gets the new terms, if they are to be learned."""
    data: list[float] = []
    indices: list[int] = []
    indptr = [0]
    for text in texts:
        counts = Counter(analyze(text))
        for term in counts:
            if not isinstance(term, str):
                raise QueryError(f"the analyzer made the term {shown(term)}: wanted texts")
            if learn:
                columns.setdefault(term, len(columns))
        row = sorted((columns[term], count) for term, count in counts.items() if term in columns)
        indices += [column for column, _ in row]
        data += [float(count) for _, count in row]
        indptr.append(len(indices))
    return np.array(data, dtype=np.float64), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int64)


def _ordered(counts: Csr, places: NDArray[np.int32]) -> Csr:
    """Return counts with columns put at other places, ascending within rows."""
    data, indices, indptr = counts
    moved = places[indices]
    row = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    order = np.lexsort((moved, row))
    return data[order], moved[order], indptr


def _chosen(counts: Csr, kept: NDArray[np.int64]) -> Csr:
    """Return the counts of some columns, numbered anew."""
    data, indices, indptr = counts
    if not len(indices):
        return counts
    places = np.full(int(indices.max()) + 1, -1, dtype=np.int32)
    inside = kept[kept < len(places)]
    places[inside] = np.arange(len(inside), dtype=np.int32)
    moved = places[indices]
    stay = moved >= 0
    ends = np.concatenate(([0], np.cumsum(stay)))[indptr]
    return data[stay], moved[stay], ends.astype(np.int64)
