"""Embeddings: providers behind one protocol, and the pipeline that fills a vault's spaces.

Modules import downward only. From the ground up:

1. ``embedder`` (the protocol), ``report``, ``rows`` (numbers into unit rows), ``threads``
2. ``cache``, ``config``, ``handover`` (from one model or pooling to another), ``transport`` (calls, retries, keys;
   knows no provider)
3. ``providers``, ``local``, ``function``, ``fallback``: the embedders
4. ``choose`` (configuration to embedder), ``pipeline`` (fills a space)
5. ``chain`` (pipelines of several models, in order)
6. ``automatic`` (the chain in the background), ``ahead`` (of staged texts), ``batch`` (the providers' batch APIs),
   ``options``
7. ``query`` (queries as vectors, and the space that answers)
8. ``embeddings`` (all of the above, for one vault)
9. ``attach`` (adds query vectors to a plan, tier by tier) and this package, which loads its public names on demand
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.embedding.embedder import (
    Embedder as Embedder,
    Kind as Kind,
    Pooling as Pooling,
    SpaceIdentity as SpaceIdentity,
    space_name as space_name,
)

if TYPE_CHECKING:
    # For type checkers and editors; a test compares these names with the table below.
    from septet.embedding.cache import CacheNamespace as CacheNamespace
    from septet.embedding.choose import embedder_from as embedder_from
    from septet.embedding.config import EmbeddingConfig as EmbeddingConfig
    from septet.embedding.fallback import FallbackEmbedder as FallbackEmbedder
    from septet.embedding.function import CallableEmbedder as CallableEmbedder
    from septet.embedding.local.embedder import LocalEmbedder as LocalEmbedder
    from septet.embedding.local.folder import local_models as local_models
    from septet.embedding.providers.embedders import (
        GeminiEmbedder as GeminiEmbedder,
        OllamaEmbedder as OllamaEmbedder,
        OpenAICompatibleEmbedder as OpenAICompatibleEmbedder,
        OpenAIEmbedder as OpenAIEmbedder,
        VoyageEmbedder as VoyageEmbedder,
    )
    from septet.embedding.transport.client import IO as IO
else:
    from importlib import import_module

    #: Loaded on first access: programs that embed nothing should not import an HTTP client.
    _NAMES = {
        "cache": "CacheNamespace",
        "choose": "embedder_from",
        "config": "EmbeddingConfig",
        "embedder": "Embedder Kind Pooling SpaceIdentity space_name",
        "fallback": "FallbackEmbedder",
        "function": "CallableEmbedder",
        "local.embedder": "LocalEmbedder",
        "local.folder": "local_models",
        "providers.embedders": "GeminiEmbedder OllamaEmbedder OpenAICompatibleEmbedder OpenAIEmbedder VoyageEmbedder",
        "transport.client": "IO",
    }
    _HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
    __all__ = sorted(_HOMES)

    def __getattr__(name):
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
