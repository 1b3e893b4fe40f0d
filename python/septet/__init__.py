"""Septet: embedded hybrid retrieval over SQLite.

Full text, TF-IDF, dense vectors and the facts about an entry (severity, age, tags, domain, links) blend into one
explained score, across several vaults at once.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

#: Where the public names come from. They are imported when they are first asked for: a program that needs one part
#: does not wait for the others.
_HOMES = {
    "septet.embedding.cache": "EmbeddingCache",
    "septet.embedding.embeddings": "EmbeddingStatus",
    "septet.embedding.options": "EmbeddingOptions",
    "septet.embedding.report": "EmbedReport",
    "septet.embedding.selection": "SpaceStatus",
    "septet.entry": "Entry Span",
    "septet.errors": (
        "BatchError Closed EmbeddingConfigError EmbeddingError EmbeddingRefused EmbeddingUnavailable "
        "EntryError EntryNotFound NotAVault ProfileError QueryError ReadOnly "
        "SchemaTooNew SeptetError StoreBusy StoreError TierError VectorError"
    ),
    "septet.federation": "Federation",
    "septet.index": "VectorIndex top_k",
    "septet.profiles": "Profile",
    "septet.ranking.adaptive": "Weights",
    "septet.results": "Explanation Hit LegReport Note Results TierReport",
    "septet.storage.links": "Link",
    "septet.vault": "Optimized Stats Vault",
}
_PARTS = frozenset({"embedding", "entry", "errors", "federation", "index", "profiles", "results", "vault"})


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _PARTS:
        return import_module(f"septet.{name}")
    for home, names in _HOMES.items():
        if name in names.split():
            value = getattr(import_module(home), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'septet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
