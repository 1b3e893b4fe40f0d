"""Rows: converts the vectors of providers to float32 rows of unit length."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.errors import EmbeddingRefused, EmbeddingUnavailable
from septet.model.vector import MOST_DIMENSIONS

#: The direction of shorter vectors is unreliable because of rounding.
_MIN_NORM = 1e-10
_REAL = frozenset({float, int})


class BadVector(EmbeddingUnavailable):
    """A vector with NaN or infinity, or without a direction. Other vectors of the request may be valid."""


def unit_rows(values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return rows ``(n, d)`` scaled to unit length; components that are not finite as float32 count as 0.

    A row shorter than 1e-10 keeps its length.
    """
    exact = values.astype(np.float64)
    exact[~(np.abs(exact) <= np.finfo(np.float32).max)] = 0.0
    norms = np.linalg.norm(exact, axis=1, keepdims=True)
    np.divide(exact, norms, out=exact, where=norms >= _MIN_NORM)
    return exact.astype(np.float32)


def finish(values: NDArray[np.floating[Any]], provider: str, dimensions: int | None) -> NDArray[np.float32]:
    """Check a provider's vectors and scale them to unit length.

    Raises:
        EmbeddingRefused: the dimension differs from the requested or previous one.
        BadVector: a row has no direction.
    """
    size = values.shape[1]
    if dimensions is not None and size != dimensions:
        message = f"{provider} sent vectors of {size} dimensions instead of {dimensions}"
        message += ": check the model and `dimensions`"
        raise EmbeddingRefused(message, provider=provider)
    rows = unit_rows(values)
    empty = np.flatnonzero(np.linalg.norm(rows, axis=1) < 0.5)
    if empty.size:
        message = f"{provider} sent an all-zero vector for text {empty[0]} of {len(rows)} in the request"
        raise BadVector(message, provider=provider)
    return rows


def mean_row(rows: NDArray[np.float32], weights: Sequence[float]) -> NDArray[np.float32]:
    """Return the vector ``(d,)`` of a text: the mean of its pieces' ``(m, d)``, weighted by their lengths."""
    mean = np.average(rows.astype(np.float64), axis=0, weights=weights)
    row: NDArray[np.float32] = unit_rows(mean[np.newaxis, :])[0]
    return row


def indexed_matrix(body: Any, expected: int, provider: str) -> NDArray[np.floating[Any]]:
    """Return the ``embedding`` of each item of the list ``data``, ordered by its ``index``; see `matrix_of`."""
    data = body.get("data") if isinstance(body, Mapping) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise _unusable(provider, "an answer without a list of vectors")
    numbers = [item.get("index", position) for position, item in enumerate(data)]
    by_index = {number: item.get("embedding") for number, item in zip(numbers, data) if type(number) is int}
    if len(data) != expected or by_index.keys() != set(range(expected)):
        raise _unusable(provider, f"{len(data)} vectors instead of one for each of {expected} texts")
    return matrix_of([by_index[position] for position in range(expected)], expected, provider)


def matrix_of(rows: Any, expected: int, provider: str) -> NDArray[np.floating[Any]]:
    """Return vectors, lists of numbers or base64 of little-endian float32, as a matrix ``(expected, d)``.

    Raises:
        EmbeddingUnavailable: see `numbers_of`.
        BadVector: a vector contains NaN, infinity, or a number beyond float32.
    """
    matrix = numbers_of(rows, expected, provider)
    bad = np.flatnonzero(~(np.abs(matrix) <= np.finfo(np.float32).max).all(axis=1))
    if bad.size:
        message = f"{provider} sent NaN or infinity in the vector of text {bad[0]} of {len(matrix)} in the request"
        raise BadVector(message, provider=provider)
    return matrix


def numbers_of(rows: Any, expected: int, provider: str) -> NDArray[np.floating[Any]]:
    """Return vectors as a matrix ``(expected, d)``; any of the numbers may be NaN or infinite.

    Raises:
        EmbeddingUnavailable: not `expected` vectors, vectors of several lengths or more than 65,536 components, or
            values other than real numbers: text, booleans, dates, complex or masked numbers.
    """
    listed = isinstance(rows, (list, tuple)) or (isinstance(rows, np.ndarray) and rows.ndim > 0)
    if not listed or len(rows) != expected:
        count = len(rows) if listed else "no list of"
        raise _unusable(provider, f"{count} vectors instead of {expected}")
    try:
        matrix = np.stack([_row(row) for row in rows])
    except (TypeError, ValueError, OverflowError):
        matrix = np.empty(0)
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise _unusable(provider, "vectors that are empty, not numeric, or of several lengths")
    if matrix.shape[1] > MOST_DIMENSIONS:
        raise _unusable(provider, f"vectors of {matrix.shape[1]:,} components: the maximum is {MOST_DIMENSIONS:,}")
    return matrix


def _unusable(provider: str, content: str) -> EmbeddingUnavailable:
    return EmbeddingUnavailable(f"{provider} sent {content}", provider=provider)


def float32_of(matrix: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return numbers as float32; larger ones become infinite."""
    with np.errstate(over="ignore"):
        return matrix.astype(np.float32)


def _row(value: Any) -> NDArray[np.floating[Any]]:
    if isinstance(value, str):
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    if isinstance(value, list):
        # numpy would convert texts and booleans to numbers.
        if not _REAL.issuperset(map(type, value)):
            value = [_real(number) for number in value]
        return np.array(value, dtype=np.float64)
    row = np.asarray(value)
    if row.dtype == object and row.ndim == 1:
        return _row(row.tolist())
    if row.dtype.kind not in "iuf" or np.ma.is_masked(value):
        raise TypeError("not real numbers")
    return row if row.dtype.kind == "f" and row.itemsize <= 8 else row.astype(np.float64)


def _real(value: Any) -> float:
    """Return a number of numpy or another library as a float; None becomes NaN."""
    if value is None:
        return float("nan")
    number = np.asarray(value)
    if number.ndim or number.dtype.kind not in "iuf" or np.ma.is_masked(value):
        raise TypeError("not a real number")
    return float(number)
