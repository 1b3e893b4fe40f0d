"""Embeddings: providers behind one protocol, and the pipeline that fills a vault's spaces.

Modules import downward only. From the ground up:

1. ``embedder`` (the protocol), ``report``, ``rows`` (numbers into unit rows), ``batching``
2. ``cache``, ``config``, ``handover`` (from one model or pooling to another)
3. ``providers``, ``local``, ``function``, ``fallback``: the embedders
4. ``choose`` (configuration to embedder), ``pipeline`` (fills a space)
5. ``chain`` (pipelines of several models, in order)
6. ``automatic`` (the chain in the background), ``batch`` (the providers' batch APIs), ``options``
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
    Usage as Usage,
    space_name as space_name,
)

if TYPE_CHECKING:
    # For type checkers and editors; a test compares these names with the table below.
    from septet.embedding.automatic import (
        Activity as Activity,
        EmbeddingStatus as EmbeddingStatus,
        ModelStatus as ModelStatus,
        SpaceStatus as SpaceStatus,
    )
    from septet.embedding.cache import CacheNamespace as CacheNamespace, EmbeddingCache as EmbeddingCache
    from septet.embedding.choose import embedder_from as embedder_from
    from septet.embedding.config import (
        ConfigLike as ConfigLike,
        EmbeddingConfig as EmbeddingConfig,
        ProviderName as ProviderName,
    )
    from septet.embedding.embeddings import CacheLike as CacheLike, EmbedderLike as EmbedderLike
    from septet.embedding.fallback import FallbackEmbedder as FallbackEmbedder
    from septet.embedding.function import CallableEmbedder as CallableEmbedder, Function as Function
    from septet.embedding.local.embedder import LocalEmbedder as LocalEmbedder
    from septet.embedding.local.folder import ModelLocation as ModelLocation, local_models as local_models
    from septet.embedding.local.reranker import LocalReranker as LocalReranker
    from septet.embedding.providers.embedders import (
        GeminiEmbedder as GeminiEmbedder,
        OllamaEmbedder as OllamaEmbedder,
        OpenAICompatibleEmbedder as OpenAICompatibleEmbedder,
        OpenAIEmbedder as OpenAIEmbedder,
        VoyageEmbedder as VoyageEmbedder,
    )
    from septet.embedding.options import EmbeddingOptions as EmbeddingOptions
    from septet.embedding.report import EmbedEstimate as EmbedEstimate, EmbedReport as EmbedReport
else:
    from septet.system.late import loaded_late

    #: Loaded on first access: programs that embed nothing should not import an HTTP client.
    _NAMES = {
        "automatic": "Activity EmbeddingStatus ModelStatus SpaceStatus",
        "cache": "CacheNamespace EmbeddingCache",
        "choose": "embedder_from",
        "config": "ConfigLike EmbeddingConfig ProviderName",
        "embedder": "Embedder Kind Pooling SpaceIdentity Usage space_name",
        "embeddings": "CacheLike EmbedderLike",
        "fallback": "FallbackEmbedder",
        "function": "CallableEmbedder Function",
        "local.embedder": "LocalEmbedder",
        "local.folder": "ModelLocation local_models",
        "local.reranker": "LocalReranker",
        "options": "EmbeddingOptions",
        "providers.embedders": ("GeminiEmbedder OllamaEmbedder OpenAICompatibleEmbedder OpenAIEmbedder VoyageEmbedder"),
        "report": "EmbedEstimate EmbedReport",
    }
    __all__, __getattr__, __dir__ = loaded_late(__name__, _NAMES)
