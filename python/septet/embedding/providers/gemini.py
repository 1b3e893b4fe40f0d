"""Gemini's format: one request per text, up to a hundred of them in a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.providers.limits import GEMINI, Limits
from septet.embedding.rows import matrix_of
from septet.errors import EmbeddingUnavailable
from septet.net.calls import Call, json_call

GEMINI_URL = "https://generativelanguage.googleapis.com"
GEMINI_MODEL = "gemini-embedding-001"
TASK_TYPES: Mapping[Kind, str] = {"document": "RETRIEVAL_DOCUMENT", "query": "RETRIEVAL_QUERY"}


def models_url(base_url: str, model: str, method: str) -> str:
    """Return the address of a model's method, with ``/v1beta`` appended if it is missing."""
    base = base_url.rstrip("/").removesuffix("/v1beta")
    return f"{base}/v1beta/models/{model}:{method}"


@dataclass(frozen=True, slots=True)
class GeminiFormat:
    """The format of ``batchEmbedContents``. Vectors of fewer than 3,072 dimensions do not have unit length.

    Attributes:
        base_url: the address before ``/v1beta``.
        dimensions: 128 to 3,072; None for 3,072.
    """

    model: str
    base_url: str = GEMINI_URL
    dimensions: int | None = None
    provider: str = "gemini"
    limits: Limits = GEMINI

    def request(self, text: str, kind: Kind) -> dict[str, Any]:
        """Return the request of one text."""
        content = {"parts": [{"text": text}]}
        request: dict[str, Any] = {
            "model": f"models/{self.model}",
            "content": content,
            "taskType": TASK_TYPES[kind],
        }
        if self.dimensions is not None:
            request["outputDimensionality"] = self.dimensions
        return request

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request of several texts."""
        url = models_url(self.base_url, self.model, "batchEmbedContents")
        return json_call(url, {"requests": [self.request(text, kind) for text in texts]})

    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows, which are in the order of the texts and have no index.

        Raises:
            EmbeddingUnavailable: see `ProviderFormat.read`.
        """
        rows = body.get("embeddings") if isinstance(body, Mapping) else None
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise EmbeddingUnavailable("gemini sent an answer without a list of vectors", provider=self.provider)
        return matrix_of([row.get("values") for row in rows], expected, self.provider)

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return Google's header; a key in the address would appear in logs."""
        return {"x-goog-api-key": key}
