"""A corpus like real text: Zipf-distributed words made of syllables, clustered vectors; seeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

SYLLABLES = [c + v for c in "bdklmnr" for v in "aeiou"]
VOCABULARY = 50_000
#: English function words make up a good part of running text.
FUNCTION_WORDS = "the of and to in a is that for it as was with be by on not he his but at are this have".split()
FUNCTION_SHARE = 0.4


@dataclass(frozen=True)
class Corpus:
    entries: list[dict[str, Any]]
    vectors: NDArray[np.float32]
    queries: list[str]
    query_vectors: NDArray[np.float32]


def make(n: int, *, dimensions: int = 384, queries: int = 200, words: int = 60, seed: int = 7) -> Corpus:
    """Return ``n`` entries with vectors, and natural questions of six words, each taken from some entry's text."""
    rng = np.random.default_rng(seed)
    lexicon = np.array(["".join(rng.choice(SYLLABLES, rng.integers(2, 5))) for _ in range(VOCABULARY)], dtype=object)
    ranks = np.arange(1, VOCABULARY + 1)
    odds = 1 / (ranks + 10.0)
    odds /= odds.sum()
    picks = rng.choice(VOCABULARY, size=(n, words), p=odds)
    function = rng.random((n, words)) < FUNCTION_SHARE
    fillers = rng.choice(np.array(FUNCTION_WORDS, dtype=object), size=(n, words))
    texts = np.where(function, fillers, lexicon[picks])
    entries = [
        {
            "id": f"e{i:06d}",
            "title": " ".join(t[:5]),
            "description": " ".join(t[5:50]),
            "context": " ".join(t[50:]),
            "domain": f"domain{i % 20}",
            "severity": ("critical", "warning", "suggestion")[i % 3],
            "tags": [str(t[0]), str(t[1])],
            "created_at": 1.7e9 - (i % 1000) * 86_400,
        }
        for i, t in enumerate(texts)
    ]
    centres = rng.normal(size=(max(8, n // 500), dimensions))
    vectors = _unit(centres[rng.integers(0, len(centres), n)] + 0.7 * rng.normal(size=(n, dimensions)))
    chosen = rng.integers(0, n, queries)
    asked = [" ".join(texts[i][rng.choice(words, 6, replace=False)]) for i in chosen]
    query_vectors = _unit(vectors[chosen] + 0.3 * rng.normal(size=(queries, dimensions)) / np.sqrt(dimensions))
    return Corpus(entries, vectors, asked, query_vectors)


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
