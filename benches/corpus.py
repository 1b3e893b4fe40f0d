"""A corpus like real text: Zipf-distributed words made of syllables, clustered vectors; seeded."""

from __future__ import annotations

from collections.abc import Iterator
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


class Source:
    """Entries and vectors, a block at a time: a million would not fit in memory at once."""

    def __init__(self, n: int, dimensions: int, words: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        lexicon = ["".join(self.rng.choice(SYLLABLES, self.rng.integers(2, 5))) for _ in range(VOCABULARY)]
        self.lexicon = np.array(lexicon, dtype=object)
        odds = 1 / (np.arange(1, VOCABULARY + 1) + 10.0)
        self.odds = odds / odds.sum()
        self.words, self.shape = words, (max(8, n // 500), dimensions)
        self.centres: NDArray[Any] | None = None

    def block(self, first: int, n: int) -> tuple[NDArray[Any], list[dict[str, Any]], NDArray[np.float32]]:
        """Return the words ``(n, words)``, the entries and the vectors of ``n`` entries from number ``first`` on."""
        rng, size = self.rng, (n, self.words)
        picks = rng.choice(VOCABULARY, size=size, p=self.odds)
        function = rng.random(size) < FUNCTION_SHARE
        fillers = rng.choice(np.array(FUNCTION_WORDS, dtype=object), size=size)
        texts = np.where(function, fillers, self.lexicon[picks])
        if self.centres is None:
            self.centres = rng.normal(size=self.shape)
        around = self.centres[rng.integers(0, len(self.centres), n)]
        vectors = _unit(around + 0.7 * rng.normal(size=(n, self.shape[1])))
        return texts, [_entry(i, t) for i, t in enumerate(texts, start=first)], vectors

    def ask(self, texts: NDArray[Any], vectors: NDArray[np.float32], queries: int) -> tuple[list[str], Any]:
        """Return natural questions of six words, each taken from some entry's text, and vectors near that entry's."""
        chosen = self.rng.integers(0, len(texts), queries)
        asked = [" ".join(texts[i][self.rng.choice(self.words, 6, replace=False)]) for i in chosen]
        noise = self.rng.normal(size=(queries, self.shape[1])) / np.sqrt(self.shape[1])
        return asked, _unit(vectors[chosen] + 0.3 * noise)


def make(n: int, *, dimensions: int = 384, queries: int = 200, words: int = 60, seed: int = 7) -> Corpus:
    """Return ``n`` entries with vectors, and questions."""
    source = Source(n, dimensions, words, seed)
    texts, entries, vectors = source.block(0, n)
    return Corpus(entries, vectors, *source.ask(texts, vectors, queries))


def stream(n: int, *, block: int = 50_000, queries: int = 200, seed: int = 7) -> Iterator[Corpus]:
    """Yield ``n`` entries with vectors of 384 numbers in blocks; questions come with the first, about its entries."""
    source = Source(n, 384, 60, seed)
    for first in range(0, n, block):
        texts, entries, vectors = source.block(first, min(block, n - first))
        asked = source.ask(texts, vectors, queries if first == 0 else 0)
        yield Corpus(entries, vectors, *asked)


def _entry(i: int, words: NDArray[Any]) -> dict[str, Any]:
    return {
        "id": f"e{i:06d}",
        "title": " ".join(words[:5]),
        "description": " ".join(words[5:50]),
        "context": " ".join(words[50:]),
        "domain": f"domain{i % 20}",
        "severity": ("critical", "warning", "suggestion")[i % 3],
        "tags": [str(words[0]), str(words[1])],
        "created_at": 1.7e9 - (i % 1000) * 86_400,
    }


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)
