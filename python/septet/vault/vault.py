"""Vault: one SQLite file of knowledge, searched and changed in one place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING

from septet.errors import EntryError, ReadOnly, SeptetError, StoreError
from septet.inputs.arguments import file_path, flag, flags, share, shown
from septet.postgres.store.dsn import check_file
from septet.profiles import ProfileLike, resolve
from septet.sqlite.snapshot.manager import SnapshotManager
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.state import LEAST_SLOTS
from septet.sqlite.store.store import SqliteStore
from septet.sqlite.tables.indexing import last_row
from septet.sqlite.tier.read_view import measured_agreement
from septet.sqlite.tier.tier import LateListings, LocalTier
from septet.vault.anywhere import AnyVault
from septet.vault.following import Following
from septet.vault.listed import ListedByArrays
from septet.watch.progress import Progress, reporter, with_progress
from septet.watch.watched import watched

if TYPE_CHECKING:
    from septet.embedding.embeddings import CacheLike, EmbedderLike
    from septet.embedding.options import EmbeddingOptions
    from septet.files.redaction import Redactor
    from septet.files.report import RedactReport
    from septet.model.stats import Optimized
    from septet.watch.events import SearchEvent, WriteEvent


@watched
class Vault(ListedByArrays, AnyVault, Following):
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
            `septet.exchange.restore`, and in the background of searches; it may be deleted at any time. False keeps the
            index in memory.
        mapped: map the files of that folder, so that processes share their pages. False reads them into memory, which
            is always done on network file systems. A file that another program truncates or overwrites is rebuilt.
        recall: the share of the nearest vectors that a search expects to find, above 0 and at most 1, once `optimize`
            has arranged them in lists; .99 reads a few percent of them. Results that may lack some have a note
            ``approximate``. 1 searches exactly.
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
    #: Rows loaded since the search index was last updated.
    _loaded_rows = 0
    #: True if the index must be updated when the vault is closed.
    _keeps_up = False

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
        recall: float = 1.0,
        on_search: Callable[[SearchEvent], object] | None = None,
        on_write: Callable[[WriteEvent], object] | None = None,
        sync_on_search: bool | float = False,
        sync_on_open: bool = False,
        telemetry: bool | None = None,
    ) -> None:
        file = check_file(file_path(path, "path", StoreError))
        flags({"read_only": read_only, "sidecar": sidecar, "mapped": mapped, "sync_on_open": sync_on_open}, StoreError)
        recall, budget = share(recall, "recall", StoreError), self._search_budget(sync_on_search)
        self._set_up(clock, profile, history, (on_search, on_write), telemetry, file)
        self._store = SqliteStore(file, read_only=read_only)
        try:
            beside = (
                Sidecar(self.path, read_only=read_only, mapped=mapped)
                if sidecar and not self._store.in_memory
                else None
            )
            manager = SnapshotManager(beside)
            manager.recall = recall
            self._tier = LocalTier("vault", 1.0, self._store, manager, LateListings(self._store))
            self._remembered = manager.remembered
            manager.measure = partial(measured_agreement, self._store, self._now, self._profile)
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
        try:
            if self._keeps_up and not self._store.closed:
                self._keeps_up = False
                # The load is stored, and searches work without an index.
                with suppress(SeptetError, MemoryError), self._tier.manager.foreground():
                    self._keep_up()
        finally:
            super().close()
            # Some systems keep a file from being removed as long as it is mapped.
            self._tier.manager.forget()

    def optimize(self) -> Optimized:
        """Build the search index now instead of in the background, and write it beside the file.

        Loads of 2,000 or more entries do this themselves. Call it before moving the file to a read-only medium: the
        next process maps the index, and its first search is as fast as any other. Up-to-date files are not written
        again. Token counts are built if the vault's profile, or a search so far, uses them.

        The vectors of a space with 50,000 or more are arranged in lists of near ones, for searches with ``recall``
        below 1. Vectors added later are always compared, until the lists absorb them: by themselves, once these are a
        twentieth of all. Lists change no result of an exact search.

        Returns:
            Number of indexed entries, and the written file.

        Raises:
            ReadOnly: the vault was opened for reading.
            StoreError: the vault cannot be read, or the folder cannot be written.
        """
        self._check_writable("optimize")
        from septet.model.stats import Optimized
        from septet.sqlite.snapshot.optimize import optimize

        written = optimize(self._tier.manager, self._store, self._clock(), terms=self._uses_terms)
        return Optimized(len(self), None, 0) if written is None else Optimized(len(self), str(written[0]), written[1])

    @with_progress("pages", StoreError)
    def backup(self, path: str | os.PathLike[str], *, progress: Progress | None = None) -> None:
        """Copy the vault to another file while it is in use; the copy appears when complete.

        Args:
            progress: called with the number of pages copied and the total; True shows a bar, as of `embed`.

        Raises:
            StoreError: the vault cannot be read, or the copy cannot be written: the path belongs to a vault or a
                database in use, or is not a file.
        """
        from septet.sqlite.snapshot.optimize import keep_beside

        target = file_path(path, "path", StoreError)
        self._store.backup(target, reporter(progress))
        keep_beside(target)

    @with_progress("entries", EntryError)
    def redact(
        self,
        *,
        redactor: Redactor | None = None,
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> RedactReport:
        """Mask the secrets in all stored data, and erase every byte of them from the vault's files.

        Masks titles, descriptions, contexts, tags, sources, attrs at any depth, earlier versions, notes of links and
        queries of feedback. The vectors of the old texts are removed from the vault and its embedding cache; the next
        embedding computes those of the masked texts. Chunks of a file, and parts of a split entry, are joined before
        the scan, so a secret across a border is detected. At the end the full-text index, the file and its log are
        rewritten and the sidecar is removed, so texts that were changed or deleted earlier are erased too.

        Files on the disk are never changed. A root with a secret in its files is masked from then on
        (``redact="all"``, or True if only transcripts had secrets), and these files are read again by the next sync.
        Ids do not change, since links and other programs use them: the report lists ids that contain a secret.

        Transactions are small, except the last ones, which rewrite the index and the file: other writers wait some
        seconds per gigabyte, and the disk needs room for twice the file. Searches continue. After a crash the vault is
        intact; redact it again to finish. Backups, exports, and entries stored during the run are not scanned.

        Args:
            redactor: defines secrets; None for a `Redactor` with its default rules.
            where: only entries that pass this filter, with their versions, links and feedback.
            dry_run: change nothing; only scan.
            progress: called with the number of scanned entries and their total; True shows a bar, as of `embed`.

        Returns:
            Counts of masked secrets by rule, and the places that could not be masked.

        Raises:
            EntryError: ``redactor`` is not a `Redactor`.
            QueryError: the filter is malformed or empty.
            ReadOnly: the vault was opened for reading.
            StoreError: the vault cannot be read or written.
        """
        from septet.files.redacting import Wanted, redact_store
        from septet.files.redaction import Redactor

        flag(dry_run, "dry_run", EntryError)
        if redactor is not None and not isinstance(redactor, Redactor):
            raise EntryError(f"redactor is {shown(redactor)}: wanted a septet.Redactor, such as Redactor(add=[...])")
        if self._store.read_only and not dry_run:
            raise ReadOnly(f"{self._store.path} was opened with read_only=True: open it for writing to redact it")
        rows = None if where is None else self._rows_where(where)
        request = Wanted(redactor or Redactor(), rows, dry_run, self._clock, self._forget_vectors, reporter(progress))
        report = redact_store(self._store, request, self._erase_arrays)
        if report.entries and not dry_run:
            self._written()
        return report

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

    def _rows_where(self, where: Mapping[str, object]) -> frozenset[int]:
        from septet.vault.changing import chosen

        filters = chosen(where)
        with self._store.reading() as read:
            return frozenset(read.tables.parts.with_parts(read, read.tables.changing.rows_where(read, filters)))

    def _forget_vectors(self, texts: Sequence[str]) -> int:
        return self._embeddings.forget(texts) if self._has_embeddings else 0

    def _erase_arrays(self) -> None:
        manager = self._tier.manager
        if manager.sidecar is not None:
            # Forgotten before, too: some systems keep a file as long as it is mapped.
            manager.forget()
            manager.sidecar.erase()
        else:
            # Another process may have written one.
            Sidecar(self._store.file).erase()
        manager.forget()

    @property
    def _uses_terms(self) -> bool:
        return "tfidf" in resolve(self._profile).columns

    def _settle(self) -> None:
        from septet.sqlite.snapshot.optimize import load

        load(self._tier.manager, self._store, self._clock(), terms=self._uses_terms)

    def _keep_up(self) -> None:
        """Write the index if that pays; the caller has the manager's turn."""
        from septet.sqlite.snapshot.optimize import keep_up

        keep_up(self._tier.manager, self._store, self._clock(), terms=self._uses_terms)

    @contextmanager
    def _loading(self) -> Iterator[None]:
        before = self._last_row()
        try:
            with self._embeddings.loading() if self._has_embeddings else nullcontext():
                yield
        finally:
            if not self._store.closed:
                loaded = self._last_row() - before
                with self._own.hold():
                    self._loaded_rows += loaded
                    due = self._loaded_rows >= LEAST_SLOTS and self._tier.manager.sidecar is not None
                    if due:
                        self._loaded_rows, self._keeps_up = 0, True
                if due:
                    self._tier.manager.begin(self._kept_up, self._store)

    def _kept_up(self) -> bool:
        self._keep_up()
        return False

    def _last_row(self) -> int:
        with self._store.reading() as read:
            return last_row(read)
