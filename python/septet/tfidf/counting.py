"""Sparse rows, and counting of terms in Python for parameters that the native vectorizer lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.errors import QueryError
from septet.inputs.arguments import shown

T = TypeVar("T")
#: Values, their columns, ascending within a row, and the bounds of rows.
Csr: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int64]]"
#: Options that the native core does not take.
_PYTHON_ONLY = ("analysis", "binary", "features", "vocabulary", "reading", "dtype")


class _Parts(NamedTuple):
    #: Nonzero values, float64.
    data: NDArray[np.float64]
    #: Their columns, int32, ascending within a row.
    indices: NDArray[np.int32]
    #: The start of each row, and the end of the last, int64 ``(n + 1,)``.
    indptr: NDArray[np.int64]


class SparseRows(_Parts):
    """Rows in CSR form, a tuple in the argument order of ``scipy.sparse.csr_matrix``.

    Row ``i`` has the values ``data[indptr[i]:indptr[i + 1]]`` in the columns ``indices[indptr[i]:indptr[i + 1]]``.

    Attributes:
        data: the nonzero values, float64.
        indices: their columns, int32, ascending within a row.
        indptr: the start of each row, and the end of the last, int64 ``(n + 1,)``.
    """

    _columns: int | None = None

    @classmethod
    def _of(
        cls, data: NDArray[np.float64], indices: NDArray[np.int32], indptr: NDArray[np.int64], columns: int
    ) -> SparseRows:
        """Return rows with a number of columns; without it, the last nonzero column determines the number."""
        rows = cls(data, indices, indptr)
        rows._columns = columns
        return rows

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(np.max(self.indices, initial=-1)) + 1 if self._columns is None else self._columns

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.indptr) - 1, self.columns

    def __repr__(self) -> str:
        return f"<SparseRows of {self.shape[0]} rows, {self.columns} columns, {len(self.data)} values>"

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        # Otherwise numpy, and so scikit-learn, would treat the tuple as three rows.
        raise TypeError(
            "SparseRows are not a dense array: use .to_scipy(), or TfidfVectorizer(output='scipy') in a pipeline of "
            "scikit-learn"
        )

    def __matmul__(self, other: ArrayLike) -> NDArray[np.float64]:
        """Return the product with a dense vector ``(columns,)`` or matrix ``(columns, k)``, dense.

        Raises:
            QueryError: ``other`` is not an array of numbers of this shape.
        """
        expected = f"wanted numbers of shape ({self.columns},) or ({self.columns}, k)"
        try:
            dense = np.asarray(other, dtype=np.float64)
        except (TypeError, ValueError):
            raise QueryError(f"{shown(other)} cannot be multiplied with: {expected}") from None
        if dense.ndim not in (1, 2) or len(dense) != self.columns:
            raise QueryError(f"an array of shape {dense.shape} cannot be multiplied with: {expected}")
        n, _ = self.shape
        row = np.repeat(np.arange(n), np.diff(self.indptr))

        def product(column: NDArray[np.float64]) -> NDArray[np.float64]:
            sums: NDArray[np.float64] = np.bincount(row, self.data * column[self.indices], n).astype(np.float64)
            return sums

        if dense.ndim == 1:
            return product(dense)
        result = np.empty((n, dense.shape[1]))
        for j in range(dense.shape[1]):
            result[:, j] = product(dense[:, j])
        return result

    def to_scipy(self) -> Any:
        """Return a ``scipy.sparse.csr_matrix`` of the same arrays.

        Raises:
            QueryError: scipy is not installed.
        """
        try:
            sparse = import_module("scipy.sparse")
        except ImportError as error:
            raise QueryError("to_scipy() needs scipy, which is not installed: pip install scipy") from error
        return sparse.csr_matrix(tuple(self), shape=self.shape)


# -- counting ----------------------------------------------------------------------------------------------------------


def core_of(options: dict[str, Any]) -> _core.TfidfVectorizer | TermCounter:
    """Return a native or Python core for options of `septet.tfidf.parameters.native_options`."""
    if options["binary"] or any(options[name] is not None for name in ("analysis", "features", "vocabulary")):
        return TermCounter(options)
    return _core.TfidfVectorizer(**_native(options))


def _native(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in _PYTHON_ONLY}


def called_with(call: Callable[..., T], texts: Sequence[Any], workers: int | None) -> T:
    """Return a native call's result for texts; raise QueryError for half a surrogate pair."""
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
            counts, frequencies = _chosen((data, *counts[1:]), columns), frequencies[columns]
            terms = [terms[column] for column in columns]
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
