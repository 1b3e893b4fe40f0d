"""Which provider has which batch API."""

from __future__ import annotations

from septet.embedding.gemini import GeminiWire
from septet.embedding.gemini_jobs import GeminiJobs
from septet.embedding.http import HttpEmbedder
from septet.embedding.job_wire import JobWire
from septet.embedding.openai import OpenAIWire
from septet.embedding.openai_jobs import OpenAIJobs
from septet.embedding.voyage import VoyageWire
from septet.embedding.voyage_jobs import VoyageJobs

__all__ = ["job_wire"]


def job_wire(embedder: HttpEmbedder) -> JobWire | None:
    """Return the batch API of an embedder's provider; None when it has none."""
    wire = embedder.wire
    if isinstance(wire, VoyageWire):
        return VoyageJobs(wire, wire.url)
    if isinstance(wire, GeminiWire):
        return GeminiJobs(wire)
    # Servers that only speak the format of OpenAI's embeddings have no batches.
    return OpenAIJobs(wire, wire.url) if isinstance(wire, OpenAIWire) and wire.provider == "openai" else None
