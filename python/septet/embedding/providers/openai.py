"""OpenAI's format, also used by many other servers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.providers.limits import OPENAI, Limits
from septet.embedding.rows import indexed_matrix
from septet.net.calls import Call, bearer, json_call

OPENAI_URL = "https://api.openai.com"
OPENAI_MODEL = "text-embedding-3-small"


def embeddings_url(base_url: str) -> str:
    """Return the address of the embeddings endpoint below a base address.

    Appends ``/v1/embeddings``, or only ``/embeddings`` to an address that ends in a version, or nothing to one that
    ends in ``/embeddings``.
    """
    base = base_url.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if re.search(r"/v\d+(beta\d*)?$", base) else f"{base}/v1/embeddings"


@dataclass(frozen=True, slots=True)
class OpenAIFormat:
    """The format of ``/v1/embeddings``.

    Attributes:
        url: the address of the endpoint.
        dimensions: the dimension to request; None for the model's own.
        packed: request vectors as base64, a quarter of the size of JSON numbers. Both forms are read.
    """

    model: str
    url: str
    dimensions: int | None = None
    packed: bool = False
    provider: str = "openai"
    limits: Limits = OPENAI

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request; this format has no kinds of texts."""
        body: dict[str, Any] = {"model": self.model, "input": list(texts)}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
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
