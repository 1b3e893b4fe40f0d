"""What searches use beside a vault's file: built on demand, and kept there after loads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from septet.errors import SeptetError
from septet.profiles import resolve
from septet.sqlite.snapshot.sidecar_state import LEAST_SLOTS
from septet.sqlite.tables.entries import last_row
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from septet.model.stats import Optimized
    from septet.sqlite.store.store import Store
    from septet.sqlite.tier.tier import LocalTier

__all__ = ["Indexed"]


class Indexed(AnyVault):
    """A vault with a folder beside its file for what searches use."""

    _store: Store
    _tier: LocalTier
    #: Rows that loads brought since the index was brought up to date.
    _loaded_rows = 0
    #: Whether the index is to be up to date when the vault is closed.
    _keeps_up = False

    def optimize(self) -> Optimized:
        """Build what searches use now, rather than in the background, and write it beside the file.

        Loads of 2,000 entries and more do so themselves. Call it before the file moves to a read-only medium: the next
        process opens what is there, and its first search is as fast as any. Files that are up to date are not written
        again. Token counts are built if the vault's own profile, or a search so far, uses them.

        Returns:
            How many entries it covers, and the file it wrote.

        Raises:
            ReadOnly: the vault was opened for reading.
            StoreError: the vault cannot be read, or the folder cannot be written.
        """
        self._check_writable("optimize")
        from septet.model.stats import Optimized
        from septet.sqlite.snapshot.optimize import optimize

        made = optimize(self._tier.manager, self._store, self._clock(), terms=self._uses_terms)
        return Optimized(len(self), None, 0) if made is None else Optimized(len(self), str(made[0]), made[1])

    def close(self) -> None:
        """Close the vault, with an index that is up to date after a load."""
        try:
            if self._keeps_up and not self._store.closed:
                self._keeps_up = False
                # The load itself is stored, and searches do without.
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
        """Write what searches use if it is worth it; the caller has the manager's turn."""
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
