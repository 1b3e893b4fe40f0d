"""Voyage's format: like OpenAI's, with an input type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.providers.limits import Limits, voyage_limits
from septet.embedding.rows import indexed_matrix
from septet.net.calls import Call, bearer, json_call

VOYAGE_URL = "https://api.voyageai.com"
VOYAGE_MODEL = "voyage-3.5"


@dataclass(frozen=True, slots=True)
class VoyageFormat:
    """The format of Voyage's ``/v1/embeddings``. Attributes: see `OpenAIFormat`."""

    model: str
    url: str
    dimensions: int | None = None
    packed: bool = False
    provider: str = "voyage"

    @property
    def limits(self) -> Limits:
        """The limits of one request; the number of tokens depends on the model."""
        return voyage_limits(self.model)

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request. Without ``truncation: false``, a long text would be cut silently."""
        body: dict[str, Any] = {"model": self.model, "input": list(texts), "input_type": kind, "truncation": False}
        if self.dimensions is not None:
            body["output_dimension"] = self.dimensions
        if self.packed:
            body["encoding_format"] = "base64"
        return json_call(self.url, body)

    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows, ordered by ``index``.

        Raises:
            EmbeddingUnavailable: see `ProviderFormat.read`.
        """
        return indexed_matrix(body, expected, self.provider)

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return the bearer header."""
        return bearer(key)
