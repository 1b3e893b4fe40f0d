"""Requests within a provider's limits: texts grouped, long texts split, sizes estimated without a tokenizer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from septet.embedding.batching import group
from septet.embedding.providers.limits import Limits
from septet.net.calls import MAX_ANSWER_BYTES

#: Maximum bytes of one number in indented JSON, and of the fields around one vector.
_NUMBER_BYTES, _FIELDS_BYTES = 40, 1024
#: Assumed while the dimension is unknown; models rarely exceed it.
_ASSUMED_DIMENSIONS = 8192


def answer_bytes(texts: int, dimensions: int | None) -> int:
    """Return the maximum size of an answer in bytes: its vectors as JSON, and 16 MiB for everything else."""
    return MAX_ANSWER_BYTES + texts * (_FIELDS_BYTES + _NUMBER_BYTES * (dimensions or _ASSUMED_DIMENSIONS))


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens, too high rather than too low.

    A token has three ASCII characters (prose has four, code three), or two bytes of other scripts. If an estimate is
    too low, the provider refuses the request, and the batch is split.
    """
    size = len(text.encode("utf-8", "replace"))
    ascii_size = size if text.isascii() else len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_size / 3 + (size - ascii_size) / 2)


def batches(texts: Sequence[str], limits: Limits, batch_size: int) -> Iterator[range]:
    """Yield runs of texts, in order; each fits into one request."""
    tokens = limits.tokens
    for run in group([estimate_tokens(t) for t in texts], most=min(batch_size, limits.inputs), budget=tokens):
        sizes = [len(texts[i].encode("utf-8", "replace")) for i in run]
        for part in group(sizes, most=len(sizes), budget=limits.bytes):
            yield run[part.start : part.stop]


def pieces(text: str, limit: int | None) -> list[str]:
    """Split a text into the fewest pieces that its estimated tokens allow."""
    tokens = estimate_tokens(text)
    if limit is None or tokens <= limit:
        return [text]
    return split_bytes(text, max(1, limit * len(text.encode("utf-8", "replace")) // tokens))


def split_bytes(text: str, most: int) -> list[str]:
    """Split a text into pieces of at most `most` UTF-8 bytes, as long as possible, never inside a character.

    A single character beyond the bound makes a separate piece; 0 or less means no bound.
    """
    if most <= 0 or len(text) * 4 <= most:
        return [text]
    parts: list[str] = []
    start = size = 0
    for position, char in enumerate(text):
        width = len(char.encode("utf-8", "replace"))
        if size + width > most and position > start:
            parts.append(text[start:position])
            start, size = position, 0
        size += width
    return [*parts, text[start:]]
