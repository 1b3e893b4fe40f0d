"""Sparse rows."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet.errors import QueryError
from septet.inputs.arguments import shown

__all__ = ["SparseRows"]


class _Parts(NamedTuple):
    #: The nonzero values, float64.
    data: NDArray[np.float64]
    #: Their columns, int32, ascending within a row.
    indices: NDArray[np.int32]
    #: The start of each row, and the end of the last, int64 ``(n + 1,)``.
    indptr: NDArray[np.int64]


class SparseRows(_Parts):
    """Rows in CSR form, in the order of arguments that ``scipy.sparse.csr_matrix`` takes.

    Row ``i`` has the values ``data[indptr[i]:indptr[i + 1]]`` in the columns ``indices[indptr[i]:indptr[i + 1]]``. As a
    tuple it has these three parts.

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
        """Return rows with so many columns; those made of three parts have as many as the last one in use says."""
        made = cls(data, indices, indptr)
        made._columns = columns
        return made

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return int(np.max(self.indices, initial=-1)) + 1 if self._columns is None else self._columns

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return len(self.indptr) - 1, self.columns

    def __repr__(self) -> str:
        return f"<SparseRows of {self.shape[0]} rows, {self.columns} columns, {len(self.data)} values>"

    def __array__(self, dtype: object = None, copy: bool | None = None) -> NoReturn:
        # Else numpy, and scikit-learn with it, takes the tuple for three rows.
        raise TypeError(
            "SparseRows are no dense array: use .to_scipy(), or TfidfVectorizer(output='scipy') in a pipeline of "
            "scikit-learn"
        )

    def __matmul__(self, other: ArrayLike) -> NDArray[np.float64]:
        """Return the product with a dense vector ``(columns,)`` or matrix ``(columns, k)``, dense.

        Raises:
            QueryError: ``other`` is no array of numbers of this shape.
        """
        wanted = f"wanted numbers of shape ({self.columns},) or ({self.columns}, k)"
        try:
            dense = np.asarray(other, dtype=np.float64)
        except (TypeError, ValueError):
            raise QueryError(f"{shown(other)} cannot be multiplied with: {wanted}") from None
        if dense.ndim not in (1, 2) or len(dense) != self.columns:
            raise QueryError(f"an array of shape {dense.shape} cannot be multiplied with: {wanted}")
        n, _ = self.shape
        row = np.repeat(np.arange(n), np.diff(self.indptr))

        def product(column: NDArray[np.float64]) -> NDArray[np.float64]:
            sums: NDArray[np.float64] = np.bincount(row, self.data * column[self.indices], n).astype(np.float64)
            return sums

        if dense.ndim == 1:
            return product(dense)
        made = np.empty((n, dense.shape[1]))
        for j in range(dense.shape[1]):
            made[:, j] = product(dense[:, j])
        return made

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
