"""The batch format of each provider."""

from __future__ import annotations

from septet.embedding.batch.batch_format import BatchFormat
from septet.embedding.batch.gemini import GeminiBatchFormat
from septet.embedding.batch.openai import OpenAIBatchFormat
from septet.embedding.batch.voyage import VoyageBatchFormat
from septet.embedding.providers.gemini import GeminiFormat
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.providers.openai import OpenAIFormat
from septet.embedding.providers.voyage import VoyageFormat

__all__ = ["batch_format_of"]


def batch_format_of(embedder: HttpEmbedder) -> BatchFormat | None:
    """Return the batch format of an embedder's provider; None when it has no batch API."""
    provider_format = embedder.format
    if isinstance(provider_format, VoyageFormat):
        return VoyageBatchFormat(provider_format, provider_format.url)
    if isinstance(provider_format, GeminiFormat):
        return GeminiBatchFormat(provider_format)
    # Servers that merely speak OpenAI's embedding format have no batch API.
    if isinstance(provider_format, OpenAIFormat) and provider_format.provider == "openai":
        return OpenAIBatchFormat(provider_format, provider_format.url)
    return None
