"""Entries that no vault has: those that were found last are kept, so that they can be fetched by their ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from septet._core import Lock
from septet.model.entry import Entry
from septet.model.results import Hit
from septet.system.forks import renew_in_children

__all__ = ["MOST_KEPT", "Kept"]

MOST_KEPT = 10_000


class Kept:
    """The entries of the hits that were found last, by id."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Renew the lock in a forked child."""
        self._lock = Lock()

    def keep(self, hits: Iterable[Hit]) -> None:
        """Remember the entries of hits, and forget those that were found longest ago."""
        with self._lock.hold():
            for hit in hits:
                if hit.entry is not None:
                    self._entries[hit.id] = hit.entry
                    self._entries.move_to_end(hit.id)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry that was found lately; None for any other."""
        with self._lock.hold():
            return self._entries.get(entry_id)
