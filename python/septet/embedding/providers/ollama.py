"""Ollama's format: models on the user's own machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from septet.embedding.embedder import Kind
from septet.embedding.providers.limits import OLLAMA, Limits
from septet.embedding.rows import matrix_of
from septet.net.calls import Call, bearer, json_call

OLLAMA_URL = "http://127.0.0.1:11434"


def ollama_url(host: str) -> str:
    """Return the address of a server from a value of ``OLLAMA_HOST``: ``host``, ``:port``, ``host:port`` or a URL."""
    text = host.strip().rstrip("/")
    if "://" not in text:
        parts = urlsplit(f"//{text}")
        name = parts.hostname or "127.0.0.1"
        name = f"[{name}]" if ":" in name else name
        # An invalid port is kept, for the check of the whole address to report.
        port = parts.netloc.rpartition("]")[2].partition(":")[2]
        text = f"http://{name}:{port or 11434}{parts.path}"
    for tail in ("/api", "/v1"):
        text = text.removesuffix(tail)
    # A server can listen on the wildcard address, but clients cannot connect to it.
    return text.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]")


@dataclass(frozen=True, slots=True)
class OllamaFormat:
    """The format of ``/api/embed``.

    Attributes:
        base_url: the address before ``/api``.
        dimensions: the dimension to request; None for the model's own.
    """

    model: str
    base_url: str = OLLAMA_URL
    dimensions: int | None = None
    provider: str = "ollama"
    limits: Limits = OLLAMA

    def call(self, texts: Sequence[str], kind: Kind) -> Call:
        """Write the request. Without ``truncate: false``, a long text would be cut silently."""
        body: dict[str, Any] = {"model": self.model, "input": list(texts), "truncate": False}
        if self.dimensions is not None:
            body["dimensions"] = self.dimensions
        return json_call(f"{self.base_url}/api/embed", body)

    def read(self, body: Any, expected: int) -> NDArray[np.floating[Any]]:
        """Return the rows, which are in the order of the texts.

        Raises:
            EmbeddingUnavailable: see `ProviderFormat.read`.
        """
        return matrix_of(body.get("embeddings") if isinstance(body, Mapping) else None, expected, self.provider)

    def authorise(self, key: str) -> Mapping[str, str]:
        """Return the bearer header, for servers behind an authorising proxy."""
        return bearer(key)
