"""The slowest searches of a served memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Any

from typing_extensions import NotRequired, TypedDict

if TYPE_CHECKING:
    from septet.watch.events import SearchEvent

#: Maximum number of searches to keep.
MOST_KEPT = 50
#: Maximum age of a kept search, in seconds: slow searches at startup must not hide those of today.
KEPT_S = 86_400.0
#: Maximum number of characters of a kept query.
MOST_QUERY_CHARS = 500


class SlowSearchAnswer(TypedDict):
    """A slow search; ``query`` only if the server keeps queries."""

    at: float
    method: str
    query: NotRequired[str]
    query_chars: int
    queries: int
    took_ms: float
    stages: dict[str, float]
    candidates: int
    hits: int
    profile: str
    notes: list[str]
    error: str | None


class SlowAnswer(TypedDict):
    """The slowest searches of the last day, slowest first; ``watching`` is False if searches are not recorded."""

    watching: bool
    queries_kept: bool
    seen: int
    searches: list[SlowSearchAnswer]


class SlowSearches:
    """Keeps the slowest searches of the last day.

    Attributes:
        watching: True if searches are reported to it.
        queries: True to keep the text of queries, not only their length.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.watching = self.queries = False
        self._clock = clock
        self._rows: list[dict[str, Any]] = []
        self._seen = 0
        self._lock = Lock()

    def tell(self, event: SearchEvent) -> None:
        """Record a finished search; thread-safe."""
        with self._lock:
            self._seen += 1
            if len(self._rows) >= MOST_KEPT:
                fastest = self._rows[-1]
                if event.took_ms <= fastest["took_ms"] and fastest["at"] > self._clock() - KEPT_S:
                    return
            row = {"at": self._clock(), **event.to_dict()}
            del row["generation"]
            if self.queries:
                row["query"] = event.query[:MOST_QUERY_CHARS]
            self._rows.append(row)
            self._prune()

    def listed(self) -> dict[str, Any]:
        """Return the searches, slowest first, JSON-ready."""
        with self._lock:
            self._prune()
            return {
                "watching": self.watching,
                "queries_kept": self.queries,
                "seen": self._seen,
                "searches": [dict(row) for row in self._rows],
            }

    def _prune(self) -> None:
        oldest = self._clock() - KEPT_S
        recent = [row for row in self._rows if row["at"] > oldest]
        self._rows = sorted(recent, key=lambda row: -row["took_ms"])[:MOST_KEPT]
