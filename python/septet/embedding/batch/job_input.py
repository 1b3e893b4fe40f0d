"""The input of a batch job: texts that lack a vector, as the lines of one file."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from septet.embedding.batch.batch_format import BatchFormat
from septet.embedding.pipeline import Pipeline
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.report import Tally

__all__ = ["MAX_RESULT_BYTES", "JobInput", "gather"]

#: Input files and files of results are held in memory, so jobs stay below these sizes.
MAX_INPUT_BYTES = 100_000_000
MAX_RESULT_BYTES = 256_000_000
#: The most bytes of one number in JSON, about, and in base64; and of the fields around one vector.
NUMBER_BYTES, PACKED_BYTES = 24, 6
LINE_BYTES = 512
#: The dimension assumed as long as none is known.
ASSUMED_DIMENSIONS = 1024
PAGE = 1_000


@dataclass(slots=True)
class JobInput:
    """Texts and their input lines, by hash.

    Attributes:
        after: the hash up to which texts have been looked at.
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
    """Return the next texts that make one job; a text that must be split into pieces is left to the pipeline.

    Args:
        after: the hash after which to look.
        skip: texts by hash to leave out.
        max_texts: of the job, unless the provider or memory allows fewer.

    Raises:
        StoreError: the vault cannot be read.
    """
    found, size = JobInput(after), 0
    max_texts = _max_texts(pipeline, embedder, batch_format, max_texts)
    max_bytes = min(batch_format.limits.bytes, MAX_INPUT_BYTES)
    while len(found.texts) < max_texts:
        with pipeline.store.reading() as read:
            space = pipeline.space(read, tally)
            page = read.tables.texts.missing(read, space, memories=pipeline.memories, after=found.after, limit=PAGE)
            claimed = read.tables.claims.claimed(read, pipeline.model, "", [key for key, _ in page], pipeline.clock())
        if not page:
            break
        for key, text in page:
            whole = None if key in claimed or key in skip else embedder.whole(text, "document")
            line = b"" if whole is None else batch_format.line(key, whole)
            if found.texts and (size + len(line) > max_bytes or len(found.texts) == max_texts):
                return found
            found.after = key
            if line and len(line) <= max_bytes:
                found.lines[key], found.texts[key], size = line, text, size + len(line)
    return found


def _max_texts(pipeline: Pipeline, embedder: HttpEmbedder, batch_format: BatchFormat, max_texts: int) -> int:
    """Return the most texts of a job whose results can be held in memory."""
    number_bytes = PACKED_BYTES if getattr(embedder.format, "packed", False) else NUMBER_BYTES
    line_bytes = LINE_BYTES + number_bytes * (pipeline.embedder.dimensions or ASSUMED_DIMENSIONS)
    return max(1, min(max_texts, batch_format.limits.texts, MAX_RESULT_BYTES // line_bytes))
