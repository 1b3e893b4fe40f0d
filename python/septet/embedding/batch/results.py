"""The vectors in a file of batch results: each line may fail on its own."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from septet.embedding.batch.batch_format import BatchFormat, JobResult
from septet.embedding.providers.provider_format import ProviderFormat
from septet.embedding.providers.requests import answer_bytes
from septet.embedding.rows import finish
from septet.errors import EmbeddingError


def read_vectors(
    content: bytes | bytearray, batch_format: BatchFormat, provider_format: ProviderFormat, dimensions: int | None
) -> Iterator[tuple[str, NDArray[np.float32] | str]]:
    """Yield the key of each text in a file, with its unit vector ``(d,)`` or the cause of its failure.

    Args:
        batch_format: reads a line.
        provider_format: reads the vector in it.
        dimensions: of the vectors; None for the first vector's.
    """
    for line in _lines(content, answer_bytes(1, dimensions)):
        result = _result(line, batch_format)
        if result is None:
            continue
        if result.body is None:
            yield result.key, result.cause
            continue
        try:
            vector = finish(provider_format.read(result.body, 1), provider_format.provider, dimensions)[0]
        except EmbeddingError as fault:
            yield result.key, str(fault)
            continue
        dimensions = len(vector)
        yield result.key, vector


def _lines(content: bytes | bytearray, most: int) -> Iterator[bytes | bytearray]:
    """Yield lines of at most `most` bytes; a list of all lines would double the memory."""
    start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        if end - start <= most:
            yield content[start:end]
        start = end + 1


def _result(line: bytes | bytearray, batch_format: BatchFormat) -> JobResult | None:
    try:
        return batch_format.read(from_json(line))
    except ValueError:
        return None
