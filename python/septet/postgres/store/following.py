"""Work after writes: folding counts, and ANALYZE of tables that have grown; after a load, at its end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import psycopg

from septet.errors import BatchError, SeptetError, StoreError
from septet.postgres.store.planning import analyse_if_grown
from septet.postgres.tables import folding

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from septet.postgres.store.link import ServerLink
    from septet.postgres.store.transactions import WriteLocks
    from septet.postgres.store.vaults import VaultRow

#: Waiting differences of terms at which a load folds: common terms, which each batch has, are added up once then, and
#: searches read some more megabytes until then.
MOST_TERMS = 200_000


class _Load(threading.local):
    """The load that a thread is in: how many ``with`` blocks, and whether something is left for its end."""

    depth = 0
    fold = grown = False


class Upkeep:
    """Work after the writes of a store."""

    def __init__(self) -> None:
        self._load = _Load()
        #: See `analyse_if_grown`.
        self._looked: dict[str, int] = {}

    @contextmanager
    def loading(self, vault: VaultRow, borrowed: Callable[[], AbstractContextManager[ServerLink]]) -> Iterator[None]:
        """Leave to the end of a ``with`` block what may wait until this thread has written everything.

        After a fault of the server nothing is done: counts are exact all the same, and the next writer does it.

        Args:
            borrowed: lends a connection.
        """
        load = self._load
        load.depth += 1
        answers = False
        try:
            yield
            answers = True
        except BatchError as fault:
            # An item is at fault, and what was stored before it stays.
            answers = not isinstance(fault.__cause__, StoreError)
            raise
        finally:
            load.depth -= 1
            if not load.depth:
                grown, fold, load.grown, load.fold = load.grown, load.fold, False, False
                if grown and answers:
                    with suppress(SeptetError), borrowed() as link:
                        self._follow(link, vault, fold=fold, whole=True)

    def follow(self, link: ServerLink, vault: VaultRow, held: WriteLocks) -> None:
        """Do what a write left to do, outside its transaction, or leave it to the end of the load."""
        load = self._load
        if not held.grown:
            return
        load.fold |= held.fold_due
        if load.depth and held.waiting < MOST_TERMS:
            load.grown = True
            return
        fold, load.fold, load.grown = load.fold, False, False
        self._follow(link, vault, fold=fold, whole=False)

    def _follow(self, link: ServerLink, vault: VaultRow, *, fold: bool, whole: bool) -> None:
        # A failure costs nothing: the next writer does this too.
        with suppress(psycopg.Error, StoreError):
            # One fold takes a limited number of terms.
            if fold:
                (folding.fold_all if whole else folding.fold)(link, vault)
            analyse_if_grown(link, vault, self._looked)
