"""Voyage's batch API: like OpenAI's, but a batch states the model and its options once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from septet.embedding.batch.batch_format import JobLimits, json_line
from septet.embedding.batch.openai import OpenAIBatchFormat

__all__ = ["VoyageBatchFormat"]

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
