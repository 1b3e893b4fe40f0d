"""Values that stand in for the world: an embedder that counts letters, remembers what it was asked, and may fail."""

from __future__ import annotations

import threading
import zlib
from collections import deque
from itertools import pairwise

import numpy as np

from septet.errors import EmbeddingRefused, EmbeddingUnavailable


def letters(text, dimensions):
    """Pairs of letters, counted by a digest: texts with words in common point the same way."""
    row = np.full(dimensions, 0.01)
    folded = text.casefold()
    for pair in pairwise(folded):
        row[zlib.crc32("".join(pair).encode()) % dimensions] += 1
    return row / np.linalg.norm(row)


class Letters:
    """An `Embedder`. ``script`` holds what the next calls do: None answers, an exception is raised, a function of the
    texts is called; when it is empty every call is answered."""

    provider = "test"

    def __init__(self, model="letters", dimensions=32, *, batch_size=1_000, knows_dimensions=True):
        self.model = model
        self.dimensions = dimensions if knows_dimensions else None
        self._d = dimensions
        self.batch_size = batch_size
        self.calls = []
        self.script = deque()
        self.closed = False
        self.asked = threading.Event()

    def embed(self, texts, kind="document", *, timeout_s=None):
        self.calls.append((kind, tuple(texts)))
        self.asked.set()
        step = self.script.popleft() if self.script else None
        if isinstance(step, BaseException):
            raise step
        if step is not None and (answer := step(texts)) is not None:
            return answer
        self.dimensions = self._d
        return np.array([letters(t, self._d) for t in texts], dtype=np.float32).reshape(-1, self._d)

    def close(self):
        self.closed = True

    def sizes(self, kind="document"):
        """How many texts each call brought."""
        return [len(texts) for k, texts in self.calls if k == kind]

    def sent(self, kind="document"):
        """Every text that was sent, in order."""
        return [text for k, texts in self.calls if k == kind for text in texts]


def down(said="no network"):
    return EmbeddingUnavailable(said, provider="test")


def refused(status=401, said="wrong key"):
    return EmbeddingRefused(said, provider="test", status=status)
