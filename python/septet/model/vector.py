"""Vectors as callers pass them, checked: anything that numpy reads as a row of numbers; and their space."""

from __future__ import annotations

from collections.abc import Sized
from typing import TYPE_CHECKING

import numpy as np

from septet import _core
from septet.errors import VectorError
from septet.inputs.arguments import shown
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


class Space(NamedTuple):
    """A model with a dimension, and how many live entries have a vector in it.

    Attributes:
        space: the number of the space in its store.
        keyed_by: what addresses a vector: ``text``, the text alone, or ``entry``, the text of one entry.
        entries: 0 where they were not counted.
    """

    space: int
    model: str
    dimensions: int
    keyed_by: str
    entries: int


#: Maximum components of a vector.
MOST_DIMENSIONS = 65_536

#: The largest float32.
MOST = float(np.finfo(np.float32).max)


class QueryVector(NamedTuple):
    """A query as a vector.

    Attributes:
        exact: as passed, float64 ``(d,)``; cosines of candidates are computed from it.
        scan: scaled to unit length, float32 ``(d,)``; the scan that finds candidates uses it.
    """

    exact: NDArray[np.float64]
    scan: NDArray[np.float32]


def entry_vector(value: ArrayLike, name: str) -> NDArray[np.float32]:
    """Return an entry's vector as float32 ``(d,)``, not normalised.

    Raises:
        VectorError: not a row of 1 to 65,536 numbers, NaN, infinite (also as float32), or all zero.
    """
    if (
        type(value) is np.ndarray
        and value.dtype == np.float32
        and value.ndim == 1
        and 0 < value.size <= MOST_DIMENSIONS
    ):
        # Copy: the caller may reuse the buffer for the next vector before this one is written.
        row: NDArray[np.float32] = value.copy(order="C")
    else:
        row = _row(value, name).astype(np.float32)
    _unit(row, name)
    return row


def query_vector(value: ArrayLike) -> QueryVector:
    """Return a query vector in both forms; errors as for `entry_vector`."""
    # The same steps in numpy cost a search 20 us, after a scan that evicts the core's cache.
    if (plain := _core.query_vector(value)) is not None:
        return QueryVector(*plain)
    row = _row(value, "query_vector")
    return QueryVector(row, _unit(row.astype(np.float32), "query_vector"))


def numbers(value: ArrayLike, name: str, expected: str) -> NDArray[np.generic]:
    """Convert a value to a numpy array of integers or floats, without loss; ``expected`` describes it in errors.

    Raises:
        VectorError: text, complex numbers, times, booleans, objects, masked values, or not an array.
    """
    if isinstance(value, np.ma.MaskedArray):
        raise VectorError(f"{name} is a masked array: wanted {expected}; fill the masked values with filled()")
    try:
        array: NDArray[np.generic] = np.asarray(value)
    except (TypeError, ValueError, OverflowError, MemoryError, RecursionError):
        raise VectorError(f"{name} cannot be read as numbers: it is {shown(value)}, wanted {expected}") from None
    if array.dtype.kind not in "fiu":
        seen = f"an array of {array.dtype}" if isinstance(value, np.ndarray) else shown(value)
        raise VectorError(f"{name} cannot be read as numbers: it is {seen}, wanted {expected}")
    return array


def _row(value: ArrayLike, name: str) -> NDArray[np.float64]:
    expected = f"a row of 1 to {MOST_DIMENSIONS:,} numbers"
    long = isinstance(value, Sized) and not isinstance(value, np.ndarray) and len(value) > MOST_DIMENSIONS
    array = None if long else numbers(value, name, expected)
    if array is None or array.size > MOST_DIMENSIONS:
        raise VectorError(f"{name} has more than {MOST_DIMENSIONS:,} components: wanted {expected}")
    if array.ndim != 1 or not array.size:
        raise VectorError(f"{name} has shape {array.shape}: wanted one dimension, {expected}")
    with np.errstate(all="ignore"):
        row = np.array(array, dtype=np.float64)
    # Beyond the range of float32 the cast would give infinity, with a warning.
    # The maximum is NaN if any component is, and then the comparison is false.
    if not np.abs(row).max() <= MOST:
        raise VectorError(f"{name} contains NaN, infinity, or a number beyond the range of float32: omit the vector")
    return row


def _unit(row: NDArray[np.float32], name: str) -> NDArray[np.float32]:
    try:
        unit: NDArray[np.float32] = _core.unit_rows(row[np.newaxis, :])[0]
    except ValueError:
        raise VectorError(f"{name} has no direction: it is all zero, or contains NaN or infinity") from None
    return unit
