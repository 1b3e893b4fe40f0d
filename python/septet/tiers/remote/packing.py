"""Arrays and bytes as JSON-ready text without loss: base64 of little-endian numbers, including NaN."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.errors import QueryError


def packed(data: bytes) -> str:
    """Return bytes as text."""
    return base64.b64encode(data).decode("ascii")


def unpacked(text: object) -> bytes:
    """Return the bytes of a base64 text.

    Raises:
        QueryError: not base64.
    """
    if isinstance(text, str):
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise QueryError("packed numbers must be base64")


def floats(values: NDArray[np.float64]) -> str:
    """Return float64 numbers as base64 text."""
    return packed(np.ascontiguousarray(values, dtype="<f8").tobytes())


def floats_of(text: object) -> NDArray[np.float64]:
    """Return float64 numbers ``(m,)``, bit for bit.

    Raises:
        QueryError: not base64, or cut off.
    """
    return _array(text, "<f8").astype(np.float64)


def singles(values: NDArray[np.float32]) -> str:
    """Return float32 numbers as base64 text, in row-major order."""
    return packed(np.ascontiguousarray(values, dtype="<f4").tobytes())


def singles_of(text: object) -> NDArray[np.float32]:
    """Return float32 numbers ``(m,)``, bit for bit.

    Raises:
        QueryError: not base64, or cut off.
    """
    return _array(text, "<f4").astype(np.float32)


def wholes(values: Sequence[int] | NDArray[np.int64]) -> str:
    """Return 64-bit integers as base64 text."""
    return packed(np.asarray(values, dtype="<i8").tobytes())


def wholes_of(text: object) -> list[int]:
    """Return 64-bit integers.

    Raises:
        QueryError: not base64, or cut off.
    """
    values: list[int] = _array(text, "<i8").tolist()
    return values


def _array(text: object, dtype: str) -> NDArray[Any]:
    data = unpacked(text)
    if len(data) % np.dtype(dtype).itemsize:
        raise QueryError("packed numbers are cut off")
    return np.frombuffer(data, dtype=dtype)
