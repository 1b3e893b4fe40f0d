"""Septet: embedded hybrid retrieval over SQLite.

Full text, TF-IDF, dense vectors and the facts about an entry (severity, age, tags, domain, links) blend into one
explained score, across several vaults at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from septet.embedding.cache import EmbeddingCache
    from septet.embedding.choose import embedder_from
    from septet.embedding.config import EmbeddingConfig
    from septet.embedding.embedder import Embedder
    from septet.embedding.embeddings import EmbeddingStatus
    from septet.embedding.fallback import FallbackEmbedder
    from septet.embedding.function import CallableEmbedder
    from septet.embedding.local.embedder import LocalEmbedder
    from septet.embedding.options import EmbeddingOptions
    from septet.embedding.providers.embedders import (
        GeminiEmbedder,
        OllamaEmbedder,
        OpenAICompatibleEmbedder,
        OpenAIEmbedder,
        VoyageEmbedder,
    )
    from septet.embedding.query.selection import SpaceStatus
    from septet.embedding.report import EmbedReport
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
    from septet.explanation import Explanation, LegReport
    from septet.federation import Federation
    from septet.index import VectorIndex, top_k
    from septet.profiles import Profile
    from septet.ranking.adaptive import Weights
    from septet.results import Hit, Note, Results, TierReport
    from septet.stats import Optimized, Stats
    from septet.storage.tables.links import Link
    from septet.tfidf import SparseRows, TfidfVectorizer
    from septet.vault import Vault

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
    "BatchError": "errors",
    "CallableEmbedder": "embedding.function",
    "Closed": "errors",
    "EmbedReport": "embedding.report",
    "Embedder": "embedding.embedder",
    "EmbeddingCache": "embedding.cache",
    "EmbeddingConfig": "embedding.config",
    "EmbeddingConfigError": "errors",
    "EmbeddingError": "errors",
    "EmbeddingOptions": "embedding.options",
    "EmbeddingRefused": "errors",
    "EmbeddingStatus": "embedding.embeddings",
    "EmbeddingUnavailable": "errors",
    "Entry": "entry",
    "EntryError": "errors",
    "EntryNotFound": "errors",
    "Explanation": "explanation",
    "FallbackEmbedder": "embedding.fallback",
    "Federation": "federation",
    "GeminiEmbedder": "embedding.providers.embedders",
    "Hit": "results",
    "LegReport": "explanation",
    "Link": "storage.tables.links",
    "LocalEmbedder": "embedding.local.embedder",
    "NotAVault": "errors",
    "Note": "results",
    "OllamaEmbedder": "embedding.providers.embedders",
    "OpenAICompatibleEmbedder": "embedding.providers.embedders",
    "OpenAIEmbedder": "embedding.providers.embedders",
    "Optimized": "stats",
    "Profile": "profiles",
    "ProfileError": "errors",
    "QueryError": "errors",
    "ReadOnly": "errors",
    "Results": "results",
    "SchemaTooNew": "errors",
    "SeptetError": "errors",
    "SpaceStatus": "embedding.query.selection",
    "Span": "entry",
    "SparseRows": "tfidf",
    "Stats": "stats",
    "StoreBusy": "errors",
    "StoreError": "errors",
    "TfidfVectorizer": "tfidf",
    "TierError": "errors",
    "TierReport": "results",
    "Vault": "vault",
    "VectorError": "errors",
    "VectorIndex": "index",
    "VoyageEmbedder": "embedding.providers.embedders",
    "Weights": "ranking.adaptive",
    "embedder_from": "embedding.choose",
    "top_k": "index",
}
_PARTS = frozenset({"embedding", "entry", "errors", "federation", "index", "profiles", "results", "vault"})


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f"{__name__}.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
