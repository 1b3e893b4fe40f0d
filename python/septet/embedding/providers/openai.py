"""OpenAI's wire, which many other servers speak too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.providers.limits import OPENAI, Limits
from septet.embedding.rows import by_index, matrix_of
from septet.embedding.transport.calls import Call, bearer, json_call

__all__ = ["OPENAI_MODEL", "OPENAI_URL", "OpenAIFormat", "embeddings_url"]

OPENAI_URL = "https://api.openai.com"
OPENAI_MODEL = "text-embedding-3-small"


def embeddings_url(base_url: str) -> str:
    """Return where embeddings are asked for, below an address.

    ``/v1/embeddings`` is added, or only ``/embeddings`` when the address ends in a version, or nothing when it ends
    in ``/embeddings``.
    """
    base = base_url.rstrip("/")
    if base.endswith("/embeddings"):
        return base
    return f"{base}/embeddings" if re.search(r"/v\d+(beta\d*)?$", base) else f"{base}/v1/embeddings"


@dataclass(frozen=True, slots=True)
class OpenAIFormat:
    """The format of ``/v1/embeddings``.

    Attributes:
        url: the whole address.
        dimensions: the length of vectors to ask for; None for the model's own.
        packed: ask for vectors as base64, a quarter of the size of numbers in text. Answers are read in both forms.
    """

    model: str
    url: str
    dimensions: int | None = None
    packed: bool = False
    provider: str = "openai"
    limits: Limits = OPENAI

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request; the format knows no kinds."""
        body: dict[str, Any] = {"model": self.model, "input": list(texts)}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        if self.packed:
            body["encoding_format"] = "base64"
        return json_call(self.url, body)

    def read(self, body: Any, wanted: int) -> NDArray[np.floating[Any]]:
        """Return the rows, placed by ``index``."""
        data = body.get("data") if isinstance(body, Mapping) else None
        return matrix_of(by_index(data, wanted, self.provider), wanted, self.provider)

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return the bearer header."""
        return bearer(key)
