"""Embeddings: a vault's embedder with its pipelines, cache and query embedders."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from septet.embedding.automatic import Automatic, EmbeddingStatus, ModelStatus, SpaceStatus
from septet.embedding.batching import Batching
from septet.embedding.cache import EmbeddingCache
from septet.embedding.chain import Chain
from septet.embedding.embedder import ConfiguredModel, Embedder, check_embedder, pooling_of, space_name
from septet.embedding.options import EmbeddingOptions
from septet.embedding.pipeline import Pipeline
from septet.embedding.query.query_embedder import QueryEmbedder
from septet.embedding.query.selection import SpaceSelection, select, statuses
from septet.embedding.report import EmbedReport, Tally, log_report
from septet.errors import EmbeddingConfigError, EmbeddingError
from septet.inputs.arguments import listed, shown
from septet.notes import Note
from septet.store.owners import new_owner
from septet.store.protocol import Store

if TYPE_CHECKING:
    from septet.embedding.config import ConfigLike, EmbeddingConfig
    from septet.sqlite.store.store import SqliteReading

#: An embedder, or a source of `embedder_from`: a configuration, a dict, a file, a provider's name.
_Source: TypeAlias = "Embedder | EmbeddingConfig | Mapping[str, object] | str | os.PathLike[str]"
#: One source, or a chain of several in order of preference.
EmbedderLike: TypeAlias = "_Source | Sequence[_Source] | None"
CacheLike: TypeAlias = "EmbeddingCache | str | os.PathLike[str] | None"


#: Maximum models of a chain.
MOST_MODELS = 100


class Embeddings:
    """A vault's embedder and its fallbacks, with their pipelines, background thread, cache and query embedders.

    No provider is called before a search, a write or `run`.

    Args:
        source: the embedder, or its configuration, or several in order of preference; None for none.
        previous: the embedder of the previous model, whose vectors answer until the new ones are complete.
        cache: a cache, or the path of one; None for none.
        per_model: keep the vectors of other models after this model's are complete.
        memories: embed the texts of memories too.

    Raises:
        EmbeddingConfigError: the configuration is invalid. A missing key or model is only reported in `faults`.
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
        #: Reasons why a configured embedder is missing.
        self.faults: list[Note] = []
        #: Closes the resources created here.
        self._closers: list[Callable[[], None]] = []
        if cache is not None and not isinstance(cache, EmbeddingCache):
            cache = EmbeddingCache(cache, limit=self._options.cache_limit)
            self._closers.append(cache.end)
        self.cache = cache
        #: By model, including the previous embedder's.
        self.query_embedders: dict[str, QueryEmbedder] = {}
        self._links = self._add(source)
        #: The models in order, including those without a key: their vectors are kept.
        self.chain = tuple(dict.fromkeys(link.name for link in self._links if link.name is not None))
        ready = [link.embedder for link in self._links if link.embedder is not None]
        self.embedder = ready[0] if ready else None
        self.model = None if self.embedder is None else space_name(self.embedder)
        for link in self._links:
            if link.fault is not None and self.embedder is None:
                self.faults.append(_no_embedder(link.fault))
            elif link.fault is not None:
                cause = f"{link.name or 'a local model'} cannot be used: {link.fault}; {self.model} is used instead"
                self.faults.append(Note("embedding_fallback", cause, "add what is missing"))
        automatic = self._options.automatic
        self.faults += [_no_embedder(link.fault) for link in self._add(previous) if link.fault is not None]
        # The previous model embeds only queries, so its setting does not count.
        self._options = replace(self._options, automatic=automatic)
        self._automatic: Automatic | None = None
        if ready:
            self._runs = Chain(
                [self._pipeline(link, per_model) for link in self._links if link.embedder is not None],
                lacking=[f"{link.name or 'local'}: {link.fault}" for link in self._links if link.embedder is None],
                on_answer=lambda model: self.query_embedders[model].recover(),
                rest_s=self._options.rest_s,
                longest_rest_s=self._options.longest_rest_s,
            )
            self._automatic = Automatic(self._runs, self._options.close_wait_s)
        #: True if a search must embed its query here, or report a fault.
        self.affects_searches = bool(self.query_embedders or self.faults)
        #: Selections by available models, for one state of the store.
        self._selections: tuple[Hashable, dict[tuple[tuple[str, int | None], ...], SpaceSelection]] | None = None

    def forget(self, texts: Sequence[str]) -> int:
        """Remove the vectors of texts from the cache, and all query vectors. Return the number of the former."""
        for embedder in self.query_embedders.values():
            embedder.forget()
        if self.cache is None or not texts:
            return 0
        poolings = [pooling_of(embedder.embedder) for embedder in self.query_embedders.values()]
        return self.cache.forget(texts, [pooling for pooling in poolings if pooling is not None])

    def close(self) -> None:
        """End automatic embedding within `close_wait_s`, and close the embedder and cache if they were created here."""
        if self._automatic is not None:
            self._automatic.close()
        for end in self._closers:
            end()

    def written(self) -> None:
        """Embed new texts in the background."""
        if self._automatic is not None and self._options.automatic:
            self._automatic.wake()

    def loading(self) -> AbstractContextManager[None]:
        """Delay automatic embedding while many entries are written."""
        return nullcontext() if self._automatic is None else self._automatic.loading()

    def wait(self, timeout_s: float | None) -> None:
        """Wait until automatic embedding is idle."""
        if self._automatic is not None:
            self._automatic.wait(timeout_s)

    def run(
        self, progress: Callable[[int, int], None] | None, *, batch: bool = False, wait: bool = True
    ) -> EmbedReport:
        """Embed missing texts now; see `Chain.run`.

        Args:
            batch: use the provider's batch API first.
            wait: for all batch jobs to end.

        Raises:
            EmbeddingConfigError: the vault has no embedder; the message gives the reason.
        """
        automatic = self._required()
        tally, before = Tally(), self._runs.covered()
        if batch:
            from septet.embedding.batch.jobs import batch_jobs_of

            options = self._options
            limits = {"at_once": options.jobs_at_once, "max_texts": options.job_texts}
            # Without the lock: a job may take a day, and automatic embedding must continue.
            jobs = batch_jobs_of(self._runs.first, tally, progress, poll_s=options.poll_s, **limits)
            if jobs is not None:
                jobs.run(wait=wait)
            else:
                cause = f"{self._runs.first.model} has no known batch API: texts are embedded request by request"
                tally.remarks.append(Note("no_batch_api", cause, "leave out batch=True"))
        with automatic.taken_over() as gained:
            tally.add(gained)
            report, _ = self._runs.run(progress=progress, tally=tally, explicit=True)
        report = self._runs.with_gained(report, before)
        log_report(report, self._store.path)
        return report

    def estimate(self, progress: Callable[[int, int], None] | None, *, batch: bool = False) -> EmbedReport:
        """Return the report of a dry run by the first model. Sends and writes nothing.

        Args:
            batch: estimate the price of the provider's batch API.

        Raises:
            EmbeddingConfigError: the vault has no embedder; the message gives the reason.
        """
        from septet.embedding.estimate import estimate

        self._required()
        return estimate(self._runs.first, progress, batch=batch)

    def _required(self) -> Automatic:
        if self._automatic is None:
            reasons = "; ".join(n.cause for n in self.faults)
            raise EmbeddingConfigError(reasons or "the vault has no embedder: open it with embedder=")
        return self._automatic

    def run_ahead(self, stopped: Callable[[], bool], *, wait_s: float, skip: Collection[str] = ()) -> Tally | None:
        """Embed staged texts by the first model that answers, and return the counters of the run.

        Returns None if automatic embedding is off or still running after ``wait_s``, or no model answers.

        Args:
            stopped: called before each batch; True ends it.
            skip: hashes of texts to skip.
        """
        pipeline = None if self._automatic is None else self._runs.answering
        if self._automatic is None or pipeline is None or not self._options.automatic:
            return None
        if not self._automatic.lock.acquire(timeout=wait_s):
            return None
        try:
            return _embed_staged(pipeline, stopped, skip)
        finally:
            self._automatic.lock.release()

    @property
    def trouble(self) -> tuple[Note, ...]:
        """Notes of the last automatic run that did not complete."""
        return () if self._automatic is None else self._automatic.notes

    def select(self, available: Mapping[str, int | None]) -> SpaceSelection:
        """Return the space that answers searches; computed once per state of the store. See `selection.select`."""
        with self._store.reading() as read:
            # Read once: another thread may replace it by that of another state.
            selections = self._selections
            if selections is None or selections[0] != read.state:
                selections = self._selections = (read.state, {})
            known, key = selections[1], tuple(available.items())
            selection = known.get(key)
            if selection is None:
                selection = known[key] = select(read, self.chain, available, memories=self._memories)
        if self._automatic is not None and self._options.automatic and self._runs.due():
            # Another model has embedded in its place: probe it.
            self._automatic.wake()
        return selection

    def spaces(self) -> tuple[SpaceStatus, ...]:
        """Return the coverage of each space.

        Raises:
            StoreError: the store cannot be read.
        """
        current = None if self.embedder is None else (space_name(self.embedder), self.embedder.dimensions)
        with self._store.reading() as read:
            return statuses(read, current, memories=self._memories)

    def status(self) -> EmbeddingStatus:
        """Return the state of embedding, without the spaces."""
        automatic = self._automatic
        notes = (*self.faults, *(() if self.cache is None else self.cache.notes))
        return EmbeddingStatus(
            model=self.model,
            activity="idle" if automatic is None else automatic.activity,
            asking=self.model is not None and not self.query_embedders[self.model].backing_off,
            report=None if automatic is None else automatic.report,
            notes=notes if automatic is None else tuple(dict.fromkeys((*notes, *automatic.notes))),
            models=tuple(map(self._model_status, self._links)),
        )

    def _model_status(self, link: ConfiguredModel) -> ModelStatus:
        if link.embedder is None:
            return ModelStatus(model=link.name or "", fault=str(link.fault), configured=False)
        name = space_name(link.embedder)
        query_fault = self.query_embedders[name].fault
        fault = self._runs.faults().get(name) or (None if query_fault is None else str(query_fault))
        return ModelStatus(model=name, fault=fault, configured=True)

    def _pipeline(self, link: ConfiguredModel, per_model: bool) -> Pipeline:
        first = link is self._links[0]
        return Pipeline(
            self._store,
            cast("Embedder", link.embedder),
            self.cache,
            per_model,
            self._memories,
            Batching(self._options.batch_texts, self._options.batch_tokens),
            time.time,
            mates=frozenset(self.chain),
            # Vectors of an unknown name cannot be distinguished from those of an abandoned model.
            leads=first and all(other.name is not None for other in self._links),
            spares=not first and self._options.fallback_texts == "missing",
        )

    def _report_query(self, model: str, fault: EmbeddingError | None) -> None:
        """Report a query's failure or recovery to the chain; after a recovery, embed the texts that the model lacks."""
        if self._automatic is None:
            return
        if fault is not None:
            self._runs.failed(model, fault)
        elif self._runs.answered(model):
            self.written()

    def _add(self, source: EmbedderLike) -> list[ConfiguredModel]:
        """Return the models of a source, and create query embedders for new names."""
        if isinstance(source, (list, tuple)):
            expected = "an embedder, a configuration, or a list of them"
            sources = listed(source, "embedder", EmbeddingConfigError, expected, MOST_MODELS)
            if not sources or any(item is None or isinstance(item, (list, tuple)) for item in sources):
                raise EmbeddingConfigError(f"embedder is {shown(source)}: wanted {expected}")
        else:
            sources = [] if source is None else [source]
        links = [link for item in sources for link in self._models(item)]
        names = [link.name for link in links if link.name is not None]
        if len(set(names)) < len(names):
            duplicate = next(name for name in names if names.count(name) > 1)
            message = f"duplicate model {duplicate} in embedder: combine its providers in one FallbackEmbedder"
            raise EmbeddingConfigError(message)
        return links

    def _models(self, source: _Source) -> list[ConfiguredModel]:
        options = self._options
        if hasattr(source, "embed"):
            check_embedder(source, "embedder")
            embedder = cast("Embedder", source)
            self._add_query_embedder(embedder, options)
            return [ConfiguredModel(space_name(embedder), embedder)]
        if callable(source):
            message = "embedder is a plain function: name its vectors with CallableEmbedder(function, model=...)"
            raise EmbeddingConfigError(message)
        # Imported on first use: both import pydantic, and remote providers an HTTP client.
        from septet.embedding.choose import configured_models
        from septet.embedding.config import config_of

        config = config_of(cast("ConfigLike", source))
        if not config.automatic:
            self._options = replace(self._options, automatic=False)
        try:
            models = configured_models(config)
        except EmbeddingConfigError as fault:
            # Only the providers of one model do not match; searches work without.
            return [ConfiguredModel(None, None, EmbeddingConfigError(str(fault)))]
        for model in models:
            if model.embedder is not None:
                self._closers.append(model.embedder.close)
                timeout_s = options.query_timeout_s or model.query_timeout_s
                self._add_query_embedder(model.embedder, replace(options, query_timeout_s=timeout_s))
        return models

    def _add_query_embedder(self, embedder: Embedder, options: EmbeddingOptions) -> None:
        """Create the query embedder of a model, unless it exists."""
        name = space_name(embedder)
        if name not in self.query_embedders:
            changed = partial(self._report_query, name)
            self.query_embedders[name] = QueryEmbedder(embedder, options=options, cache=self.cache, on_change=changed)


def _no_embedder(fault: EmbeddingConfigError) -> Note:
    return Note("no_embedder", str(fault), "add what is missing; searches run without vectors")


def _embed_staged(pipeline: Pipeline, stopped: Callable[[], bool], skip: Collection[str]) -> Tally:
    """Embed staged texts, as `Pipeline.run` embeds those of entries, but for texts that others have claimed.

    Ends early if the provider refuses, or five batches in a row have failed: the remaining texts are embedded after
    they have become entries.
    """
    # Imported on first use: needed only to rebuild chunks.
    from septet.sqlite.tables import staged

    tally, owner = Tally(), new_owner()
    if not pipeline.begun():
        return tally
    pipeline.prepare(tally, begin=False)
    batching = pipeline.of_embedder
    after = -1
    try:
        while not stopped() and tally.stopped_by is None:
            with pipeline.store.reading() as read:
                space = pipeline.space(read, tally)
                # Staged texts are chunks of folders, which only a store in a file follows.
                after, page = staged.texts_of(cast("SqliteReading", read), space, after=after, limit=batching.texts)
            if not page:
                break
            texts = {key: text for key, text in page if not (key in tally.failed or key in skip)}
            claimed = pipeline.claim(tally, owner, list(texts)) if texts else []
            for at, run in enumerate(batching.runs([texts[key] for key in claimed])):
                # The loop has checked `stopped` for the first batch of the page.
                if tally.stopped_by is None and not (at and stopped()):
                    pipeline.fill(tally, [(key, texts[key]) for key in claimed[run.start : run.stop]])
    finally:
        pipeline.release(owner)
    return tally
