"""Embeddings: providers behind one protocol, and the pipeline that fills a vault's spaces.

Modules import downward only. From the ground up:

1. ``embedder`` (the protocol), ``report``, ``rows`` (numbers into unit rows), ``threads``
2. ``cache``, ``config``, ``transport`` (calls, retries, keys; knows no provider)
3. ``providers``, ``local``, ``function``, ``fallback``: the embedders
4. ``choose`` (configuration to embedder), ``pipeline`` (fills a space)
5. ``automatic`` (the pipeline in the background), ``batch`` (the providers' batch APIs), ``options``
6. ``query`` (queries as vectors, and the space that answers)
7. ``embeddings`` (all of this, for one vault)
8. ``attach`` (a plan gets its query vectors, tier by tier) and this package, which loads its public names on demand
"""

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

#: Loaded on first use: a program that embeds nothing should not wait for an HTTP client.
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
