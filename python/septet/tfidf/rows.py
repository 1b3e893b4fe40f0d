"""Sparse rows."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet.errors import QueryError
from septet.inputs.arguments import shown


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
