"""Exact nearest neighbours without a vault, for services that need only the vector scan.

>>> index = VectorIndex(384)
>>> index.add(vectors)
>>> ids, scores = index.search(query, 10)

Results are exact unless ``recall`` is passed: ids, order and scores are those of a scan in float64 of the float32
vectors, for cosines of the vectors at length 1.
"""

from __future__ import annotations

from septet.index.checks import ApproximateNearest, Metric, Nearest, VectorIds
from septet.index.matrix import top_k
from septet.index.vector_index import VectorIndex

__all__ = ["ApproximateNearest", "Metric", "Nearest", "VectorIds", "VectorIndex", "top_k"]
