"""Vault: one SQLite file of knowledge, searched and changed in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from septet.errors import StoreError
from septet.inputs.arguments import file_path, flags
from septet.postgres.store.dsn import check_file
from septet.profiles import ProfileLike
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tier.tier import LateListings, LocalTier
from septet.vault.following import Following
from septet.vault.indexed import Indexed
from septet.vault.listed import ListedByArrays
from septet.vault.redacted import Redactable
from septet.vault.saved import Saved
from septet.watch.watched import watched

if TYPE_CHECKING:
    from septet.embedding.embeddings import CacheLike, EmbedderLike
    from septet.embedding.options import EmbeddingOptions
    from septet.watch.events import SearchEvent, WriteEvent


@watched
class Vault(ListedByArrays, Indexed, Redactable, Saved, Following):
    """One SQLite file of knowledge. Threads and processes may share it.

    Args:
        path: the file, created on first use; ``":memory:"`` for a vault that is lost when it is closed.
        read_only: open for reading; the file must exist.
        clock: returns the current time in epoch seconds.
        profile: default ranking of searches; also sets the number of vectors per entry.
        history: maximum earlier versions per entry; 0 keeps none.
        embedder: an `Embedder`, or its configuration (a dict, a file, a provider's name; see `embedder_from`), or a
            list of them, each a fallback for those before it. Entries are then embedded in the background after each
            write, and searches embed their query. Nothing is sent before that.
        previous_embedder: the embedder of the previous model, whose vectors are used until the new ones are complete.
        embedding_cache: an `EmbeddingCache`, or the path of one; vaults may share it.
        embedding_options: timeouts and sizes.
        sidecar: store the search index in a folder beside the file, ``<file>.septet``, for other processes to share.
            It is written for vaults of 2,000 or more entries, after loads (`close` waits for it), by `backup` and
            `restore`, and in the background of searches; it may be deleted at any time. False keeps the index in
            memory.
        mapped: map the files of that folder, so that processes share their pages. False reads them into memory, which
            is always done on network file systems. A file that another program truncates or overwrites is rebuilt.
        on_search: called with a `SearchEvent` after each search, on the thread that searched.
        on_write: called with a `WriteEvent` after each call that writes. Exceptions of hooks are logged and ignored.
        sync_on_search: sync the followed folders (`sync`) before each search (`search`, `search_many`, `recall`,
            `explain`); maximum seconds, 0 to 3,600; True for 0.25. A longer sync continues in the background, and the
            results have a note ``index_behind``. Tools that search often should use `watch_files` instead.
        sync_on_open: start such a sync in the background when the vault is opened.
        telemetry: create OpenTelemetry spans; None creates them if the program has set a tracer provider.

    Raises:
        StoreError: the file cannot be used; the subclass is the reason.
        ProfileError: an unknown or malformed profile.
        EmbeddingConfigError: a malformed configuration. A missing key or model does not raise: searches run without
            vectors and add a note.
    """

    _store: SqliteStore
    _tier: LocalTier

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        clock: Callable[[], float] = time.time,
        profile: ProfileLike = "septet",
        history: int = 10,
        embedder: EmbedderLike = None,
        previous_embedder: EmbedderLike = None,
        embedding_cache: CacheLike = None,
        embedding_options: EmbeddingOptions | None = None,
        sidecar: bool = True,
        mapped: bool = True,
        on_search: Callable[[SearchEvent], object] | None = None,
        on_write: Callable[[WriteEvent], object] | None = None,
        sync_on_search: bool | float = False,
        sync_on_open: bool = False,
        telemetry: bool | None = None,
    ) -> None:
        file = check_file(file_path(path, "path", StoreError))
        flags({"read_only": read_only, "sidecar": sidecar, "mapped": mapped, "sync_on_open": sync_on_open}, StoreError)
        budget = self._search_budget(sync_on_search)
        self._set_up(clock, profile, history, (on_search, on_write), telemetry, file)
        self._store = SqliteStore(file, read_only=read_only)
        try:
            beside = (
                Sidecar(self.path, read_only=read_only, mapped=mapped)
                if sidecar and not self._store.in_memory
                else None
            )
            self._tier = LocalTier("vault", 1.0, self._store, SnapshotManager(beside), LateListings(self._store))
            self._remembered = self._tier.manager.remembered
            self._embedding = (embedder, previous_embedder, embedding_cache, embedding_options)
            self._begin_embedding()
            if budget is not None or sync_on_open:
                self._follow_by_itself(budget, sync_on_open)
        except BaseException:
            self._store.close()
            raise

    def close(self) -> None:
        """Close the file; using the vault afterwards raises `Closed`. Closing twice is fine.

        After a load of 2,000 or more entries, the search index is written beside the file first. Waits for automatic
        embedding, at most ``close_wait_s``; the next process that opens the vault embeds the rest.
        """
        self._stop_following()
        super().close()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _beside(self, path: str) -> Vault:
        embedder, previous, cache, options = self._embedding
        return Vault(
            path,
            read_only=True,
            clock=self._now,
            embedder=embedder,
            previous_embedder=previous,
            embedding_cache=cache,
            embedding_options=options,
        )

    def _as_tier(self, name: str, priority: float) -> LocalTier:
        return LocalTier(name, priority, self._store, self._tier.manager, self._tier.listings)
