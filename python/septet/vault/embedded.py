"""Embedding the texts of a vault, now and in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from septet._core import Lock
from septet.errors import EmbeddingConfigError
from septet.inputs.arguments import flags, real
from septet.profiles import ProfileLike, resolve
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from septet.embedding.automatic import EmbeddingStatus
    from septet.embedding.embeddings import CacheLike, EmbedderLike, Embeddings
    from septet.embedding.options import EmbeddingOptions
    from septet.embedding.report import EmbedReport, Tally
    from septet.store.protocol import Store

#: The longest wait, in seconds: a year.
MOST_WAIT_S = 366 * 86_400.0
#: Maximum time that rebuilt chunks wait for pending entries to be embedded, in seconds.
AHEAD_WAIT_S = 5.0


class Embedded:
    """A store whose texts an embedder turns into vectors, if there is one."""

    _store: Store
    _profile: ProfileLike
    _embedding: tuple[EmbedderLike, EmbedderLike, CacheLike, EmbeddingOptions | None]
    #: Held while attributes of the vault itself change.
    _own: Lock

    @with_progress("texts", EmbeddingConfigError)
    def embed(
        self, *, progress: Progress | None = None, batch: bool = False, wait: bool = True, dry_run: bool = False
    ) -> EmbedReport:
        """Embed every text that has no vector of the embedder's model, now.

        A text is the title, description and context of an entry; memories are included unless the vault's profile fixes
        their score. Each batch of 100 is stored as soon as its response arrives: after a failure, an interrupt or a
        crash the next run continues. Processes that embed the same vault share the work.

        Vectors of another model keep answering searches until the new ones are complete; then they are removed,
        unless the profile keeps vectors ``per-model``. If the embedder has fallbacks of other models, each fallback
        embeds into its own space while those before it fail; these vectors are not removed.

        Args:
            progress: called after each batch with the number of texts done and the total; True shows a bar with tqdm or
                rich if installed, else a line on standard error.
            batch: use the provider's batch API (OpenAI, Voyage, Gemini), which costs half and may take a day. The
                vault stores the jobs, so after a crash the next ``embed(batch=True)`` collects them. Texts missing from
                a job are embedded by single requests; after two failed jobs in a row, so are all others. Open the vault
                with ``EmbeddingOptions(automatic=False)``, or its writes are embedded at once.
            wait: wait until every job is done; False submits jobs for a later call to collect.
            dry_run: send and write nothing; the report's ``estimate`` has texts, tokens, requests and cost of the run.

        Returns:
            Counts of embedded texts; failures of providers are counted and noted, not raised.

        Raises:
            EmbeddingConfigError: the vault has no embedder, with the reason.
            StoreError: the vault cannot be read or written.
        """
        flags({"batch": batch, "wait": wait, "dry_run": dry_run}, EmbeddingConfigError)
        if dry_run:
            return self._embeddings.estimate(reporter(progress), batch=batch)
        return self._embeddings.run(reporter(progress), batch=batch, wait=wait)

    def embedding_status(self, *, wait_s: float | None = 0) -> EmbeddingStatus:
        """Return the spaces with their coverage, and the state of automatic embedding.

        Args:
            wait_s: wait until automatic embedding is idle, at most this many seconds, 0 to a year; None without limit.

        Raises:
            EmbeddingConfigError: ``wait_s`` is out of range.
            StoreError: the vault cannot be read.
        """
        most_s = None if wait_s is None else real(wait_s, "wait_s", EmbeddingConfigError, 0, MOST_WAIT_S)
        self._embeddings.wait(most_s)
        return replace(self._embeddings.status(), spaces=self._embeddings.spaces())

    @cached_property
    def _embeddings(self) -> Embeddings:
        with self._own.hold():
            # A second one would embed beside it, and never be closed.
            known: Embeddings | None = self.__dict__.get("_embeddings")
            if known is None:
                known = self.__dict__["_embeddings"] = self._new_embeddings()
            return known

    def _new_embeddings(self) -> Embeddings:
        # Imported late: programs without an embedder do not load the embedding package.
        from septet.embedding.embeddings import Embeddings

        embedder, previous, cache, options = self._embedding
        profile = resolve(self._profile)
        return Embeddings(
            self._store,
            embedder,
            previous=previous,
            cache=cache,
            options=options,
            per_model=profile.vectors == "per-model",
            memories=profile.memory_score is None,
        )

    @property
    def _has_embeddings(self) -> bool:
        return "_embeddings" in self.__dict__

    def _written(self) -> None:
        if self._has_embeddings:
            self._embeddings.written()

    def _embed_ahead(self, stopped: Callable[[], bool], skip: set[str]) -> Tally | None:
        """Embed the texts of rebuilt chunks before they replace the old ones; None without an embedder."""
        return self._embeddings.run_ahead(stopped, wait_s=AHEAD_WAIT_S, skip=skip) if self._has_embeddings else None
