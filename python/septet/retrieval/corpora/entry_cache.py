"""A cache of recent hits' entries that no vault has, so that they can be fetched by id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from septet._core import Lock
from septet.model.entry import Entry
from septet.model.results import Hit
from septet.system.forks import renew_in_children

MOST_ENTRIES = 10_000


class EntryCache:
    """The entries of recent hits, by id, at most 10,000."""

    def __init__(self, most: int = MOST_ENTRIES) -> None:
        self._most = most
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset the lock in a forked child."""
        self._lock = Lock()

    def keep(self, hits: Iterable[Hit]) -> None:
        """Add the entries of hits, dropping the least recent."""
        with self._lock.hold():
            for hit in hits:
                if hit.entry is not None:
                    self._entries[hit.id] = hit.entry
                    self._entries.move_to_end(hit.id)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def get(self, entry_id: str) -> Entry | None:
        """Return the entry of a recent hit; None for other ids."""
        with self._lock.hold():
            return self._entries.get(entry_id)
