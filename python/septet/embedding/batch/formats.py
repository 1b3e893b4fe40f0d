"""Which provider has which batch API."""

from __future__ import annotations

from septet.embedding.batch.batch_format import BatchFormat
from septet.embedding.batch.gemini import GeminiJobs
from septet.embedding.batch.openai import OpenAIBatches
from septet.embedding.batch.voyage import VoyageJobs
from septet.embedding.providers.gemini import GeminiFormat
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.providers.openai import OpenAIFormat
from septet.embedding.providers.voyage import VoyageFormat

__all__ = ["batch_format"]


def batch_format(embedder: HttpEmbedder) -> BatchFormat | None:
    """Return the batch API of an embedder's provider; None when it has none."""
    wire = embedder.format
    if isinstance(wire, VoyageFormat):
        return VoyageJobs(wire, wire.url)
    if isinstance(wire, GeminiFormat):
        return GeminiJobs(wire)
    # Servers that only speak the format of OpenAI's embeddings have no batches.
    return OpenAIBatches(wire, wire.url) if isinstance(wire, OpenAIFormat) and wire.provider == "openai" else None
