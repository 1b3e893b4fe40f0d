"""The lines of what a job has brought, made into vectors one by one: each may fail for itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from septet.embedding.batch.batch_format import BatchFormat, JobLine
from septet.embedding.providers.provider_format import ProviderFormat
from septet.embedding.rows import finish
from septet.errors import EmbeddingError

__all__ = ["vectors"]

Row: TypeAlias = NDArray[np.float32]


def vectors(
    content: bytes, jobs: BatchFormat, wire: ProviderFormat, dimensions: int | None
) -> Iterator[tuple[str, Row | str]]:
    """Yield the key of each text in a file, with its vector ``(d,)`` of unit length, or with why it has none.

    Args:
        jobs: reads a line; wire: reads the vector in it.
        dimensions: of the vectors; None takes the first one's.
    """
    for text in content.splitlines():
        line = _line(text, jobs)
        if line is None:
            continue
        if line.body is None:
            yield line.key, line.cause
            continue
        try:
            row: Row = finish(wire.read(line.body, 1), wire.provider, dimensions)[0]
        except EmbeddingError as fault:
            yield line.key, str(fault)
            continue
        dimensions = len(row)
        yield line.key, row


def _line(text: bytes, jobs: BatchFormat) -> JobLine | None:
    try:
        return jobs.read(from_json(text))
    except ValueError:
        # A text whose line cannot be read is one without a vector.
        return None
