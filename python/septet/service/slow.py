"""The slowest searches of a memory that is served, for people who wonder where time goes."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from septet.watch.events import SearchEvent

__all__ = ["SlowSearches"]

#: So many searches are kept.
MOST_KEPT = 50
#: Longer than that, in seconds, none is: what was slow while the server started tells nothing of today.
KEPT_S = 86_400.0
#: Characters of a query that are kept.
MOST_QUERY_CHARS = 500


class SlowSearches:
    """Keeps the slowest searches of the last day.

    Attributes:
        watching: whether somebody tells it of searches.
        queries: whether it keeps the text of queries; otherwise only their length.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.watching = self.queries = False
        self._clock = clock
        self._kept: list[tuple[float, dict[str, Any]]] = []
        self._seen = 0
        self._lock = Lock()

    def tell(self, event: SearchEvent) -> None:
        """Take a search that is over; any thread may call."""
        with self._lock:
            self._seen += 1
            full = len(self._kept) >= MOST_KEPT
            if full and event.took_ms <= self._kept[-1][0] and self._kept[-1][1]["at"] > self._clock() - KEPT_S:
                return
            told = {"at": self._clock(), **event.to_dict()}
            del told["generation"]
            if self.queries:
                told["query"] = event.query[:MOST_QUERY_CHARS]
            self._kept.append((event.took_ms, told))
            self._prune()

    def listed(self) -> dict[str, Any]:
        """Return them, the slowest first, JSON-ready."""
        with self._lock:
            self._prune()
            return {
                "watching": self.watching,
                "queries_kept": self.queries,
                "seen": self._seen,
                "searches": [dict(told) for _, told in self._kept],
            }

    def _prune(self) -> None:
        oldest = self._clock() - KEPT_S
        kept = [one for one in self._kept if one[1]["at"] > oldest]
        self._kept = sorted(kept, key=lambda one: -one[0])[:MOST_KEPT]
