"""Check the arguments of an index: vectors, queries, masks, counts and ids."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import filterfalse
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.errors import QueryError, VectorError
from septet.inputs.arguments import exact, listed, share, shown, utf8, whole
from septet.model.vector import MOST_DIMENSIONS, numbers

Rows = NDArray[np.float32]
#: Ids or row numbers, and scores.
Nearest = tuple[NDArray[Any], NDArray[np.float64]]


class ApproximateNearest(NamedTuple):
    """Result of a search with ``recall``: ids and scores as of an exact search.

    Attributes:
        certain: True if these are the best vectors for certain; booleans ``(q,)`` for several queries.
    """

    ids: NDArray[Any]
    scores: NDArray[np.float64]
    certain: bool | NDArray[np.bool_]


#: One id, or several.
VectorIds: TypeAlias = int | str | Sequence[int] | Sequence[str] | NDArray[Any]
#: Comparison of vectors.
Metric = Literal["cosine", "ip", "l2"]

#: Maximum ``k``, in effect all rows.
MOST = 2**31 - 1
#: Maximum ids and rows per call.
MOST_IDS = MOST_ROWS = 100_000_000
#: Range of integer ids, 64 bits.
SMALLEST_ID, LARGEST_ID = -(2**63), 2**63 - 1


def metric_of(value: object) -> Metric:
    """Return the name of a metric."""
    name = exact(value)
    for known in ("cosine", "ip", "l2"):
        if isinstance(name, str) and name == known:
            return known
    raise VectorError(f"metric is {shown(value)}: wanted 'cosine', 'ip' (inner product) or 'l2' (Euclidean distance)")


def rows_of(value: ArrayLike, name: str, metric: Metric, width: int | None = None, *, single: bool = False) -> Rows:
    """Return finite float32 rows ``(n, d)``, normalized for cosines; with ``single``, also accept one row ``(d,)``."""
    expected = f"numbers of shape (n, {'d' if width is None else width})"
    array: NDArray[Any] = numbers(value, name, expected)
    if single and array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        raise VectorError(f"{name} has shape {array.shape}: wanted {expected}")
    if len(array) > MOST_ROWS:
        # An array may be larger than memory, such as one that repeats a row.
        raise VectorError(f"{name} has {len(array):,} rows, more than {MOST_ROWS:,}: split them into several calls")
    if not 1 <= array.shape[1] <= MOST_DIMENSIONS:
        raise VectorError(f"{name} has {array.shape[1]:,} components a row: wanted 1 to {MOST_DIMENSIONS:,}")
    try:
        with np.errstate(all="ignore"):
            rows = np.ascontiguousarray(array, dtype=np.float32)
        if metric == "cosine":
            return _core.unit_rows(rows)
        finite = np.isfinite(rows).all(axis=1)
    except MemoryError:
        cause = f"{name} has {len(array):,} rows, which do not fit into memory"
        raise VectorError(f"{cause}: split them into several calls") from None
    except ValueError as error:
        raise VectorError(f"{name}: {error}") from None
    if not finite.all():
        at = int(np.argmin(finite))
        raise VectorError(f"{name}: row {at} is not finite, or beyond the range of float32: drop it")
    return rows


def queries_of(value: ArrayLike, width: int, metric: Metric) -> tuple[Rows, bool]:
    """Return queries ``(q, d)``, and True if the argument has two dimensions."""
    rows = numbers(value, "query", f"numbers of shape ({width},) or (q, {width})")
    return rows_of(rows, "query", metric, width, single=True), rows.ndim == 2


def mask_of(value: ArrayLike | None, n: int) -> NDArray[np.bool_] | None:
    """Return a mask ``(n,)``."""
    if value is None:
        return None
    expected = f"wanted ({n},), one boolean per vector"
    try:
        array: NDArray[Any] = np.asarray(value)
    except (TypeError, ValueError, OverflowError, MemoryError, RecursionError):
        raise QueryError(f"mask is {shown(value)}: {expected}") from None
    if isinstance(value, np.ma.MaskedArray) or (array.dtype != np.bool_ and array.size):
        raise QueryError(f"mask is {shown(value)}: {expected}")
    if array.shape != (n,):
        raise QueryError(f"mask has shape {array.shape}: {expected}")
    return np.ascontiguousarray(array, dtype=np.bool_)


def count(value: int, least: int, name: str) -> int:
    """Check a count; large values are capped."""
    return min(whole(value, name, QueryError, least), MOST)


def recall_of(recall: float, radius: float | None) -> float:
    """Check a recall, which no radius goes with."""
    if radius is not None:
        raise QueryError("recall does not go with radius: a search by radius is exact")
    return share(recall, "recall", QueryError)


def id_list(value: object, error: type[Exception], name: str = "ids") -> list[int] | list[str]:
    """Return one id or several as a list of plain integers or texts; raise ``error`` for any other value."""
    expected = "ids, whole numbers of 64 bits or texts"
    if isinstance(value, np.ma.MaskedArray) or (isinstance(value, np.ndarray) and value.ndim > 1):
        raise error(f"{name} is {shown(value)}: wanted one dimension of {expected}")
    if isinstance(value, np.ndarray):
        if value.size > MOST_IDS:
            # An array may be larger than memory, such as one that repeats a number.
            raise error(f"{name} has {value.size:,} values, more than {MOST_IDS:,}: split them into several calls")
        value = np.atleast_1d(value).tolist()
    if isinstance(value, (str, int, np.integer)) or not isinstance(value, Iterable):
        value = [value]
    ids = listed(value, name, error, expected, MOST_IDS)
    kinds = set(map(type, ids))
    if not kinds <= {int} and not kinds <= {str}:
        for at, value in enumerate(ids):
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, np.integer)):
                raise error(f"{name}[{at}] is {shown(value)}: wanted {expected}")
        ids = [int(value) if isinstance(value, np.integer) else exact(value) for value in ids]
        if len(set(map(type, ids))) > 1:
            raise error(f"{name} has numbers and texts: wanted {expected}, all of one kind")
    if ids and isinstance(ids[0], str):
        # One at a time: joined, repetitions of a long text may exceed memory.
        for text in filterfalse(str.isascii, ids):
            try:
                text.encode()
            except UnicodeEncodeError:
                utf8(text, f"id {shown(text)}", error)
    elif ids and not (min(ids) >= SMALLEST_ID and max(ids) <= LARGEST_ID):
        invalid = min(ids) if min(ids) < SMALLEST_ID else max(ids)
        raise error(f"{name} has {shown(invalid)}: wanted {expected}")
    return ids
