"""Exact nearest neighbours without a vault, for services that need only the vector scan.

>>> index = VectorIndex(384)
>>> index.add(vectors)
>>> ids, scores = index.search(query, 10)

Results are always exact: ids, order and scores are those of a scan in float64 of the float32 vectors, for cosines of
the vectors at length 1.
"""

from __future__ import annotations

from septet.index.checks import Metric, Nearest, VectorIds
from septet.index.vector_index import VectorIndex, top_k

__all__ = ["Metric", "Nearest", "VectorIds", "VectorIndex", "top_k"]
