"""The files of a batch job: texts that lack a vector as lines of input, and vectors in lines of results."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from septet.embedding.batch.formats import BatchFormat
from septet.embedding.pipeline import Pipeline
from septet.embedding.providers.formats import ProviderFormat, answer_bytes
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.report import Tally
from septet.embedding.rows import finish
from septet.errors import EmbeddingError

#: Input files and files of results are held in memory, so jobs stay below these sizes.
MAX_INPUT_BYTES = 100_000_000
MAX_RESULT_BYTES = 256_000_000
#: Maximum bytes of one number in JSON (about) and in base64, and of the fields around one vector.
NUMBER_BYTES, PACKED_BYTES = 24, 6
LINE_BYTES = 512
#: Assumed until the dimension is known.
ASSUMED_DIMENSIONS = 1024
PAGE = 1_000


@dataclass(slots=True)
class JobInput:
    """Texts and their input lines, by hash.

    Attributes:
        after: the hash of the last text read.
    """

    after: str
    lines: dict[str, bytes] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def gather(
    pipeline: Pipeline,
    embedder: HttpEmbedder,
    batch_format: BatchFormat,
    tally: Tally,
    *,
    after: str,
    skip: Collection[str],
    max_texts: int,
) -> JobInput:
    """Return the texts of the next job, skipping texts that must be split: the pipeline embeds them.

    Args:
        after: the hash after which texts are read.
        skip: hashes of texts to skip.
        max_texts: of the job; the provider or memory may allow fewer.
    """
    batch, size = JobInput(after), 0
    # Results must fit in memory.
    number_bytes = PACKED_BYTES if embedder.format.packed else NUMBER_BYTES
    line_bytes = LINE_BYTES + number_bytes * (pipeline.embedder.dimensions or ASSUMED_DIMENSIONS)
    max_texts = max(1, min(max_texts, batch_format.limits.texts, MAX_RESULT_BYTES // line_bytes))
    max_bytes = min(batch_format.limits.bytes, MAX_INPUT_BYTES)
    while len(batch.texts) < max_texts:
        with pipeline.store.reading() as read:
            space = pipeline.space(read, tally)
            page = read.tables.texts.missing(read, space, memories=pipeline.memories, after=batch.after, limit=PAGE)
            claimed = read.tables.claims.claimed(read, pipeline.model, "", [key for key, _ in page], pipeline.clock())
        if not page:
            break
        for key, text in page:
            whole = None if key in claimed or key in skip else embedder.whole(text, "document")
            line = b"" if whole is None else batch_format.line(key, whole)
            if batch.texts and (size + len(line) > max_bytes or len(batch.texts) == max_texts):
                return batch
            batch.after = key
            if line and len(line) <= max_bytes:
                batch.lines[key], batch.texts[key], size = line, text, size + len(line)
    return batch


def read_vectors(
    content: bytes | bytearray, batch_format: BatchFormat, provider_format: ProviderFormat, dimensions: int | None
) -> Iterator[tuple[str, NDArray[np.float32] | str]]:
    """Yield the key of each text in a file of results, with its unit vector ``(d,)`` or the cause of its failure.

    ``dimensions`` is None for those of the first vector.
    """
    for line in _lines(content, answer_bytes(1, dimensions)):
        try:
            result = batch_format.read(from_json(line))
        except ValueError:
            continue
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
