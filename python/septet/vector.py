"""Vectors as callers pass them: anything that numpy reads as a row of numbers, checked."""

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
    """A query as a vector.

    Attributes:
        exact: as given, float64 ``(d,)``; cosines of candidates are computed from it.
        scan: scaled to unit length, float32 ``(d,)``; the scan that finds candidates uses it.
    """

    exact: NDArray[np.float64]
    scan: NDArray[np.float32]


def entry_vector(value: ArrayLike, name: str) -> NDArray[np.float32]:
    """Return an entry's vector as float32 ``(d,)``; its length stays as given.

    Args:
        name: what errors call it.

    Raises:
        VectorError: not one-dimensional, empty, NaN, infinite (also as float32), or all zero.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.ndim == 1 and value.size:
        # Copy: the caller may reuse the buffer for the next vector before this one is written.
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
    # A step for numpy each would cost a search 20 us, behind a scan that has emptied the core's cache.
    if (plain := _core.query_vector(value)) is not None:
        return QueryVector(*plain)
    row = _row(value, "query_vector")
    return QueryVector(row, _unit(row.astype(np.float32), "query_vector"))


def _row(value: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        row = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise VectorError(f"{name} cannot be read as numbers: wanted a sequence of floats") from None
    if row.ndim != 1 or not row.size:
        raise VectorError(f"{name} has shape {row.shape}: wanted one dimension")
    # Beyond the range of float32 the cast would give infinity, with a warning.
    # The maximum is NaN if any component is, and then the comparison is false.
    if not np.abs(row).max() <= MOST:
        raise VectorError(f"{name} contains NaN, infinity, or a number beyond the range of float32")
    return row


def _unit(row: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    try:
        unit: NDArray[np.float32] = _core.unit_rows(row[np.newaxis, :])[0]
    except ValueError:
        raise VectorError(f"{name} has no direction: it is all zero, or contains NaN or infinity") from None
    return unit
