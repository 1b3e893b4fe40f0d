"""Septet: embedded hybrid retrieval over SQLite.

Full text, TF-IDF, dense vectors and the facts about an entry (severity, age, tags, domain, links) blend into one
explained score, across several vaults at once.
"""

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
from septet.vault import Optimized, Stats, Vault

__all__ = [
    "BatchError",
    "Closed",
    "EmbedReport",
    "EmbeddingCache",
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
    "Federation",
    "Hit",
    "LegReport",
    "Link",
    "NotAVault",
    "Note",
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
    "Stats",
    "StoreBusy",
    "StoreError",
    "TierError",
    "TierReport",
    "Vault",
    "VectorError",
    "VectorIndex",
    "Weights",
    "__version__",
    "top_k",
]

__version__ = "0.1.0"
