"""Exact nearest neighbours among the rows of a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from septet import _core
from septet.index import checks
from septet.index.checks import Metric


def top_k(
    query: ArrayLike, matrix: ArrayLike, k: int, *, metric: Metric = "cosine", mask: ArrayLike | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Find the ``k`` best rows of a matrix, exactly.

    Each call prepares all rows of the matrix. For repeated searches a `VectorIndex` is several times faster.

    Args:
        query: one query ``(d,)``, or several ``(q, d)``.
        matrix: the rows, ``(n, d)``; converted to float32.
        k: maximum number of rows, 0 or more.
        metric: ``cosine``, ``ip`` or ``l2``, as for a `VectorIndex`.
        mask: booleans ``(n,)``, true where a row may be returned.

    Returns:
        Row numbers (int64) and scores (float64), best first, each ``(min(k, allowed),)``, or with a leading ``q``:
        cosines, inner products or squared Euclidean distances. Equal scores are ordered by row number.

    Raises:
        VectorError: the shapes do not match, a row or query has length 0 for cosines, a number is NaN or infinite, or
            the metric is unknown.
        QueryError: ``k`` is negative, or the mask has another length.
    """
    metric = checks.metric_of(metric)
    rows = checks.rows_of(matrix, "matrix", metric)
    queries, many = checks.queries_of(query, rows.shape[1], metric)
    allowed = checks.mask_of(mask, len(rows))
    k = checks.count(k, 0, "k")
    if metric == "l2":
        codes = _core.Codes(rows.shape[1], distances=True)
        codes.append(rows)
        if many:
            return codes.top_k_batch(queries, rows, k, allowed)
        return codes.top_k(queries[0], rows, k, allowed)
    results = [_core.top_k(row, rows, k, allowed) for row in queries]
    if not many:
        return results[0]
    width = min(k, len(rows) if allowed is None else int(np.count_nonzero(allowed)))
    ids = np.array([ids for ids, _ in results], dtype=np.int64).reshape(len(results), width)
    return ids, np.array([scores for _, scores in results], dtype=np.float64).reshape(len(results), width)
