"""TF-IDF of whole corpora, for services that need only the weights.

>>> vectorizer = TfidfVectorizer()
>>> rows = vectorizer.fit_transform(["to be or not to be", "to see or not to see"])
>>> vectorizer.vocabulary
['be', 'not', 'or', 'see', 'to']

The numbers are those of scikit-learn's ``TfidfVectorizer`` with its defaults. With scipy at hand, the rows become a
matrix by ``scipy.sparse.csr_matrix(rows, shape=(len(texts), len(vectorizer)))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import QueryError

__all__ = ["SparseRows", "TfidfVectorizer"]

T = TypeVar("T")


class SparseRows(NamedTuple):
    """Rows in CSR form: row ``i`` has ``data[indptr[i]:indptr[i + 1]]`` in the columns ``indices`` at the same places.

    The order of the three is the one that ``scipy.sparse.csr_matrix`` takes.
    """

    #: The values that are not 0, float64.
    data: NDArray[np.float64]
    #: Their columns, int32, ascending in a row.
    indices: NDArray[np.int32]
    #: Where each row begins, and the end of the last, int64 ``(n + 1,)``.
    indptr: NDArray[np.int64]


class TfidfVectorizer:
    """Rows of length 1 from counts times ``idf = ln((1 + n) / (1 + df)) + 1``; a text without known terms gives zeros.

    Any thread may transform while another fits: it uses what was learned when it began. No number depends on
    ``threads``, which says how many to use at most; None takes every core when there is work for more than one.

    Args:
        tokens: ``"words"`` takes runs of at least two letters, digits and underscores, in lower case: what
            scikit-learn's default pattern takes. ``"signals"`` takes what the TF-IDF signal of a vault takes: at least
            three characters, hyphens included, no English stop words, accents folded, and pairs of characters of
            scripts written without blanks.

    Raises:
        QueryError: another ``tokens``.
    """

    def __init__(self, *, tokens: str = "words") -> None:
        try:
            self._core = _core.TfidfVectorizer(tokens=tokens)
        except ValueError as error:
            raise QueryError(str(error)) from error
        self._tokens = tokens

    def fit(self, texts: Iterable[str], *, threads: int | None = None) -> TfidfVectorizer:
        """Learn terms and document frequencies; replaces what was learned before. Returns the vectorizer.

        Raises:
            QueryError: ``threads`` below 1, a text with half a surrogate pair.
            TypeError: something that is not a text, or one text alone.
        """
        _asked(self._core.fit, texts, threads)
        return self

    def transform(self, texts: Iterable[str], *, threads: int | None = None) -> SparseRows:
        """Return a row for every text, from the terms that were learned.

        Raises:
            QueryError: nothing learned yet, ``threads`` below 1, a text with half a surrogate pair.
            TypeError: something that is not a text, or one text alone.
        """
        return SparseRows(*_asked(self._core.transform, texts, threads))

    def fit_transform(self, texts: Iterable[str], *, threads: int | None = None) -> SparseRows:
        """Return what `transform` of the same texts returns after `fit`, reading them once.

        Raises:
            QueryError: ``threads`` below 1, a text with half a surrogate pair.
            TypeError: something that is not a text, or one text alone.
        """
        return SparseRows(*_asked(self._core.fit_transform, texts, threads))

    @property
    def vocabulary(self) -> list[str]:
        """The terms by column, which is their code point order; empty when nothing was learned."""
        try:
            return self._core.vocabulary
        except ValueError:
            return []

    @property
    def idf(self) -> NDArray[np.float64]:
        """The inverse document frequencies by column; empty when nothing was learned."""
        try:
            return self._core.idf
        except ValueError:
            return np.empty(0)

    def __len__(self) -> int:
        return len(self.idf)

    def __repr__(self) -> str:
        return f"<TfidfVectorizer of {len(self)} terms, tokens={self._tokens!r}>"


def _asked(call: Callable[..., T], texts: Iterable[str], threads: int | None) -> T:
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts is one {type(texts).__name__}: wanted many, as in [text]")
    listed = texts if isinstance(texts, list) else list(texts)
    try:
        return call(listed, threads=threads)
    except UnicodeEncodeError as error:
        raise QueryError(f"text {listed.index(error.object)} has half a surrogate pair; repair or drop it") from error
    except ValueError as error:
        raise QueryError(str(error)) from error
