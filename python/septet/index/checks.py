"""Arguments of an index: vectors, queries, masks, counts and ids, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import filterfalse
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.errors import QueryError, VectorError
from septet.inputs.arguments import exact, listed, shown, utf8, whole
from septet.model.vector import MOST_DIMENSIONS, numbers

__all__ = [
    "Metric",
    "Nearest",
    "Rows",
    "VectorIds",
    "count",
    "id_list",
    "mask_of",
    "metric_of",
    "queries_of",
    "rows_of",
]

Rows = NDArray[np.float32]
#: Ids or row numbers, and scores.
Nearest = tuple[NDArray[Any], NDArray[np.float64]]
#: One id, or several.
VectorIds: TypeAlias = int | str | Sequence[int] | Sequence[str] | NDArray[Any]
#: What vectors are compared by.
Metric = Literal["cosine", "ip", "l2"]

#: A larger ``k`` is the same as all rows.
MOST = 2**31 - 1
#: Ids, and rows, of one call.
MOST_IDS = MOST_ROWS = 100_000_000
#: Ids are whole numbers of 64 bits.
SMALLEST_ID, LARGEST_ID = -(2**63), 2**63 - 1


def metric_of(value: object) -> Metric:
    """Return the name of a metric."""
    name = exact(value)
    for known in ("cosine", "ip", "l2"):
        if isinstance(name, str) and name == known:
            return known
    raise VectorError(f"metric is {shown(value)}: wanted 'cosine', 'ip' (inner product) or 'l2' (Euclidean distance)")


def rows_of(value: ArrayLike, name: str, metric: Metric, width: int | None = None, *, one: bool = False) -> Rows:
    """Return finite float32 rows ``(n, d)``, for cosines of length 1; with ``one``, a single row may come alone."""
    wanted = f"numbers of shape (n, {'d' if width is None else width})"
    array: NDArray[Any] = numbers(value, name, wanted)
    if one and array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2 or (width is not None and array.shape[1] != width):
        raise VectorError(f"{name} has shape {array.shape}: wanted {wanted}")
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
        raise VectorError(f"{name} has {len(array):,} rows, more than fit into memory: give fewer at once") from None
    except ValueError as error:
        raise VectorError(f"{name}: {error}") from None
    if not finite.all():
        at = int(np.argmin(finite))
        raise VectorError(f"{name}: row {at} is not finite, or beyond the range of float32: leave it out")
    return rows


def queries_of(value: ArrayLike, width: int, metric: Metric) -> tuple[Rows, bool]:
    """Return queries ``(q, d)``, and whether several were given."""
    rows = numbers(value, "query", f"numbers of shape ({width},) or (q, {width})")
    return rows_of(rows, "query", metric, width, one=True), rows.ndim == 2


def mask_of(value: ArrayLike | None, n: int) -> NDArray[np.bool_] | None:
    """Return a mask ``(n,)``."""
    if value is None:
        return None
    wanted = f"wanted ({n},), one boolean per vector"
    try:
        given: NDArray[Any] = np.asarray(value)
    except (TypeError, ValueError, OverflowError, MemoryError, RecursionError):
        raise QueryError(f"mask is {shown(value)}: {wanted}") from None
    if isinstance(value, np.ma.MaskedArray) or (given.dtype != np.bool_ and given.size):
        raise QueryError(f"mask is {shown(value)}: {wanted}")
    if given.shape != (n,):
        raise QueryError(f"mask has shape {given.shape}: {wanted}")
    return np.ascontiguousarray(given, dtype=np.bool_)


def count(value: int, least: int, name: str) -> int:
    """Return a count; a very large one means everything."""
    return min(whole(value, name, QueryError, least), MOST)


def id_list(value: object, error: type[Exception], name: str = "ids") -> list[int] | list[str]:
    """Return one id or several as plain values, all whole numbers or all texts.

    Raises:
        error: something else, both kinds, a number beyond 64 bits, or text with half a surrogate pair.
    """
    wanted = "ids, whole numbers of 64 bits or texts"
    if isinstance(value, np.ma.MaskedArray) or (isinstance(value, np.ndarray) and value.ndim > 1):
        raise error(f"{name} is {shown(value)}: wanted one dimension of {wanted}")
    if isinstance(value, np.ndarray):
        if value.size > MOST_IDS:
            # An array may be larger than memory, such as one that repeats a number.
            raise error(f"{name} has {value.size:,} values, more than {MOST_IDS:,}: split them into several calls")
        value = np.atleast_1d(value).tolist()
    if isinstance(value, (str, int, np.integer)) or not isinstance(value, Iterable):
        value = [value]
    found = listed(value, name, error, wanted, MOST_IDS)
    kinds = set(map(type, found))
    if not kinds <= {int} and not kinds <= {str}:
        if (at := next((at for at, one in enumerate(found) if _is_odd(one)), None)) is not None:
            raise error(f"{name}[{at}] is {shown(found[at])}: wanted {wanted}")
        found = [int(one) if isinstance(one, np.integer) else exact(one) for one in found]
        if len(set(map(type, found))) > 1:
            raise error(f"{name} has numbers and texts: wanted {wanted}, all of one kind")
    if found and isinstance(found[0], str):
        # One at a time: a list may hold one long text many times.
        for one in filterfalse(str.isascii, found):
            try:
                one.encode()
            except UnicodeEncodeError:
                utf8(one, f"id {shown(one)}", error)
    elif found and not (min(found) >= SMALLEST_ID and max(found) <= LARGEST_ID):
        odd = min(found) if min(found) < SMALLEST_ID else max(found)
        raise error(f"{name} has {shown(odd)}: wanted {wanted}")
    return found


def _is_odd(value: object) -> bool:
    return isinstance(value, (bool, np.bool_)) or not isinstance(value, (str, int, np.integer))
