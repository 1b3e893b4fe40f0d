"""Batching: groups the texts of an embedder's calls."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

BATCH_TEXTS = 100
#: Characters per token, as documented for batches of local models.
_CHARS_OF_A_TOKEN = 4


def group(sizes: Sequence[int], *, most: int, budget: int | None = None, padded: bool = False) -> Iterator[range]:
    """Yield consecutive runs of items, each as long as possible; an item over the budget makes a separate run.

    Args:
        most: maximum items of a run.
        budget: maximum sum of sizes in a run; None for no bound.
        padded: count every item like the run's largest, as for a model that pads its batches.
    """
    start = total = largest = 0
    for position, size in enumerate(sizes):
        count = position - start
        cost = max(largest, size) * (count + 1) if padded else total + size
        if count and (count == most or (budget is not None and cost > budget)):
            yield range(start, position)
            start, total, largest = position, 0, 0
        total, largest = total + size, max(largest, size)
    if start < len(sizes):
        yield range(start, len(sizes))


def padded_tokens(text: str) -> int:
    """Return the estimated tokens of a text in a padded batch: a quarter of its characters, rounded up."""
    return -(-len(text) // _CHARS_OF_A_TOKEN)


class Batching(NamedTuple):
    """Bounds of an embedder's batches.

    Attributes:
        texts: maximum texts.
        tokens: maximum tokens, each text counted like the longest, as in padded batches; None for no bound. A longer
            text makes a separate batch.
    """

    texts: int = BATCH_TEXTS
    tokens: int | None = None

    def within(self, texts: int, tokens: int | None = None) -> Batching:
        """Return the bounds for an embedder with a maximum of texts, and of tokens if `self` has no bound on them."""
        return Batching(max(1, min(self.texts, texts)), tokens if self.tokens is None else self.tokens)

    def first(self, texts: Sequence[str]) -> int:
        """Return the length of the first batch."""
        return len(next(self.runs(texts), ()))

    def runs(self, texts: Sequence[str]) -> Iterator[range]:
        """Yield consecutive runs of texts, each as long as possible."""
        sizes = [0 if self.tokens is None else padded_tokens(text) for text in texts]
        return group(sizes, most=self.texts, budget=self.tokens, padded=True)


#: An embedder computes if its thread is busy for this share of a batch; reading a server's answer takes less.
COMPUTING = 0.25


class Pace:
    """The time per text for which an embedder keeps the interpreter busy, by its last batch.

    Embedders that wait for a server hardly use it; local models release the GIL.
    """

    def __init__(self) -> None:
        self._text_s = 0.0

    @contextmanager
    def timed(self, texts: int, provider: str) -> Iterator[None]:
        """Measure a batch of `texts` texts."""
        began, thread_began = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            took_s, busy_s = time.perf_counter() - began, time.thread_time() - thread_began
            # Among other threads, an embedder that computes also waits for the GIL.
            seconds = took_s if busy_s > COMPUTING * took_s else busy_s
            self._text_s = 0.0 if provider == "local" else seconds / texts

    def most(self, texts: int, batch_s: float | None) -> int:
        """Return the number of texts, from 1 to ``texts``, that take at most ``batch_s``."""
        if batch_s is None or self._text_s * texts <= batch_s:
            return texts
        return max(1, int(batch_s / self._text_s))
