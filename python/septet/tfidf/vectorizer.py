"""TF-IDF weights without a vault, for services that need nothing else.

>>> vectorizer = TfidfVectorizer()
>>> rows = vectorizer.fit_transform(["to be or not to be", "to see or not to see"])
>>> vectorizer.vocabulary
['be', 'not', 'or', 'see', 'to']

The numbers equal those of scikit-learn's ``TfidfVectorizer`` with its defaults. For a scipy matrix, use
``scipy.sparse.csr_matrix(rows, shape=(len(texts), len(vectorizer)))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.arguments import exact, listed, shown, whole
from septet.errors import QueryError

__all__ = ["SparseRows", "TfidfVectorizer"]

T = TypeVar("T")

#: Texts of one call; more threads than this are not started.
MOST_TEXTS, MOST_THREADS = 100_000_000, 256


class SparseRows(NamedTuple):
    """Rows in CSR form, in the order of arguments that ``scipy.sparse.csr_matrix`` takes.

    Row ``i`` has the values ``data[indptr[i]:indptr[i + 1]]`` in the columns ``indices[indptr[i]:indptr[i + 1]]``.
    """

    #: The nonzero values, float64.
    data: NDArray[np.float64]
    #: Their columns, int32, ascending within a row.
    indices: NDArray[np.int32]
    #: The start of each row, and the end of the last, int64 ``(n + 1,)``.
    indptr: NDArray[np.int64]


class TfidfVectorizer:
    """Turns texts into rows of TF-IDF weights, counts times ``idf = ln((1 + n) / (1 + df)) + 1``, scaled to length 1.

    A text without known terms gives a row of zeros. Threads may transform while another fits: they use what was
    learned when they began. ``threads`` is the most threads to use, None for every core if there is work for more than
    one; results do not depend on it.

    Args:
        tokens: ``"words"`` takes runs of two or more letters, digits and underscores, in lower case, like the default
            pattern of scikit-learn. ``"signals"`` takes the terms of a vault's TF-IDF signal: three or more characters,
            hyphens included, without English stop words, accents folded, and pairs of characters of scripts that are
            written without spaces.

    Raises:
        QueryError: ``tokens`` is neither of these.
    """

    def __init__(self, *, tokens: str = "words") -> None:
        tokens = exact(tokens)
        if not isinstance(tokens, str) or tokens not in ("words", "signals"):
            raise QueryError(f"tokens is {shown(tokens)}: wanted 'words' or 'signals'")
        self._core = _core.TfidfVectorizer(tokens=tokens)
        self._tokens = tokens

    def fit(self, texts: Iterable[str], *, threads: int | None = None) -> TfidfVectorizer:
        """Learn terms and document frequencies, replacing those learned before; return the vectorizer.

        Raises:
            QueryError: ``threads`` is below 1, ``texts`` is one text, or holds something that is not text or has half a
                surrogate pair.
        """
        _called(self._core.fit, texts, threads)
        return self

    def transform(self, texts: Iterable[str], *, threads: int | None = None) -> SparseRows:
        """Return a row for each text, over the terms learned by `fit`.

        Raises:
            QueryError: `fit` was not called, ``threads`` is below 1, ``texts`` is one text, or holds something that is
                not text or has half a surrogate pair.
        """
        return SparseRows(*_called(self._core.transform, texts, threads))

    def fit_transform(self, texts: Iterable[str], *, threads: int | None = None) -> SparseRows:
        """Return what `fit` and then `transform` of the same texts return, reading the texts once.

        Raises:
            QueryError: ``threads`` is below 1, ``texts`` is one text, or holds something that is not text or has half a
                surrogate pair.
        """
        return SparseRows(*_called(self._core.fit_transform, texts, threads))

    @property
    def vocabulary(self) -> list[str]:
        """The terms by column, in code point order; empty before `fit`."""
        try:
            return self._core.vocabulary
        except ValueError:
            return []

    @property
    def idf(self) -> NDArray[np.float64]:
        """The inverse document frequencies by column; empty before `fit`."""
        try:
            return self._core.idf
        except ValueError:
            return np.empty(0)

    def __len__(self) -> int:
        return len(self.idf)

    def __repr__(self) -> str:
        return f"<TfidfVectorizer of {len(self)} terms, tokens={self._tokens!r}>"


def _called(call: Callable[..., T], texts: Iterable[str], threads: int | None) -> T:
    if isinstance(texts, (str, bytes)):
        raise QueryError(f"texts is one {type(texts).__name__}: wanted several, as in [text]")
    given = listed(texts, "texts", QueryError, "a list of texts", MOST_TEXTS, of=str)
    workers = None if threads is None else min(whole(threads, "threads", QueryError, 1), MOST_THREADS)
    try:
        return call(given, threads=workers)
    except UnicodeEncodeError as error:
        raise QueryError(f"text {given.index(error.object)} has half a surrogate pair; repair or drop it") from error
    except TypeError:
        at, odd = next((at, one) for at, one in enumerate(given) if not isinstance(one, str))
        raise QueryError(f"text {at} is {shown(odd)}, of type {type(odd).__name__}: wanted text") from None
    except ValueError as error:
        raise QueryError(str(error)) from error
