"""Vault: one SQLite file of knowledge, searched and changed in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from math import inf
from types import TracebackType
from typing import IO, TYPE_CHECKING

from septet.arguments import called, file_path, flags, real, utf8
from septet.batch import ids_of
from septet.entry import Entry
from septet.errors import EmbeddingConfigError, ReadOnly, StoreError
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

#: The longest wait, in seconds: a year.
MOST_WAIT_S = 366 * 86_400.0


class Vault(Searchable, Writable):
    """One SQLite file of knowledge. Threads and processes may share it.

    Args:
        path: the file, created on first use; ``":memory:"`` for a vault that lives as long as the process.
        read_only: open for reading; the file must exist.
        clock: returns the current time in epoch seconds.
        profile: how searches rank unless they name another profile, and how many vectors each entry keeps.
        embedder: what turns entries and queries into vectors: an `Embedder`, or its configuration (a dict, a file, a
            provider's name; see `embedder_from`). Entries are then embedded in the background after each write, and
            searches embed their query. Nothing is sent before that.
        previous_embedder: the embedder of the model used before; its vectors answer until the new ones are complete.
        embedding_cache: an `EmbeddingCache`, or the path of one; vaults may share it.
        embedding_options: timeouts and sizes.
        sidecar: keep what searches need in a folder beside the file, ``<file>.septet``, so that other processes share
            it instead of building it again. It is written in the background, for vaults of 2,000 entries or more, and
            may be deleted at any time. False keeps everything in memory.
        mapped: map the files in that folder, so that processes share their pages. False reads them into memory, as is
            done anyway on file systems of other machines. A file that another program cuts or overwrites is made anew.

    Raises:
        StoreError: the file cannot be used; the subclass says why.
        ProfileError: an unknown or malformed profile.
        EmbeddingConfigError: a malformed configuration. A missing key or model does not raise: searches run without
            vectors and note why.
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
        mapped: bool = True,
    ) -> None:
        file = file_path(path, "path", StoreError)
        flags({"read_only": read_only, "sidecar": sidecar, "mapped": mapped}, StoreError)
        self._now = time.time if clock is None else called(clock, "clock", StoreError)
        self._profile = resolve(profile)
        self._store = Store(file, read_only=read_only)
        beside = (
            Sidecar(self.path, read_only=read_only, mapped=mapped) if sidecar and not self._store.in_memory else None
        )
        self._tier = LocalTier("vault", 1.0, self._store, SnapshotManager(beside))
        self._embedding = (embedder, previous_embedder, embedding_cache, embedding_options)
        try:
            if any(given is not None for given in self._embedding):
                # A malformed configuration is reported here, not by the first search.
                self.__dict__["_embeddings"] = self._make_embeddings()
        except BaseException:
            self._store.close()
            raise

    @property
    def path(self) -> str:
        """The path of the file, as given."""
        return self._store.path

    def __repr__(self) -> str:
        return f"Vault({self.path!r})"

    def __enter__(self) -> Vault:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; using the vault afterwards raises `Closed`. Closing twice is fine.

        Waits for automatic embedding, ``close_wait_s`` at most; the next process that opens the vault embeds the rest.
        """
        if self._has_embeddings:
            self._embeddings.close()
        self._store.close()

    def optimize(self) -> Optimized:
        """Build what searches use now, rather than in the background, and write it beside the file.

        Call it after a large import, or before the file moves to a read-only medium: the next process opens what is
        there, and its first search is as fast as any. Files that are up to date are not written again. Token counts
        are built if the vault's own profile, or a search so far, uses them.

        Returns:
            How many entries it covers, and the file it wrote.

        Raises:
            ReadOnly: the vault was opened for reading.
            StoreError: the vault cannot be read, or the folder cannot be written.
        """
        if self._store.read_only:
            raise ReadOnly(f"{self.path} was opened with read_only=True: open it for writing to optimize it")
        from septet.snapshot.optimize import optimize
        from septet.stats import Optimized

        terms = "tfidf" in resolve(self._profile).columns
        made = optimize(self._tier.manager, self._store, self._clock(), terms=terms)
        return Optimized(len(self), None, 0) if made is None else Optimized(len(self), str(made[0]), made[1])

    # -- embedding ---------------------------------------------------------------------------------------------------

    def embed(
        self, *, progress: Callable[[int, int], None] | None = None, batch: bool = False, wait: bool = True
    ) -> EmbedReport:
        """Embed every text that has no vector of the embedder's model yet, now.

        A text is the title, description and context of an entry; those of memories too, unless the vault's profile
        fixes their score. Each batch of 100 is stored as soon as its answer arrives, so nothing paid for is lost: after
        a failure, an interrupt or a crash the next run continues. Processes that embed the same vault share the work.

        Vectors of another model keep answering searches until the new ones are complete; then they are removed,
        unless the profile keeps vectors ``per-model``.

        Args:
            progress: called after each batch with the number of texts done and the total.
            batch: use the provider's batch API (OpenAI, Voyage, Gemini), which costs half and may take a day. The
                vault keeps the jobs, so after a crash the next ``embed(batch=True)`` collects them. Texts that a job
                leaves out are embedded request by request, and after two failed jobs in a row so are all others.
                Open the vault with ``EmbeddingOptions(automatic=False)``, or its writes are embedded at once.
            wait: wait until every job is done; False submits jobs and leaves them to a later call.

        Returns:
            What was embedded; it counts and notes the failures of providers instead of raising them.

        Raises:
            EmbeddingConfigError: the vault has no embedder, with the reason.
            StoreError: the vault cannot be read or written.
        """
        flags({"batch": batch, "wait": wait}, EmbeddingConfigError)
        return self._embeddings.run(called(progress, "progress", EmbeddingConfigError), batch=batch, wait=wait)

    def wait_embedded(self, timeout_s: float | None = None) -> bool:
        """Wait until automatic embedding has nothing left to do; return False if that takes longer than ``timeout_s``.

        Raises:
            EmbeddingConfigError: ``timeout_s`` is no number from 0 to a year; None waits for providers without end.
        """
        most_s = None if timeout_s is None else real(timeout_s, "timeout_s", EmbeddingConfigError, 0, MOST_WAIT_S)
        return self._embeddings.wait(most_s)

    def spaces(self) -> list[SpaceStatus]:
        """Return each space (a model and its dimension) and how complete it is, those that answer searches first.

        Raises:
            StoreError: the vault cannot be read.
        """
        return self._embeddings.spaces()

    def embedding_status(self) -> EmbeddingStatus:
        """Return what automatic embedding is doing, and what went wrong."""
        return self._embeddings.status()

    # -- reading -----------------------------------------------------------------------------------------------------

    def get(self, id: str) -> Entry | None:
        """Return the entry with this id, or None.

        Raises:
            StoreError: the vault cannot be read.
        """
        found = self.load([utf8(id, "id")])
        return found[0] if found else None

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids; ids that do not exist are left out.

        Raises:
            StoreError: the vault cannot be read.
        """
        wanted = ids_of([ids] if isinstance(ids, str) else ids)
        with self._store.reading() as read:
            found = entries.find(read, wanted)
        return [found[i].to_entry() for i in wanted if i in found]

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry.

        Raises:
            StoreError: the vault cannot be read.
        """
        with self._store.reading() as read:
            return links.links_of(read, utf8(id, "id"))

    def stats(self) -> Stats:
        """Count what the vault holds.

        Raises:
            StoreError: the vault cannot be read.
        """
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
                size_bytes=0 if self.path == MEMORY else _size(self._store.file),
                notes=() if self._store.place is None else (self._store.place,),
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
            progress: called with the number of pages copied and the total.

        Raises:
            StoreError: the vault cannot be read, or the copy cannot be written: its name belongs to a vault or a
                database in use, or is no file.
        """
        self._store.backup(file_path(path, "path", StoreError), called(progress, "progress", StoreError))

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int], None] | None = None,
    ) -> int:
        """Put a copy of a backup in the place of a vault, which may be damaged or missing.

        The backup is copied and checked before anything is touched. A crash leaves the old vault or the new one, whole.
        Stale logs and the folder beside the old vault are removed. Nobody may have the vault open, this process
        neither; open it afterwards.

        Args:
            backup: a file that `backup` wrote, or any other vault that is sound.
            path: the vault.
            progress: called with the number of pages copied and the total.

        Returns:
            How many entries the vault now holds.

        Raises:
            NotAVault: the backup is damaged or no vault, or ``path`` is something else than a vault.
            SchemaTooNew: the backup was written by a newer Septet.
            StoreBusy: the vault is open.
            StoreError: the backup cannot be read, or the vault cannot be written.
        """
        from septet.storage.restoring import restore

        called(progress, "progress", StoreError)
        return restore(file_path(backup, "backup", StoreError), file_path(path, "path", StoreError), progress)

    def export(self, target: str | os.PathLike[str] | IO[str]) -> int:
        """Write everything (entries, memories, vectors, links, feedback) as JSON lines; return the number of lines.

        Args:
            target: an open stream, or a file, which appears when it is complete; a new one is its owner's alone.

        Raises:
            StoreError: the vault cannot be read, or the target cannot be written: it belongs to a vault or a database
                in use, or is no file.
        """
        from septet.portable import export

        return export(self._store, target if hasattr(target, "write") else file_path(target, "target", StoreError))

    def import_(self, source: str | os.PathLike[str] | Iterable[str], *, progress: Progress | None = None) -> Imported:
        """Store JSON lines: those of `export`, or plain entries (objects with a title).

        Args:
            source: a file, or the lines themselves.
            progress: called with the number of entries stored so far and the total, None when it is unknown.

        Returns:
            How many records were stored.

        Raises:
            BatchError: a line cannot be stored; the ``written`` entries before it are.
            EntryError: the source cannot be read.
        """
        from septet.portable import import_lines

        return import_lines(self, source, progress)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _clock(self) -> float:
        now = self._now()
        return now if type(now) is float and -inf < now < inf else real(now, "what clock() returned", StoreError)

    @cached_property
    def _embeddings(self) -> Embeddings:
        return self._make_embeddings()

    def _make_embeddings(self) -> Embeddings:
        # Programs without an embedder do not load the embedding package.
        from septet.embedding.embeddings import Embeddings

        embedder, previous, cache, options = self._embedding
        profile = resolve(self._profile)
        per_model, memories = profile.vectors == "per-model", profile.memory_score is None
        return Embeddings(
            self._store,
            embedder,
            previous=previous,
            cache=cache,
            options=options,
            per_model=per_model,
            memories=memories,
        )

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


def _size(file: str) -> int:
    """Return the size of a file in bytes; 0 for one that was deleted."""
    try:
        return os.stat(file).st_size  # noqa: PTH116
    except OSError:
        return 0
