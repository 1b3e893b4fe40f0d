"""The search index beside a vault's file: built on demand, and written after bulk loads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from septet.errors import SeptetError
from septet.profiles import resolve
from septet.sqlite.snapshot.state import LEAST_SLOTS
from septet.sqlite.tables.indexing import last_row
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from septet.model.stats import Optimized
    from septet.sqlite.store.store import SqliteStore
    from septet.sqlite.tier.tier import LocalTier


class Indexed(AnyVault):
    """A vault with a search index in a folder beside its file."""

    _store: SqliteStore
    _tier: LocalTier
    #: Rows loaded since the index was last updated.
    _loaded_rows = 0
    #: True if the index must be updated when the vault is closed.
    _keeps_up = False

    def optimize(self) -> Optimized:
        """Build the search index now instead of in the background, and write it beside the file.

        Loads of 2,000 or more entries do this themselves. Call it before moving the file to a read-only medium: the
        next process maps the index, and its first search is as fast as any other. Up-to-date files are not written
        again. Token counts are built if the vault's profile, or a search so far, uses them.

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

    def close(self) -> None:
        """Close the vault, after updating the index if a load requires it."""
        try:
            if self._keeps_up and not self._store.closed:
                self._keeps_up = False
                # The load is stored, and searches work without an index.
                with suppress(SeptetError, MemoryError), self._tier.manager.foreground():
                    self._keep_up()
        finally:
            super().close()

    # -- inside ------------------------------------------------------------------------------------------------------

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
                self._loaded_rows += self._last_row() - before
                if self._loaded_rows >= LEAST_SLOTS and self._tier.manager.sidecar is not None:
                    self._loaded_rows, self._keeps_up = 0, True
                    self._tier.manager.begin(self._kept_up, self._store)

    def _kept_up(self) -> bool:
        self._keep_up()
        return False

    def _last_row(self) -> int:
        with self._store.reading() as read:
            return last_row(read)
