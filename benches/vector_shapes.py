"""Vectors as other models make them, or broken ones: what words and vectors together lose to the better of the two.

python benches/evaluate.py prints it for a collection with vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shape", "vector_shapes"]

Vectors = NDArray[np.float64]


class Shape(NamedTuple):
    """Vectors of documents ``(n, d)`` and of queries ``(m, d)``."""

    name: str
    docs: Vectors
    queries: Vectors


def vector_shapes(docs: NDArray[np.float32], queries: NDArray[np.float32]) -> Iterator[Shape]:
    """Yield vectors in other shapes, which keep the order of cosines as far as they can, and in broken ones."""
    rng = np.random.default_rng(5)
    own, asked = unit(docs.astype(np.float64)), unit(queries.astype(np.float64))
    n, d = own.shape
    # As long as a vector, if added to one.
    noise = [rng.standard_normal(of.shape) / np.sqrt(d) for of in (own, asked)]
    yield Shape("as they are", own, asked)
    for mean in (0.8, 0.95):
        common = unit(rng.standard_normal((1, d))) * np.sqrt((mean - (own @ own.T).mean()) / (1 - mean))
        yield Shape(f"mean cosine of two {mean}", unit(own + common), unit(asked + common))
    for kept in (64, 128):
        yield Shape(f"the first {kept} of {d} numbers", unit(own[:, :kept]), unit(asked[:, :kept]))
    yield Shape("half precision", *(unit(of.astype(np.float16).astype(np.float64)) for of in (own, asked)))
    for times in (1.5, 3.0):
        yield Shape(f"noise {times} times as long", *(unit(of + times * e) for of, e in zip((own, asked), noise)))
    broken = rng.random((n, 1)) < 0.5
    yield Shape("half of the documents random", np.where(broken, unit(noise[0]), own), asked)
    yield Shape("random", unit(noise[0]), unit(noise[1]))


def unit(rows: Vectors) -> Vectors:
    """Return rows at unit length; a row of zeros stays one."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.finfo(float).tiny)
