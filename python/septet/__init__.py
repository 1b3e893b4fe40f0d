"""Septet: embedded hybrid retrieval over SQLite.

Full text, TF-IDF, dense vectors and the facts about an entry (severity, age, tags, domain, links) blend into one
explained score, across several vaults at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For type checkers and editors. `X as X` re-exports; a test compares the names with the table below.
    from septet import (
        embedding as embedding,
        errors as errors,
        federation as federation,
        index as index,
        notes as notes,
        profiles as profiles,
        vault as vault,
    )
    from septet.aio import AsyncFederation as AsyncFederation, AsyncVault as AsyncVault
    from septet.postgres.aio import AsyncPostgresVault as AsyncPostgresVault
    from septet.client import AsyncSeptet as AsyncSeptet, Client as Client
    from septet.embedding.automatic import Activity as Activity
    from septet.embedding.automatic import EmbeddingStatus as EmbeddingStatus
    from septet.embedding.automatic import ModelStatus as ModelStatus
    from septet.embedding.cache import EmbeddingCache as EmbeddingCache
    from septet.embedding.choose import embedder_from as embedder_from
    from septet.embedding.config import (
        ConfigLike as ConfigLike,
        EmbeddingConfig as EmbeddingConfig,
        ProviderName as ProviderName,
    )
    from septet.embedding.embedder import Embedder as Embedder, Kind as Kind
    from septet.embedding.embeddings import (
        CacheLike as CacheLike,
        EmbedderLike as EmbedderLike,
    )
    from septet.embedding.fallback import FallbackEmbedder as FallbackEmbedder
    from septet.embedding.function import CallableEmbedder as CallableEmbedder, Function as Function
    from septet.embedding.local.embedder import LocalEmbedder as LocalEmbedder
    from septet.embedding.options import EmbeddingOptions as EmbeddingOptions
    from septet.embedding.providers.embedders import (
        GeminiEmbedder as GeminiEmbedder,
        OllamaEmbedder as OllamaEmbedder,
        OpenAICompatibleEmbedder as OpenAICompatibleEmbedder,
        OpenAIEmbedder as OpenAIEmbedder,
        VoyageEmbedder as VoyageEmbedder,
    )
    from septet.embedding.query.selection import SpaceStatus as SpaceStatus
    from septet.embedding.report import EmbedReport as EmbedReport
    from septet.model.entry import Entry as Entry, Version as Version
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
    from septet.evaluation.feedback import feedback_judgements as feedback_judgements
    from septet.evaluation.judgements import Qrels as Qrels, Queries as Queries
    from septet.evaluation.outcomes import (
        Comparison as Comparison,
        Difference as Difference,
        Evaluation as Evaluation,
    )
    from septet.evaluation.tuning import Tuning as Tuning, tune as tune, undo_tuning as undo_tuning
    from septet.exchange.imported import (
        Format as Format,
        Imported as Imported,
        ImportFault as ImportFault,
        OnError as OnError,
        Rest as Rest,
    )
    from septet.model.explanation import Explanation as Explanation, LegReport as LegReport, Remedy as Remedy
    from septet.client.external import ExternalFirst as ExternalFirst
    from septet.federation import Federation as Federation
    from septet.federation.member import Member as Member
    from septet.files.redact_report import RedactReport as RedactReport, SecretLeft as SecretLeft
    from septet.files.report import (
        PendingFile as PendingFile,
        RootInfo as RootInfo,
        SkippedFile as SkippedFile,
        SyncReport as SyncReport,
    )
    from septet.files.roots import Layout as Layout
    from septet.files.status import RootStatus as RootStatus, SyncStatus as SyncStatus
    from septet.files.tracking import Redact as Redact
    from septet.files.watching import Watcher as Watcher
    from septet.model.fields import (
        Action as Action,
        BulkChanges as BulkChanges,
        EntryChanges as EntryChanges,
        EntryFields as EntryFields,
        EntryItem as EntryItem,
        EntryOverrides as EntryOverrides,
        FrameLike as FrameLike,
        MemoryFields as MemoryFields,
        OnSimilar as OnSimilar,
        Severity as Severity,
        Span as Span,
        SpanFields as SpanFields,
        Split as Split,
        Strings as Strings,
        Time as Time,
        Trust as Trust,
        VectorLike as VectorLike,
    )
    from septet.files.chunking import Chunk as Chunk, Chunking as Chunking, chunk_markdown as chunk_markdown
    from septet.files.redaction import Redacted as Redacted, Redactor as Redactor
    from septet.files.secrets import RedactionRule as RedactionRule
    from septet.model.flush import (
        FlushLimits as FlushLimits,
        flush_limits as flush_limits,
        flush_prompt as flush_prompt,
        should_flush as should_flush,
    )
    from septet.index import (
        Metric as Metric,
        Nearest as Nearest,
        VectorIds as VectorIds,
        VectorIndex as VectorIndex,
        top_k as top_k,
    )
    from septet.query.facets import Bucket as Bucket
    from septet.listing.request import OrderBy as OrderBy
    from septet.notes import Note as Note, NoteCode as NoteCode
    from septet.model.pages import Facets as Facets, FacetValue as FacetValue, Page as Page
    from septet.profiles.load import ProfileLike as ProfileLike
    from septet.query.deadline import Deadline as Deadline
    from septet.query.options import (
        Leg as Leg,
        Mode as Mode,
        RecallOptions as RecallOptions,
        SearchOptions as SearchOptions,
    )
    from septet.ranking.adaptive import Weights as Weights
    from septet.ranking.profile import Feedback as Feedback, Profile as Profile
    from septet.ranking.passes import Balance as Balance, Confidence as Confidence, Smoothing as Smoothing
    from septet.model.matches import Match as Match
    from septet.retrieval.expansion.chat import ChatExpander as ChatExpander
    from septet.aio.retrieving import AsyncRetriever as AsyncRetriever
    from septet.retrieval.account.accounts import AskedCorpus as AskedCorpus, AskedWave as AskedWave, Spoken as Spoken
    from septet.retrieval.config import (
        FusionRule as FusionRule,
        RetrievalConfig as RetrievalConfig,
        RetrievalConfigLike as RetrievalConfigLike,
        RetrievalProfile as RetrievalProfile,
    )
    from septet.retrieval.corpora.functions import FunctionCorpus as FunctionCorpus
    from septet.retrieval.corpora.given import CorpusLike as CorpusLike, Searches as Searches
    from septet.retrieval.corpora.web.backends import WebSearch as WebSearch
    from septet.retrieval.corpora.web.corpus import WebCorpus as WebCorpus, WebOptions as WebOptions
    from septet.retrieval.corpora.web.credits import CreditBudget as CreditBudget
    from septet.retrieval.corpora.web.results import WebResult as WebResult
    from septet.retrieval.corpus import (
        Answered as Answered,
        Asked as Asked,
        Corpus as Corpus,
        Item as Item,
        RankedList as RankedList,
        RetrievalMode as RetrievalMode,
    )
    from septet.retrieval.account.envelope import Envelope as Envelope
    from septet.retrieval.account.explaining import (
        CorpusReport as CorpusReport,
        ListReport as ListReport,
        RetrievalExplanation as RetrievalExplanation,
    )
    from septet.retrieval.planning.plan import Intent as Intent, Override as Override, RetrievalPlan as RetrievalPlan
    from septet.retrieval.planning.policy import Policy as Policy, PolicyName as PolicyName
    from septet.retrieval.planning.environment import Resolver as Resolver
    from septet.retrieval.account.retrieval import Retrieval as Retrieval
    from septet.retrieval.retriever import Retriever as Retriever
    from septet.retrieval.knowledge import Knowledge as Knowledge
    from septet.retrieval.recall.settings import RecallSettings as RecallSettings, Role as Role
    from septet.retrieval.recall.sources import VaultCorpus as VaultCorpus
    from septet.retrieval.expansion.expanding import Expander as Expander
    from septet.retrieval.expansion.config import ExpansionConfig as ExpansionConfig
    from septet.model.results import Hit as Hit, Reranker as Reranker, Results as Results, TierReport as TierReport
    from septet.model.stats import Optimized as Optimized, Stats as Stats
    from septet.model.links import Link as Link
    from septet.model.spaces import Space as Space
    from septet.tfidf import SparseRows as SparseRows, TfidfVectorizer as TfidfVectorizer
    from septet.vault import Vault as Vault
    from septet.postgres.vault.vault import PostgresVault as PostgresVault
    from septet.watch.events import (
        SearchEvent as SearchEvent,
        SearchMethod as SearchMethod,
        WriteEvent as WriteEvent,
    )
    from septet.watch.progress import Progress as Progress

    __version__: str
else:
    import sys
    from importlib import import_module

    if sys.platform == "win32":
        raise ImportError("Septet runs on Linux and macOS, not on Windows; in WSL 2 it is on Linux")

    #: The public names by module, imported on first use.
    _NAMES = {
        "aio": "AsyncFederation AsyncVault",
        "postgres.aio": "AsyncPostgresVault",
        "client": "AsyncSeptet Client",
        "embedding.automatic": "Activity EmbeddingStatus ModelStatus",
        "embedding.cache": "EmbeddingCache",
        "embedding.choose": "embedder_from",
        "embedding.config": "ConfigLike EmbeddingConfig ProviderName",
        "embedding.embedder": "Embedder Kind",
        "embedding.embeddings": "CacheLike EmbedderLike",
        "embedding.fallback": "FallbackEmbedder",
        "embedding.function": "CallableEmbedder Function",
        "embedding.local.embedder": "LocalEmbedder",
        "embedding.options": "EmbeddingOptions",
        "embedding.providers.embedders": (
            "GeminiEmbedder OllamaEmbedder OpenAICompatibleEmbedder OpenAIEmbedder VoyageEmbedder"
        ),
        "embedding.query.selection": "SpaceStatus",
        "embedding.report": "EmbedReport",
        "model.entry": "Entry Version",
        "errors": (
            "BatchError Closed EmbeddingConfigError EmbeddingError EmbeddingRefused EmbeddingUnavailable "
            "EntryError EntryNotFound ForkedInUse NotAVault ProfileError QueryError ReadOnly SchemaTooNew "
            "SeptetError StoreBusy StoreError TierError Unauthorized Unreachable VaultReplaced VectorError"
        ),
        "evaluation.evaluator": "evaluate",
        "evaluation.feedback": "feedback_judgements",
        "evaluation.judgements": "Qrels Queries",
        "evaluation.outcomes": "Comparison Difference Evaluation",
        "evaluation.tuning": "Tuning tune undo_tuning",
        "exchange.imported": "Format ImportFault Imported OnError Rest",
        "model.explanation": "Explanation LegReport Remedy",
        "client.external": "ExternalFirst",
        "federation": "Federation",
        "federation.member": "Member",
        "files.redact_report": "RedactReport SecretLeft",
        "files.report": "PendingFile RootInfo SkippedFile SyncReport",
        "files.roots": "Layout",
        "files.status": "RootStatus SyncStatus",
        "files.tracking": "Redact",
        "files.watching": "Watcher",
        "model.fields": (
            "Action BulkChanges EntryChanges EntryFields EntryItem EntryOverrides FrameLike MemoryFields OnSimilar "
            "Severity Span SpanFields Split Strings Time Trust VectorLike"
        ),
        "files.chunking": "Chunk Chunking chunk_markdown",
        "files.redaction": "Redacted Redactor",
        "files.secrets": "RedactionRule",
        "model.flush": "FlushLimits flush_limits flush_prompt should_flush",
        "index": "Metric Nearest VectorIds VectorIndex top_k",
        "query.facets": "Bucket",
        "listing.request": "OrderBy",
        "notes": "Note NoteCode",
        "model.pages": "FacetValue Facets Page",
        "profiles.load": "ProfileLike",
        "query.deadline": "Deadline",
        "query.options": "Leg Mode RecallOptions SearchOptions",
        "ranking.adaptive": "Weights",
        "ranking.passes": "Balance Confidence Smoothing",
        "ranking.profile": "Feedback Profile",
        "model.matches": "Match",
        "model.results": "Hit Reranker Results TierReport",
        "retrieval.expansion.chat": "ChatExpander",
        "aio.retrieving": "AsyncRetriever",
        "retrieval.account.accounts": "AskedCorpus AskedWave Spoken",
        "retrieval.config": "FusionRule RetrievalConfig RetrievalConfigLike RetrievalProfile",
        "retrieval.corpora.functions": "FunctionCorpus",
        "retrieval.corpora.given": "CorpusLike Searches",
        "retrieval.corpora.web.backends": "WebSearch",
        "retrieval.corpora.web.corpus": "WebCorpus WebOptions",
        "retrieval.corpora.web.credits": "CreditBudget",
        "retrieval.corpora.web.results": "WebResult",
        "retrieval.corpus": "Answered Asked Corpus Item RankedList RetrievalMode",
        "retrieval.account.envelope": "Envelope",
        "retrieval.account.explaining": "CorpusReport ListReport RetrievalExplanation",
        "retrieval.planning.plan": "Intent Override RetrievalPlan",
        "retrieval.planning.environment": "Resolver",
        "retrieval.planning.policy": "Policy PolicyName",
        "retrieval.account.retrieval": "Retrieval",
        "retrieval.retriever": "Retriever",
        "retrieval.knowledge": "Knowledge",
        "retrieval.recall.settings": "RecallSettings Role",
        "retrieval.recall.sources": "VaultCorpus",
        "retrieval.expansion.expanding": "Expander",
        "retrieval.expansion.config": "ExpansionConfig",
        "model.stats": "Optimized Stats",
        "model.links": "Link",
        "model.spaces": "Space",
        "tfidf": "SparseRows TfidfVectorizer",
        "vault": "Vault",
        "postgres.vault.vault": "PostgresVault",
        "watch.progress": "Progress",
        "watch.events": "SearchEvent SearchMethod WriteEvent",
    }
    #: Modules that are there as attributes without an import of their own.
    _MODULES = frozenset("embedding errors federation index notes profiles vault".split())
    _HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
    __all__ = [*sorted(_HOMES), "__version__"]

    def __getattr__(name):
        if name in _MODULES:
            return import_module(f"septet.{name}")
        if name == "__version__":
            from importlib.metadata import version

            value = version("septet")
        elif name in _HOMES:
            value = getattr(import_module(f"septet.{_HOMES[name]}"), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value

    def __dir__():
        return sorted({*globals(), *__all__})
