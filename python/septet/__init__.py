"""Septet: embedded hybrid retrieval over SQLite.

Full text, TF-IDF, dense vectors and the facts about an entry (severity, age, tags, domain, links) blend into one
explained score, across several vaults at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from septet.entry import Entry, Span
from septet.errors import (
    BatchError,
    Closed,
    EmbeddingConfigError,
    EmbeddingError,
    EmbeddingRefused,
    EmbeddingUnavailable,
    EntryError,
    EntryNotFound,
    NotAVault,
    ProfileError,
    QueryError,
    ReadOnly,
    SchemaTooNew,
    SeptetError,
    StoreBusy,
    StoreError,
    TierError,
    VectorError,
)
from septet.profiles import Profile
from septet.ranking.adaptive import Weights
from septet.results import Explanation, Hit, LegReport, Note, Results, TierReport
from septet.storage.links import Link
from septet.vault import Optimized, Stats, Vault

if TYPE_CHECKING:
    from septet.embedding.cache import EmbeddingCache
    from septet.embedding.choose import embedder_from
    from septet.embedding.config import EmbeddingConfig
    from septet.embedding.embedder import Embedder
    from septet.embedding.embeddings import EmbeddingStatus
    from septet.embedding.fallback import FallbackEmbedder
    from septet.embedding.function import CallableEmbedder
    from septet.embedding.local import LocalEmbedder
    from septet.embedding.options import EmbeddingOptions
    from septet.embedding.providers import (
        GeminiEmbedder,
        OllamaEmbedder,
        OpenAICompatibleEmbedder,
        OpenAIEmbedder,
        VoyageEmbedder,
    )
    from septet.embedding.report import EmbedReport
    from septet.embedding.selection import SpaceStatus
    from septet.federation import Federation
    from septet.index import VectorIndex, top_k
    from septet.tfidf import SparseRows, TfidfVectorizer

__all__ = [
    "BatchError",
    "CallableEmbedder",
    "Closed",
    "EmbedReport",
    "Embedder",
    "EmbeddingCache",
    "EmbeddingConfig",
    "EmbeddingConfigError",
    "EmbeddingError",
    "EmbeddingOptions",
    "EmbeddingRefused",
    "EmbeddingStatus",
    "EmbeddingUnavailable",
    "Entry",
    "EntryError",
    "EntryNotFound",
    "Explanation",
    "FallbackEmbedder",
    "Federation",
    "GeminiEmbedder",
    "Hit",
    "LegReport",
    "Link",
    "LocalEmbedder",
    "NotAVault",
    "Note",
    "OllamaEmbedder",
    "OpenAICompatibleEmbedder",
    "OpenAIEmbedder",
    "Optimized",
    "Profile",
    "ProfileError",
    "QueryError",
    "ReadOnly",
    "Results",
    "SchemaTooNew",
    "SeptetError",
    "SpaceStatus",
    "Span",
    "SparseRows",
    "Stats",
    "StoreBusy",
    "StoreError",
    "TfidfVectorizer",
    "TierError",
    "TierReport",
    "Vault",
    "VectorError",
    "VectorIndex",
    "VoyageEmbedder",
    "Weights",
    "__version__",
    "embedder_from",
    "top_k",
]

__version__ = "0.1.0"


#: Loaded when they are first asked for: a program should not wait for what it does not use.
_LAZY = {
    "CallableEmbedder": "embedding.function",
    "EmbedReport": "embedding.report",
    "Embedder": "embedding.embedder",
    "EmbeddingCache": "embedding.cache",
    "EmbeddingConfig": "embedding.config",
    "EmbeddingOptions": "embedding.options",
    "EmbeddingStatus": "embedding.embeddings",
    "FallbackEmbedder": "embedding.fallback",
    "Federation": "federation",
    "GeminiEmbedder": "embedding.providers",
    "LocalEmbedder": "embedding.local",
    "OllamaEmbedder": "embedding.providers",
    "OpenAICompatibleEmbedder": "embedding.providers",
    "OpenAIEmbedder": "embedding.providers",
    "SpaceStatus": "embedding.selection",
    "SparseRows": "tfidf",
    "TfidfVectorizer": "tfidf",
    "VectorIndex": "index",
    "VoyageEmbedder": "embedding.providers",
    "embedder_from": "embedding.choose",
    "top_k": "index",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found
