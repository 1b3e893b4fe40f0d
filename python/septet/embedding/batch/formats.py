"""The batch format of each provider; Voyage's is like OpenAI's, but a batch states the model and its options once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from septet.embedding.batch.batch_format import BatchFormat, JobLimits, json_line
from septet.embedding.batch.gemini import GeminiBatchFormat
from septet.embedding.batch.openai import OpenAIBatchFormat
from septet.embedding.providers.gemini import GeminiFormat
from septet.embedding.providers.http import HttpEmbedder
from septet.embedding.providers.openai import OpenAIFormat
from septet.embedding.providers.voyage import VoyageFormat

VOYAGE_JOB = JobLimits(100_000, 1_000_000_000)


@dataclass(frozen=True, slots=True)
class VoyageBatchFormat(OpenAIBatchFormat):
    """The format of Voyage's ``/v1/files`` and ``/v1/batches``. Attributes: see `OpenAIBatchFormat`."""

    limits: JobLimits = VOYAGE_JOB
    window: str = "12h"

    def line(self, key: str, text: str) -> bytes:
        """Write the text only."""
        return json_line({"custom_id": key, "body": {"input": [text]}})

    def settings(self, file: str) -> dict[str, Any]:
        """Return the settings of a batch, including the options that its lines omit."""
        params = from_json(self.provider_format.call([], "document").body)
        del params["input"]
        # A bare super() fails here: a dataclass with slots is a new class.
        return {**OpenAIBatchFormat.settings(self, file), "request_params": params}


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
