"""Vectors as callers give them: anything that reads as a row of numbers, checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.errors import VectorError

__all__ = ["QueryVector", "entry_vector", "query_vector"]


#: The largest float32.
MOST = float(np.finfo(np.float32).max)


class QueryVector(NamedTuple):
    """A question as a vector.

    Attributes:
        exact: as it was given, float64 ``(d,)``; the cosine of a candidate is computed from it.
        scan: float32 of unit length ``(d,)``; candidates are found with it.
    """

    exact: NDArray[np.float64]
    scan: NDArray[np.float32]


def entry_vector(value: ArrayLike, name: str) -> NDArray[np.float32]:
    """Return an entry's vector as float32 ``(d,)``, otherwise as it was given.

    Args:
        name: how to call it in an error.

    Raises:
        VectorError: not one-dimensional, empty, NaN, infinite (also as float32), or all zero.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.ndim == 1 and value.size:
        # A copy: the caller may fill the same buffer with the next vector before this one is written.
        row: NDArray[np.float32] = value.copy(order="C")
    else:
        row = _row(value, name).astype(np.float32)
    _unit(row, name)
    return row


def query_vector(value: ArrayLike) -> QueryVector:
    """Return a query vector in both forms.

    Raises:
        VectorError: as `entry_vector`.
    """
    row = _row(value, "query_vector")
    return QueryVector(row, _unit(row.astype(np.float32), "query_vector"))


def _row(value: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        row = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise VectorError(f"{name} cannot be read as numbers: wanted a sequence of floats") from None
    if row.ndim != 1 or not row.size:
        raise VectorError(f"{name} has shape {row.shape}: wanted one dimension")
    # Beyond float32's range the cast would turn a number into infinity and warn.
    # The greatest of numbers and NaN is NaN, which is not at most anything.
    if not np.abs(row).max() <= MOST:
        raise VectorError(f"{name} holds NaN, infinity, or a number that float32 cannot hold")
    return row


def _unit(row: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    try:
        unit: NDArray[np.float32] = _core.unit_rows(row[np.newaxis, :])[0]
    except ValueError:
        raise VectorError(f"{name} has no direction: it is all zero, or holds NaN or infinity") from None
    return unit
