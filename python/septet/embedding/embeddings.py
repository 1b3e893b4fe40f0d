"""Embeddings: a vault's embedder, with everything that embeds by it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

from septet.embedding.automatic import Automatic, EmbeddingStatus, ModelStatus
from septet.embedding.batching import Batching
from septet.embedding.cache import EmbeddingCache
from septet.embedding.chain import Chain
from septet.embedding.embedder import Embedder, check_embedder, pooling_of, space_name
from septet.embedding.options import EmbeddingOptions
from septet.embedding.pipeline import Pipeline
from septet.embedding.query.query_embedder import QueryEmbedder
from septet.embedding.query.selection import Selection, SpaceStatus, select, statuses
from septet.embedding.report import EmbedReport, Tally, log_report
from septet.errors import EmbeddingConfigError, EmbeddingError
from septet.inputs.arguments import listed, shown
from septet.model.results import Note
from septet.store.protocol import Store

if TYPE_CHECKING:
    from septet.embedding.config import ConfigLike, EmbeddingConfig

__all__ = ["CacheLike", "EmbedderLike", "Embeddings"]

#: An embedder, or what `embedder_from` accepts: a configuration, a dict, a file, a provider's name.
_One: TypeAlias = "Embedder | EmbeddingConfig | Mapping[str, object] | str | os.PathLike[str]"
#: One of these, or several in order of preference: a chain.
EmbedderLike: TypeAlias = "_One | Sequence[_One] | None"
CacheLike: TypeAlias = "EmbeddingCache | str | os.PathLike[str] | None"


#: Models of one chain.
MOST_MODELS = 100


class _Link(NamedTuple):
    """One model of a chain: the name of its space, the embedder, or why there is none."""

    name: str | None
    embedder: Embedder | None
    fault: str | None


class Embeddings:
    """A vault's embedder and its fallbacks, with their pipelines, background thread, cache and query embedders.

    No provider is called before a search, a write or `run`.

    Args:
        source: the embedder, or its configuration, or several in order of preference; None for none.
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
        #: What ends what was created here.
        self._ends: list[Callable[[], None]] = []
        self.cache = cache if cache is None or isinstance(cache, EmbeddingCache) else self._open_cache(cache)
        #: By model; the previous embedder has one too.
        self.query_embedders: dict[str, QueryEmbedder] = {}
        self._links = self._add(source)
        #: The models in order, also those that lack a key today: their vectors are kept.
        self.chain = tuple(dict.fromkeys(link.name for link in self._links if link.name is not None))
        ready = [link.embedder for link in self._links if link.embedder is not None]
        self.embedder = ready[0] if ready else None
        self.model = None if self.embedder is None else space_name(self.embedder)
        self._note_faults()
        automatic = self._options.automatic
        for link in self._add(previous):
            if link.fault is not None:
                self._faults.append(_no_embedder(link.fault))
        # The previous model embeds queries alone, whatever its configuration says.
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
        #: Whether a search has a query to embed here, or a fault to report.
        self.affects_searches = bool(self.query_embedders or self._faults)
        #: By what was available, for one state of the store.
        self._selected: tuple[Hashable, dict[tuple[tuple[str, int | None], ...], Selection]] | None = None

    def forget(self, texts: Sequence[str]) -> int:
        """Remove texts' vectors from the cache, and what is remembered of queries; return how many the cache had."""
        for one in self.query_embedders.values():
            one.forget()
        if self.cache is None or not texts:
            return 0
        ways = [pooling_of(one.embedder) for one in self.query_embedders.values()]
        return self.cache.forget(texts, [way for way in ways if way is not None])

    def close(self) -> None:
        """End automatic embedding, within bounds, and close the embedder and the cache if they were created here."""
        if self._automatic is not None:
            self._automatic.close()
        for end in self._ends:
            end()

    def written(self) -> None:
        """Embed what was written, in the background."""
        if self._automatic is not None and self._options.automatic:
            self._automatic.wake()

    def loading(self) -> AbstractContextManager[None]:
        """Put off automatic embedding while many entries are written."""
        return nullcontext() if self._automatic is None else self._automatic.loading()

    def wait(self, timeout_s: float | None) -> bool:
        """Wait until automatic embedding is idle, and say whether it is."""
        return self._automatic is None or self._automatic.wait(timeout_s)

    def run(
        self, progress: Callable[[int, int], None] | None, *, batch: bool = False, wait: bool = True
    ) -> EmbedReport:
        """Embed what is missing, now; see `Chain.run`.

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
        tally, before = Tally(), self._runs.covered()
        if batch:
            # Without the lock: a job may take a day, and automatic embedding goes on meanwhile.
            self._run_batch_jobs(tally, progress, wait)
        with self._automatic.taken_over() as gained:
            tally.add(gained)
            report, _ = self._runs.run(progress=progress, tally=tally, asked=True)
        report = self._runs.with_gained(report, before)
        log_report(report, self._store.path)
        return report

    def run_ahead(self, stopped: Callable[[], bool], *, wait_s: float, skip: Collection[str] = ()) -> Tally | None:
        """Embed what is staged, where texts are embedded automatically, by the first model that answers.

        Args:
            stopped: called before each batch; True ends it.
            wait_s: how long to wait until the texts of entries have been embedded.
            skip: texts by hash to leave out.

        Returns:
            None where texts are not embedded automatically, those of entries still are, or no model answers.

        Raises:
            StoreError: the store cannot be read or written.
        """
        pipeline = None if self._automatic is None else self._runs.answering
        if self._automatic is None or pipeline is None or not self._options.automatic:
            return None
        # Loaded only when chunks are made anew.
        from septet.embedding.ahead import embed_staged

        if not self._automatic.lock.acquire(timeout=wait_s):
            return None
        try:
            return embed_staged(pipeline, stopped=stopped, skip=skip)
        finally:
            self._automatic.lock.release()

    def _run_batch_jobs(self, tally: Tally, progress: Callable[[int, int], None] | None, wait: bool) -> None:
        from septet.embedding.batch.jobs import batch_jobs_of

        batch_jobs = batch_jobs_of(
            self._runs.first,
            poll_s=self._options.poll_s,
            at_once=self._options.jobs_at_once,
            max_texts=self._options.job_texts,
        )
        if batch_jobs is None:
            cause = f"{self._runs.model} has no known batch API: texts are embedded request by request"
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
            if self._selected is None or self._selected[0] != read.state:
                self._selected = (read.state, {})
            known, key = self._selected[1], tuple(available.items())
            found = known.get(key)
            if found is None:
                found = known[key] = select(read, self.chain, available, memories=self._memories)
        if self._automatic is not None and self._options.automatic and self._runs.due():
            # Another model has embedded in its place: see whether it is back.
            self._automatic.wake()
        return found

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
            models=tuple(map(self._model_status, self._links)),
        )

    def _model_status(self, link: _Link) -> ModelStatus:
        if link.embedder is None:
            return ModelStatus(model=link.name or "", fault=link.fault, configured=False)
        name = space_name(link.embedder)
        asked = self.query_embedders[name].fault
        fault = self._runs.faults().get(name) or (None if asked is None else str(asked))
        return ModelStatus(model=name, fault=fault, configured=True)

    def _pipeline(self, link: _Link, per_model: bool) -> Pipeline:
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
            # While a name is unknown, its vectors cannot be told from those of a model that is no longer used.
            leads=first and all(one.name is not None for one in self._links),
            spares=not first and self._options.fallback_texts == "missing",
        )

    def _note_faults(self) -> None:
        for link in self._links:
            if link.fault is None:
                continue
            if self.embedder is None:
                self._faults.append(_no_embedder(link.fault))
            else:
                cause = (
                    f"{link.name or 'a local model'} cannot be used: {link.fault}; {self.model} is used in its place"
                )
                self._faults.append(Note("embedding_fallback", cause, "add what is missing"))

    def _changed(self, model: str, fault: EmbeddingError | None) -> None:
        """Pass on that a query has failed, or succeeds again; what lacks vectors of that model then gets them."""
        if self._automatic is None:
            return
        if fault is not None:
            self._runs.failed(model, fault)
        elif self._runs.answered(model):
            self.written()

    def _open_cache(self, path: str | os.PathLike[str]) -> EmbeddingCache:
        cache = EmbeddingCache(path, limit=self._options.cache_limit)
        self._ends.append(cache.end)
        return cache

    def _add(self, source: EmbedderLike) -> list[_Link]:
        """Return the models of a source, and let them embed queries unless others of the same names do."""
        if isinstance(source, (list, tuple)):
            wanted = "an embedder, a configuration, or a list of them"
            sources = listed(source, "embedder", EmbeddingConfigError, wanted, MOST_MODELS)
            if not sources or any(one is None or isinstance(one, (list, tuple)) for one in sources):
                raise EmbeddingConfigError(f"embedder is {shown(source)}: wanted {wanted}")
        else:
            sources = [] if source is None else [source]
        links = [link for one in sources for link in self._models(one)]
        names = [link.name for link in links if link.name is not None]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            said = f"embedder names {twice} twice: ways to the same vectors belong into one FallbackEmbedder"
            raise EmbeddingConfigError(said)
        return links

    def _models(self, source: _One) -> list[_Link]:
        options = self._options
        if hasattr(source, "embed"):
            check_embedder(source, "embedder")
            embedder = cast("Embedder", source)
            self._ask(embedder, options)
            return [_Link(space_name(embedder), embedder, None)]
        if callable(source):
            said = "embedder is a plain function: name its vectors with CallableEmbedder(function, model=...)"
            raise EmbeddingConfigError(said)
        # Loaded only when needed: both load pydantic, and remote providers an HTTP client.
        from septet.embedding.choose import configured
        from septet.embedding.config import config_of

        config = config_of(cast("ConfigLike", source))
        if not config.automatic:
            self._options = replace(self._options, automatic=False)
        try:
            found = configured(config)
        except EmbeddingConfigError as fault:
            # Only the ways to the same vectors do not fit, and searches work without.
            return [_Link(None, None, str(fault))]
        for one in found:
            if one.embedder is not None:
                self._ends.append(one.embedder.close)
                timeout_s = options.query_timeout_s
                self._ask(one.embedder, replace(options, query_timeout_s=timeout_s or one.query_timeout_s))
        # The configuration is valid; only a key or a model is missing.
        return [_Link(one.name, one.embedder, None if one.fault is None else str(one.fault)) for one in found]

    def _ask(self, embedder: Embedder, options: EmbeddingOptions) -> None:
        """Let an embedder embed queries, unless another one of its model does."""
        name = space_name(embedder)
        if name not in self.query_embedders:
            changed = partial(self._changed, name)
            self.query_embedders[name] = QueryEmbedder(embedder, options=options, cache=self.cache, on_change=changed)


def _no_embedder(fault: str) -> Note:
    return Note("no_embedder", fault, "add what is missing; searches go without vectors")
