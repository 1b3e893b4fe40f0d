"""Vault: one SQLite file of knowledge, and everything that can be done with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import IO, TYPE_CHECKING

from septet.entry import Entry, utf8
from septet.errors import ReadOnly
from septet.profiles import ProfileLike, resolve
from septet.searchable import Searchable
from septet.snapshot.manager import SnapshotManager
from septet.snapshot.sidecar import Sidecar
from septet.storage.connection import MEMORY
from septet.storage.store import Store
from septet.storage.tables import entries, feedback, links
from septet.storage.tables import vectors as stored_vectors
from septet.storage.tables.links import Link
from septet.tiers import LocalTier
from septet.writable import Progress, Writable

if TYPE_CHECKING:
    from septet.embedding.embeddings import CacheLike, EmbedderLike, Embeddings, EmbeddingStatus
    from septet.embedding.options import EmbeddingOptions
    from septet.embedding.query.selection import SpaceStatus
    from septet.embedding.report import EmbedReport
    from septet.portable import Imported
    from septet.stats import Optimized, Stats

__all__ = ["Vault"]


class Vault(Searchable, Writable):
    """One SQLite file of knowledge. Threads and processes may share it.

    Args:
        path: the file, made on first use; ``":memory:"`` for a vault that goes with the process.
        read_only: open for reading; the file must exist.
        clock: returns the present in epoch seconds.
        profile: how searches rank unless they say otherwise, and how many vectors per entry are kept.
        embedder: what makes vectors of texts and questions: an `Embedder`, or a configuration of one (a dict, a file,
            a provider's name; see `embedder_from`). Entries are then embedded in the background after they are
            written, and searches embed their question. Nothing is sent before.
        previous_embedder: that of the model before, whose vectors answer until the new ones are complete.
        embedding_cache: an `EmbeddingCache`, or the path of one; vaults may share it.
        embedding_options: times and sizes.
        sidecar: keep what searches need in a folder beside the file, ``<file>.septet``, so that other processes need
            not make it anew and share its memory. It is written in the background, for vaults of 2,000 entries or
            more, and may be deleted at any time. False keeps everything in memory.

    Raises:
        StoreError: the file cannot be used; see its subclasses for why.
        ProfileError: an unknown or malformed profile.
        EmbeddingConfigError: a configuration that cannot be understood. A key or a model that is missing is none:
            searches go on without vectors, and say why.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        profile: ProfileLike = "septet",
        embedder: EmbedderLike = None,
        previous_embedder: EmbedderLike = None,
        embedding_cache: CacheLike = None,
        embedding_options: EmbeddingOptions | None = None,
        sidecar: bool = True,
    ) -> None:
        self._now = clock
        self._profile = resolve(profile)
        self._store = Store(os.fspath(path), read_only=read_only)
        beside = Sidecar(self.path, read_only=read_only) if sidecar and not self._store.in_memory else None
        self._tier = LocalTier("vault", 1.0, self._store, SnapshotManager(beside))
        self._embedding = (embedder, previous_embedder, embedding_cache, embedding_options)
        try:
            if any(given is not None for given in self._embedding):
                # A configuration that cannot be understood is told here.
                self.__dict__["_embeddings"] = self._make_embeddings()
        except BaseException:
            self._store.close()
            raise

    @property
    def path(self) -> str:
        """The file's path as it was given."""
        return self._store.path

    def __repr__(self) -> str:
        return f"Vault({self.path!r})"

    def __enter__(self) -> Vault:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; using the vault afterwards raises `Closed`. Closing twice is fine.

        Automatic embedding is waited for, a few seconds at most (``close_wait_s``); what it leaves, the next takes up.
        """
        if self._has_embeddings:
            self._embeddings.close()
        self._store.close()

    def optimize(self) -> Optimized:
        """Make everything that searches use now, rather than in the background, and write it beside the file.

        Worth its time after a large import, or before the file goes to a read-only medium: the next process opens what
        is there, and its first search is as fast as any. Nothing is written that was written already. Token counts are
        made if the vault's own profile asks for them, or a search did.

        Raises:
            ReadOnly: opened for reading.
            StoreError: the vault cannot be read, or the folder takes no writes.
        """
        if self._store.read_only:
            raise ReadOnly(f"{self.path} was opened with read_only=True: open it for writing to optimize it")
        from septet.snapshot import maintenance as upkeep
        from septet.stats import Optimized

        terms = "tfidf" in resolve(self._profile).columns
        made = upkeep.optimize(self._tier.manager, self._store, self._clock(), terms=terms)
        return Optimized(len(self), None, 0) if made is None else Optimized(len(self), str(made[0]), made[1])

    # -- embedding ---------------------------------------------------------------------------------------------------

    def embed(
        self, *, progress: Callable[[int, int], None] | None = None, batch: bool = False, wait: bool = True
    ) -> EmbedReport:
        """Give every text that lacks one its vector in the embedder's space, now, and say what came of it.

        A text is the title, description and context of an entry; memories are not embedded. Every batch of 100 is
        stored as soon as it is answered, so that nothing paid for is lost: after a failure, an interrupt or a crash the
        next run goes on where this one ended. Processes that embed one vault share the work.

        When the vault's vectors are of another model, they go on answering until these are complete, and are removed
        then (unless the profile keeps vectors ``per-model``).

        Args:
            progress: called after each batch with the texts dealt with and those to be dealt with.
            batch: use the provider's batch API (OpenAI, Voyage, Gemini), which costs half and may take a day. Jobs are
                kept in the vault, so that after a crash the next ``embed(batch=True)`` collects them. Texts that
                jobs do not bring, and all of them after two failed jobs in a row, go request by request. Open the
                vault with ``EmbeddingOptions(automatic=False)``, or its writes are embedded before.
            wait: until every job is over; if False, jobs are submitted, and a later call collects them.

        Returns:
            What was embedded; providers' failures are counted and noted in it, not raised.

        Raises:
            EmbeddingConfigError: the vault has no embedder, with the reason.
            StoreError: the vault cannot be read or written.
        """
        return self._embeddings.run(progress, batch=batch, wait=wait)

    def wait_embedded(self, timeout_s: float | None = None) -> bool:
        """Wait until automatic embedding has nothing to do, and say whether that came true in time.

        While a provider does not answer, it goes on trying.
        """
        return self._embeddings.wait(timeout_s)

    def spaces(self) -> list[SpaceStatus]:
        """Return each space, a model with a dimension, and how far it is filled; those that answer come first."""
        return self._embeddings.spaces()

    def embedding_status(self) -> EmbeddingStatus:
        """Return what automatic embedding is at, and what went wrong."""
        return self._embeddings.status()

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, id: str) -> Entry | None:
        """Return an entry, or None when there is none of that id."""
        found = self.load([id])
        return found[0] if found else None

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries by id, in the order asked; ids that do not exist are left out."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        with self._store.reading() as read:
            found = entries.find(read, wanted)
        return [found[i].to_entry() for i in wanted if i in found]

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry."""
        with self._store.reading() as read:
            return links.links_of(read, utf8(id, "id"))

    def stats(self) -> Stats:
        """Count what the vault holds."""
        from pathlib import Path

        from septet.stats import Stats

        with self._store.reading() as read:
            return Stats(
                path=self.path,
                entries=entries.count(read),
                kinds=entries.kinds(read),
                links=links.count(read),
                feedback=feedback.counts(read),
                spaces=stored_vectors.spaces(read),
                generation=read.generation,
                size_bytes=0 if self.path == MEMORY else Path(self.path).stat().st_size,
            )

    def __bool__(self) -> bool:
        # An empty vault is a vault: `vault or Vault(...)` must not open another.
        return True

    def __len__(self) -> int:
        with self._store.reading() as read:
            return entries.count(read)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    # -- copies ------------------------------------------------------------------------------------------------------

    def backup(self, path: str | os.PathLike[str], *, progress: Callable[[int, int], None] | None = None) -> None:
        """Copy the vault to another file while it is in use; the copy appears when it is complete.

        Args:
            progress: called with pages copied and pages in all.
        """
        self._store.backup(os.fspath(path), progress)

    def export(self, target: str | os.PathLike[str] | IO[str]) -> int:
        """Write everything (entries, memories, vectors, links, feedback) as JSON lines; return the number of lines."""
        from septet.portable import export

        return export(self._store, target)

    def import_(self, source: str | os.PathLike[str] | Iterable[str], *, progress: Progress | None = None) -> Imported:
        """Read JSON lines, those of `export` or plain entries, and return what was stored.

        Raises:
            BatchError: a line that cannot be stored; ``written`` entries are.
        """
        from septet.portable import import_lines

        return import_lines(self, source, progress)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _clock(self) -> float:
        return float(self._now())

    @cached_property
    def _embeddings(self) -> Embeddings:
        return self._make_embeddings()

    def _make_embeddings(self) -> Embeddings:
        # A program that embeds nothing should not wait for what embeds.
        from septet.embedding.embeddings import Embeddings

        embedder, previous, cache, options = self._embedding
        per_model = resolve(self._profile).vectors == "per-model"
        return Embeddings(self._store, embedder, previous=previous, cache=cache, options=options, per_model=per_model)

    @property
    def _has_embeddings(self) -> bool:
        return "_embeddings" in self.__dict__

    def _written(self) -> None:
        if self._has_embeddings:
            self._embeddings.written()

    def _embeds(self) -> bool:
        return self._has_embeddings and self._embeddings.affects_searches

    def _embeddings_of(self) -> Mapping[str, Embeddings]:
        return {self._tier.name: self._embeddings}

    def _tiers(self) -> Sequence[LocalTier]:
        return [self._tier]

    def _as_tier(self, name: str, priority: float) -> LocalTier:
        return LocalTier(name, priority, self._store, self._tier.manager)

    def _feedback_counts(self) -> Mapping[str, int]:
        with self._store.reading() as read:
            return self._tier.manager.remembered(read, "feedback", lambda: feedback.counts(read))
