"""Batching: which texts an embedder gets together."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

__all__ = ["BATCH_TEXTS", "Batching", "Pace", "group", "padded_tokens"]

BATCH_TEXTS = 100
#: So many characters count as a token, as documented for batches of local models.
_CHARS_OF_A_TOKEN = 4


def group(sizes: Sequence[int], *, most: int, budget: int | None = None, padded: bool = False) -> Iterator[range]:
    """Yield consecutive runs of items, each as long as possible; an item over the budget makes a run of its own.

    Args:
        most: the most items of a run.
        budget: the largest sum of sizes in a run; None for no bound.
        padded: count every item as large as the run's largest, as a model that pads its batch does.
    """
    start = total = largest = 0
    for position, size in enumerate(sizes):
        held = position - start
        grown = max(largest, size) * (held + 1) if padded else total + size
        if held and (held == most or (budget is not None and grown > budget)):
            yield range(start, position)
            start, total, largest = position, 0, 0
        total, largest = total + size, max(largest, size)
    if start < len(sizes):
        yield range(start, len(sizes))


def padded_tokens(text: str) -> int:
    """Return how many tokens a text is taken for where a batch is padded: a quarter of its characters, rounded up."""
    return -(-len(text) // _CHARS_OF_A_TOKEN)


class Batching(NamedTuple):
    """How many texts an embedder gets at once.

    Attributes:
        texts: at most so many.
        tokens: at most so many, each text counted as the longest of them, as models do that pad their batches; None for
            no bound. A longer text goes alone.
    """

    texts: int = BATCH_TEXTS
    tokens: int | None = None

    def within(self, texts: int, tokens: int | None = None) -> Batching:
        """Return the same for an embedder that takes so many texts, and so many tokens where nothing else is said."""
        return Batching(max(1, min(self.texts, texts)), tokens if self.tokens is None else self.tokens)

    def first(self, texts: Sequence[str]) -> int:
        """Return how many of the first texts go together."""
        return len(next(self.runs(texts), ()))

    def runs(self, texts: Sequence[str]) -> Iterator[range]:
        """Yield consecutive runs of texts, each as long as possible."""
        sizes = [0 if self.tokens is None else padded_tokens(text) for text in texts]
        return group(sizes, most=self.texts, budget=self.tokens, padded=True)


#: An embedder computes if its thread is busy for this share of a batch; answers of servers take some to be read.
COMPUTING = 0.25


class Pace:
    """How long an embedder keeps the interpreter busy for a text, by its last batch.

    What waits for a server hardly takes time of its thread; local models let the interpreter go.
    """

    def __init__(self) -> None:
        self._text_s = 0.0

    @contextmanager
    def timed(self, texts: int, provider: str) -> Iterator[None]:
        """Measure a batch of so many texts."""
        began, thread_began = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            took_s, busy_s = time.perf_counter() - began, time.thread_time() - thread_began
            # Beside other threads, what computes waits for its turn too.
            seconds = took_s if busy_s > COMPUTING * took_s else busy_s
            self._text_s = 0.0 if provider == "local" else seconds / texts

    def most(self, texts: int, batch_s: float | None) -> int:
        """Return how many texts, ``texts`` at most, take no longer than ``batch_s``, but one at least."""
        if batch_s is None or self._text_s * texts <= batch_s:
            return texts
        return max(1, int(batch_s / self._text_s))
