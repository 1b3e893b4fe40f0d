"""Septet: embedded hybrid retrieval over SQLite.

Full text, TF-IDF, dense vectors and the facts about an entry (severity, age, tags, domain, links) blend into one
explained score, across several vaults at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For type checkers and editors. `X as X` re-exports; a test compares the names with the table below.
    from septet import (
        client as client,
        embedding as embedding,
        errors as errors,
        evaluation as evaluation,
        exchange as exchange,
        federation as federation,
        files as files,
        index as index,
        notes as notes,
        profiles as profiles,
        retrieval as retrieval,
        tfidf as tfidf,
        types as types,
        vault as vault,
        watch as watch,
    )
    from septet.aio import AsyncFederation as AsyncFederation, AsyncVault as AsyncVault
    from septet.aio.retrieving import AsyncRetriever as AsyncRetriever
    from septet.client import AsyncClient as AsyncClient, Client as Client
    from septet.embedding.config import EmbeddingConfig as EmbeddingConfig
    from septet.embedding.embedder import Embedder as Embedder
    from septet.embedding.function import CallableEmbedder as CallableEmbedder
    from septet.embedding.local.embedder import LocalEmbedder as LocalEmbedder
    from septet.embedding.options import EmbeddingOptions as EmbeddingOptions
    from septet.errors import (
        BatchError as BatchError,
        Closed as Closed,
        EmbeddingConfigError as EmbeddingConfigError,
        EmbeddingError as EmbeddingError,
        EmbeddingRefused as EmbeddingRefused,
        EmbeddingUnavailable as EmbeddingUnavailable,
        EntryError as EntryError,
        EntryNotFound as EntryNotFound,
        ForkedInUse as ForkedInUse,
        NotAVault as NotAVault,
        ProfileError as ProfileError,
        QueryError as QueryError,
        ReadOnly as ReadOnly,
        SchemaTooNew as SchemaTooNew,
        SeptetError as SeptetError,
        StoreBusy as StoreBusy,
        StoreError as StoreError,
        TierError as TierError,
        Unauthorized as Unauthorized,
        Unreachable as Unreachable,
        VaultReplaced as VaultReplaced,
        VectorError as VectorError,
    )
    from septet.evaluation.evaluator import evaluate as evaluate
    from septet.evaluation.outcomes import Evaluation as Evaluation
    from septet.evaluation.tuning import tune as tune
    from septet.federation import Federation as Federation
    from septet.files.chunking import Chunking as Chunking, chunk_markdown as chunk_markdown
    from septet.files.redaction import Redactor as Redactor
    from septet.files.report import SyncReport as SyncReport
    from septet.files.watching import Watcher as Watcher
    from septet.index import VectorIndex as VectorIndex, top_k as top_k
    from septet.model.context import Context as Context
    from septet.model.entry import Entry as Entry, Version as Version
    from septet.model.explanation import Explanation as Explanation
    from septet.model.fields import Span as Span
    from septet.model.links import Link as Link
    from septet.model.matches import Match as Match
    from septet.model.pages import Facets as Facets, Page as Page
    from septet.model.results import Hit as Hit, Results as Results
    from septet.model.vector import Space as Space
    from septet.model.stats import Stats as Stats
    from septet.notes import Note as Note, NoteCode as NoteCode
    from septet.postgres.aio import AsyncPostgresVault as AsyncPostgresVault
    from septet.postgres.vault import PostgresVault as PostgresVault
    from septet.ranking.score import Weights as Weights
    from septet.ranking.profile import Profile as Profile
    from septet.retrieval.account.retrieval import Retrieval as Retrieval
    from septet.retrieval.retriever import Retriever as Retriever
    from septet.tfidf import TfidfVectorizer as TfidfVectorizer
    from septet.vault import Vault as Vault

    __version__: str
else:
    from importlib import import_module

    from septet.system.late import loaded_late

    #: The public names by module, imported on first use; names of one subject are in the package of that subject.
    _NAMES = {
        "aio": "AsyncFederation AsyncVault",
        "aio.retrieving": "AsyncRetriever",
        "client": "AsyncClient Client",
        "embedding.config": "EmbeddingConfig",
        "embedding.embedder": "Embedder",
        "embedding.function": "CallableEmbedder",
        "embedding.local.embedder": "LocalEmbedder",
        "embedding.options": "EmbeddingOptions",
        "errors": (
            "BatchError Closed EmbeddingConfigError EmbeddingError EmbeddingRefused "
            "EmbeddingUnavailable EntryError EntryNotFound ForkedInUse NotAVault ProfileError "
            "QueryError ReadOnly SchemaTooNew SeptetError StoreBusy StoreError TierError Unauthorized "
            "Unreachable VaultReplaced VectorError"
        ),
        "evaluation.evaluator": "evaluate",
        "evaluation.outcomes": "Evaluation",
        "evaluation.tuning": "tune",
        "federation": "Federation",
        "files.chunking": "Chunking chunk_markdown",
        "files.redaction": "Redactor",
        "files.report": "SyncReport",
        "files.watching": "Watcher",
        "index": "VectorIndex top_k",
        "model.context": "Context",
        "model.entry": "Entry Version",
        "model.explanation": "Explanation",
        "model.fields": "Span",
        "model.links": "Link",
        "model.matches": "Match",
        "model.pages": "Facets Page",
        "model.results": "Hit Results",
        "model.stats": "Stats",
        "model.vector": "Space",
        "notes": "Note NoteCode",
        "postgres.aio": "AsyncPostgresVault",
        "postgres.vault": "PostgresVault",
        "ranking.score": "Weights",
        "ranking.profile": "Profile",
        "retrieval.account.retrieval": "Retrieval",
        "retrieval.retriever": "Retriever",
        "tfidf": "TfidfVectorizer",
        "vault": "Vault",
    }
    #: Modules that are there as attributes without an import of their own.
    _MODULES = frozenset(
        "client embedding errors evaluation exchange federation files index notes profiles retrieval tfidf types vault "
        "watch".split()
    )
    __all__, _loaded, __dir__ = loaded_late(__name__, _NAMES, "__version__")

    def __getattr__(name):
        if name in _MODULES:
            return import_module(f"septet.{name}")
        if name != "__version__":
            return _loaded(name)
        from importlib.metadata import version

        globals()[name] = value = version("septet")
        return value
