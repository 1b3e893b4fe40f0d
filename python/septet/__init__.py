"""Septet: embedded hybrid retrieval over SQLite.

Full text, TF-IDF, dense vectors and the facts about an entry (severity, age, tags, domain, links) blend into one
explained score, across several vaults at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from septet import embedding as _embedding
from septet.embedding import Embedder
from septet.embedding.cache import EmbeddingCache
from septet.embedding.embeddings import EmbeddingStatus
from septet.embedding.options import EmbeddingOptions
from septet.embedding.report import EmbedReport
from septet.embedding.selection import SpaceStatus
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
from septet.federation import Federation
from septet.index import VectorIndex, top_k
from septet.profiles import Profile
from septet.ranking.adaptive import Weights
from septet.results import Explanation, Hit, LegReport, Note, Results, TierReport
from septet.storage.links import Link
from septet.tfidf import SparseRows, TfidfVectorizer
from septet.vault import Optimized, Stats, Vault

if TYPE_CHECKING:
    from septet.embedding import (
        CallableEmbedder,
        EmbeddingConfig,
        FallbackEmbedder,
        GeminiEmbedder,
        LocalEmbedder,
        OllamaEmbedder,
        OpenAICompatibleEmbedder,
        OpenAIEmbedder,
        VoyageEmbedder,
        embedder_from,
    )

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


def __getattr__(name: str) -> Any:
    # What needs an HTTP client is loaded when it is first asked for.
    if name in _embedding.__all__:
        return getattr(_embedding, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
