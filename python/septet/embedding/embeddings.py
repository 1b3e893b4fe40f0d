"""Embeddings: a vault's embedder, with everything that embeds by it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

from septet.arguments import shown
from septet.embedding.automatic import Activity, Automatic
from septet.embedding.cache import EmbeddingCache
from septet.embedding.embedder import Embedder, check_embedder, space_name
from septet.embedding.options import EmbeddingOptions
from septet.embedding.pipeline import Pipeline
from septet.embedding.query.query_embedder import QueryEmbedder
from septet.embedding.query.selection import Selection, SpaceStatus, select, statuses
from septet.embedding.report import EmbedReport, Tally, log_report
from septet.errors import EmbeddingConfigError
from septet.results import Note
from septet.storage.store import Store

if TYPE_CHECKING:
    from septet.embedding.config import ConfigLike, EmbeddingConfig

__all__ = ["CacheLike", "EmbedderLike", "EmbeddingStatus", "Embeddings"]

#: An embedder, or what `embedder_from` accepts: a configuration, a dict, a file, a provider's name.
EmbedderLike: TypeAlias = "Embedder | EmbeddingConfig | Mapping[str, object] | str | os.PathLike[str] | None"
CacheLike: TypeAlias = "EmbeddingCache | str | os.PathLike[str] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingStatus:
    """The state of a vault's embedding.

    Attributes:
        model: the space of the vault's embedder; None without one.
        activity: of automatic embedding: ``idle``, ``running``, or ``waiting`` to retry what failed.
        asking: whether queries are embedded; False while the embedder backs off after a failure.
        report: of the last automatic run; None before the first.
        notes: what went wrong, in the last automatic run and before.
    """

    model: str | None
    activity: Activity
    asking: bool
    report: EmbedReport | None
    notes: tuple[Note, ...]


class Embeddings:
    """A vault's embedder with its pipeline, background thread, cache and query embedders.

    No provider is called before a search, a write or `run`.

    Args:
        source: the embedder, or its configuration; None for none.
        previous: the embedder of the previous model, whose vectors answer until the new ones are complete.
        cache: a cache, or the path of one; None for none.
        per_model: keep the vectors of other models when this model's are complete.
        memories: embed the texts of memories too.

    Raises:
        EmbeddingConfigError: the configuration is invalid. A missing key or model is only a note, in `faults`.
    """

    def __init__(
        self,
        store: Store,
        source: EmbedderLike = None,
        *,
        previous: EmbedderLike = None,
        cache: CacheLike = None,
        options: EmbeddingOptions | None = None,
        per_model: bool = False,
        memories: bool = True,
    ) -> None:
        self._store, self._memories = store, memories
        if options is not None and not isinstance(options, EmbeddingOptions):
            raise EmbeddingConfigError(f"embedding_options is {shown(options)}: wanted EmbeddingOptions(...), or None")
        self._options = options or EmbeddingOptions()
        self._faults: list[Note] = []
        self._owned: list[Embedder | EmbeddingCache] = []
        self.cache = cache if cache is None or isinstance(cache, EmbeddingCache) else self._open_cache(cache)
        #: By model; the previous embedder has one too.
        self.query_embedders: dict[str, QueryEmbedder] = {}
        self.embedder = self._add(source)
        self._add(previous)
        self.model = None if self.embedder is None else space_name(self.embedder)
        self._automatic: Automatic | None = None
        if self.embedder is not None:
            pipeline = Pipeline(
                store, self.embedder, self.cache, per_model, memories, self._options.batch_texts, time.time
            )
            on_answer = self.query_embedders[space_name(self.embedder)].recover
            self._pipeline = pipeline
            self._automatic = Automatic(pipeline, self._options.close_wait_s, on_answer)
        #: Whether a search has a query to embed here, or a fault to report.
        self.affects_searches = bool(self.query_embedders or self._faults)
        self._selected: tuple[tuple[tuple[int, str], Mapping[str, int | None]], Selection] | None = None

    def close(self) -> None:
        """End automatic embedding, within bounds, and close the embedder and the cache if they were created here."""
        if self._automatic is not None:
            self._automatic.close()
        for owned in self._owned:
            owned.close()

    def written(self) -> None:
        """Embed what was written, in the background."""
        if self._automatic is not None and self._options.automatic:
            self._automatic.wake()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until automatic embedding is idle, and say whether it is."""
        return self._automatic is None or self._automatic.wait(timeout_s)

    def run(
        self, progress: Callable[[int, int], None] | None, *, batch: bool = False, wait: bool = True
    ) -> EmbedReport:
        """Embed what is missing, now; see `Pipeline.run`.

        Args:
            batch: use the provider's batch API first.
            wait: until all batch jobs have ended.

        Raises:
            EmbeddingConfigError: the vault has no embedder; the message says why.
            StoreError: the store cannot be read or written.
        """
        if self._automatic is None:
            said = "; ".join(n.cause for n in self._faults) or "the vault has no embedder: open it with embedder="
            raise EmbeddingConfigError(said)
        tally = Tally()
        if batch:
            # Without the lock: a job may take a day, and automatic embedding goes on meanwhile.
            self._run_batch_jobs(tally, progress, wait)
        with self._automatic.lock:
            report, tally = self._pipeline.run(progress=progress, tally=tally)
        log_report(report, self._store.path)
        if tally.embedded:
            self.query_embedders[report.model].recover()
        return report

    def _run_batch_jobs(self, tally: Tally, progress: Callable[[int, int], None] | None, wait: bool) -> None:
        from septet.embedding.batch.jobs import batch_jobs_of

        batch_jobs = batch_jobs_of(
            self._pipeline,
            poll_s=self._options.poll_s,
            at_once=self._options.jobs_at_once,
            max_texts=self._options.job_texts,
        )
        if batch_jobs is None:
            cause = f"{self._pipeline.model} has no known batch API: texts are embedded request by request"
            tally.remarks.append(Note("no_batch_api", cause, "leave out batch=True"))
        else:
            batch_jobs.run(tally, progress, wait=wait)

    @property
    def faults(self) -> tuple[Note, ...]:
        """Why there is no embedder although one is configured."""
        return tuple(self._faults)

    @property
    def trouble(self) -> tuple[Note, ...]:
        """What keeps automatic embedding from completing."""
        return () if self._automatic is None else self._automatic.notes

    def select(self, available: Mapping[str, int | None]) -> Selection:
        """Return the space that answers searches; computed once per state of the store.

        Args:
            available: models that queries can be embedded with, and their dimensions where known.

        Raises:
            StoreError: the store cannot be read.
        """
        with self._store.reading() as read:
            key = (read[1:], dict(available))
            if self._selected is None or self._selected[0] != key:
                own = self.model if self.model in available else None
                self._selected = (key, select(read, own, available, memories=self._memories))
            return self._selected[1]

    def spaces(self) -> list[SpaceStatus]:
        """Return how far each space is filled.

        Raises:
            StoreError: the store cannot be read.
        """
        own = None if self.embedder is None else (space_name(self.embedder), self.embedder.dimensions)
        with self._store.reading() as read:
            return statuses(read, own, memories=self._memories)

    def status(self) -> EmbeddingStatus:
        """Return the state of embedding."""
        automatic = self._automatic
        notes = (*self._faults, *(() if self.cache is None else self.cache.notes))
        return EmbeddingStatus(
            model=self.model,
            activity="idle" if automatic is None else automatic.activity,
            asking=self.model is not None and not self.query_embedders[self.model].backing_off,
            report=None if automatic is None else automatic.report,
            notes=notes if automatic is None else tuple(dict.fromkeys((*notes, *automatic.notes))),
        )

    def _open_cache(self, path: str | os.PathLike[str]) -> EmbeddingCache:
        cache = EmbeddingCache(path, limit=self._options.cache_limit)
        self._owned.append(cache)
        return cache

    def _add(self, source: EmbedderLike) -> Embedder | None:
        """Return the embedder of a source, and let it embed queries unless another one of its model does."""
        if source is None:
            return None
        options = self._options
        if hasattr(source, "embed"):
            check_embedder(source, "embedder")
        elif callable(source):
            said = "embedder is a plain function: name its vectors with CallableEmbedder(function, model=...)"
            raise EmbeddingConfigError(said)
        if hasattr(source, "embed"):
            embedder: Embedder | None = cast("Embedder", source)
        else:
            embedder, timeout_s = self._create(source)
            if options.query_timeout_s is None:
                options = replace(options, query_timeout_s=timeout_s)
        if embedder is not None and space_name(embedder) not in self.query_embedders:
            self.query_embedders[space_name(embedder)] = QueryEmbedder(embedder, options=options, cache=self.cache)
        return embedder

    def _create(self, source: EmbedderLike) -> tuple[Embedder | None, float]:
        """Return the embedder that a configuration describes, and its timeout for queries."""
        # Loaded only when needed: both load pydantic, and remote providers an HTTP client.
        from septet.embedding.choose import embedder_from
        from septet.embedding.config import config_of

        config = config_of(cast("ConfigLike", source))
        try:
            embedder = embedder_from(config)
        except EmbeddingConfigError as fault:
            # The configuration is valid; only a key or a model is missing, and searches work without.
            self._faults.append(Note("no_embedder", str(fault), "add what is missing; searches go without vectors"))
            return None, config.query_timeout_s
        if embedder is not None:
            self._owned.append(embedder)
        return embedder, config.query_timeout_s
