"""Embeddings: providers behind one protocol, the pipeline that fills a vault's spaces, the cache, batch jobs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from septet.embedding.embedder import Embedder, Kind, space_name

if TYPE_CHECKING:
    from septet.embedding.choose import embedder_from
    from septet.embedding.config import EmbeddingConfig
    from septet.embedding.fallback import FallbackEmbedder
    from septet.embedding.function import CallableEmbedder
    from septet.embedding.local.embedder import LocalEmbedder, local_models
    from septet.embedding.providers.embedders import (
        GeminiEmbedder,
        OllamaEmbedder,
        OpenAICompatibleEmbedder,
        OpenAIEmbedder,
        VoyageEmbedder,
    )

__all__ = [
    "CallableEmbedder",
    "Embedder",
    "EmbeddingConfig",
    "FallbackEmbedder",
    "GeminiEmbedder",
    "Kind",
    "LocalEmbedder",
    "OllamaEmbedder",
    "OpenAICompatibleEmbedder",
    "OpenAIEmbedder",
    "VoyageEmbedder",
    "embedder_from",
    "local_models",
    "space_name",
]

#: Loaded when they are first asked for: a program that embeds nothing should not wait for an HTTP client.
_LAZY = {
    "CallableEmbedder": "function",
    "EmbeddingConfig": "config",
    "FallbackEmbedder": "fallback",
    "GeminiEmbedder": "providers.embedders",
    "LocalEmbedder": "local.embedder",
    "OllamaEmbedder": "providers.embedders",
    "OpenAICompatibleEmbedder": "providers.embedders",
    "OpenAIEmbedder": "providers.embedders",
    "VoyageEmbedder": "providers.embedders",
    "embedder_from": "choose",
    "local_models": "local.embedder",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found
