"""Voyage's batch API: as OpenAI's, but the model and its options are set once for the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from septet.embedding.batch.batch_format import JobLimits, json_line
from septet.embedding.batch.openai import OpenAIBatches

__all__ = ["VoyageJobs"]

VOYAGE_FILE = JobLimits(100_000, 1_000_000_000)


@dataclass(frozen=True, slots=True)
class VoyageJobs(OpenAIBatches):
    """The format of Voyage's ``/v1/files`` and ``/v1/batches``. Attributes as `OpenAIBatches`."""

    limits: JobLimits = VOYAGE_FILE
    window: str = "12h"

    def line(self, key: str, text: str) -> bytes:
        """Write the text alone."""
        return json_line({"custom_id": key, "body": {"input": [text]}})

    def about(self, file: str) -> dict[str, Any]:
        """Return what a batch of a file is to be, with all that its lines do not say."""
        params = from_json(self.wire.call([], "document").body)
        del params["input"]
        # Named, for slots make a new class that a bare super() does not know.
        return {**OpenAIBatches.about(self, file), "request_params": params}
