"""A BERT-type sentence model in plain numpy: the twin that the kernels are compared with.

Weights are named as in the file of a BERT, without a prefix. In float64 it is the truth, in float32 a competitor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import erf, sqrt

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
LAYER = "encoder.layer.{}."

#: erf(x) in steps of 1/32768 up to 4, beyond which float32 knows only 1; the nearest is at most 1.8e-5 away.
_STEPS = 32768
_ERF = np.array([erf(i / _STEPS) for i in range(4 * _STEPS + 1)])


@dataclass(frozen=True)
class Bert:
    """A model: its weights by name, and what its configuration says."""

    weights: Mapping[str, Array]
    layers: int
    heads: int
    epsilon: float = 1e-12
    first_position: int = 0

    def as_type(self, dtype: type) -> Bert:
        """Return the same model, computing in another type."""
        weights = {name: value.astype(dtype) for name, value in self.weights.items() if value.dtype.kind == "f"}
        return Bert(weights, self.layers, self.heads, self.epsilon, self.first_position)

    def embed(self, texts: list[list[int]], pooling: str = "mean") -> Array:
        """Return the unit vectors ``(n, d)`` of texts given as token ids, padded to the longest."""
        mask = _padded([[1] * len(text) for text in texts]).astype(bool)
        rows = _pool(self._run(texts, mask), mask, pooling)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def hidden(self, texts: list[list[int]], types: list[list[int]] | None = None) -> list[Array]:
        """Return the vectors ``(t, d)`` of each text's tokens after the last layer; all of the first type if None."""
        mask = _padded([[1] * len(text) for text in texts]).astype(bool)
        return [rows[: len(text)] for rows, text in zip(self._run(texts, mask, types), texts)]

    def _run(self, texts: list[list[int]], mask: NDArray[np.bool_], types: list[list[int]] | None = None) -> Array:
        x = self._tokens(_padded(texts), 0 if types is None else _padded(types))
        for number in range(self.layers):
            x = self._layer(x, mask, LAYER.format(number))
        return x

    def _tokens(self, ids: NDArray[np.int64], types: NDArray[np.int64] | int) -> Array:
        w = self.weights
        first = self.first_position
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][first : first + ids.shape[1]]
        if "embeddings.token_type_embeddings.weight" in w:
            x = x + w["embeddings.token_type_embeddings.weight"][types]
        return self._norm(x, "embeddings.LayerNorm")

    def _layer(self, x: Array, mask: NDArray[np.bool_], at: str) -> Array:
        n, t, d = x.shape
        query, key, value = (
            self._linear(x, f"{at}attention.self.{part}").reshape(n, t, self.heads, -1).transpose(0, 2, 1, 3)
            for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2)
        scores /= np.sqrt(d // self.heads).astype(x.dtype)
        scores += np.where(mask, 0, -np.inf)[:, None, None, :].astype(x.dtype)
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed = (scores @ value).transpose(0, 2, 1, 3).reshape(n, t, d)
        x = self._norm(x + self._linear(mixed, f"{at}attention.output.dense"), f"{at}attention.output.LayerNorm")
        wide = gelu(self._linear(x, f"{at}intermediate.dense"))
        return self._norm(x + self._linear(wide, f"{at}output.dense"), f"{at}output.LayerNorm")

    def _linear(self, x: Array, name: str) -> Array:
        weight = self.weights[f"{name}.weight"]
        # One product of all rows: of three dimensions numpy would make one for each text.
        flat = x.reshape(-1, x.shape[-1]) @ weight.T + self.weights[f"{name}.bias"]
        return flat.reshape(*x.shape[:-1], len(weight))

    def _norm(self, x: Array, name: str) -> Array:
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + x.dtype.type(self.epsilon))
        return x * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def _padded(rows: list[list[int]]) -> NDArray[np.int64]:
    width = max(map(len, rows))
    return np.array([[*row, *[0] * (width - len(row))] for row in rows])


def gelu(x: Array) -> Array:
    """Return ``x Φ(x)``: exact in float64; in float32 from a table, which is as fast as numpy alone can be."""
    if x.dtype == np.float64:
        return 0.5 * x * (1 + np.vectorize(erf)(x / sqrt(2)))
    at = np.abs(x) * x.dtype.type(_STEPS / sqrt(2))
    np.minimum(at, x.dtype.type(4 * _STEPS), out=at)
    table = _ERF.astype(np.float32)
    half = np.float32(0.5) * x
    return half + np.abs(half) * table[np.rint(at).astype(np.int32)]


def _pool(x: Array, mask: NDArray[np.bool_], pooling: str) -> Array:
    if pooling == "cls":
        return x[:, 0]
    if pooling == "max":
        return np.where(mask[:, :, None], x, -np.inf).max(axis=1)
    return (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
