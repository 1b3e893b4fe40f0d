"""One vector as a caller gives it: anything that reads as a row of numbers, checked and brought to unit length."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet import _core
from septet.errors import VectorError

__all__ = ["unit_vector"]


def unit_vector(value: Any, name: str) -> NDArray[np.float32]:
    """Return a vector as float32 of Euclidean length 1, shape ``(d,)``.

    Args:
        name: how to call it in an error, for example ``query_vector``.

    Raises:
        VectorError: not one-dimensional, empty, NaN, infinite (also as float32), or all zero.
    """
    try:
        with np.errstate(over="ignore"):
            row = np.ascontiguousarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        raise VectorError(f"{name} cannot be read as numbers: wanted a sequence of floats") from None
    if row.ndim != 1 or not row.size or np.ndim(value) != 1:
        raise VectorError(f"{name} has shape {np.shape(value)}: wanted one dimension")
    try:
        return _core.unit_rows(row[np.newaxis, :])[0]
    except ValueError:
        raise VectorError(f"{name} holds NaN or infinity, or is all zero: it has no direction") from None
