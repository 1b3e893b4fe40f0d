"""Metrics: counts of searches, writes and requests."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Lock
from typing import Any

from septet.errors import SeptetError
from septet.server.exchange import CURRENT, Exchange
from septet.server.exposition import Counter, Histogram, gauge
from septet.service.running import Memory
from septet.watch.events import SearchEvent, WriteEvent
from septet.watch.hooks import listen


class Metrics:
    """Counts events of the served memory, and requests to the server."""

    def __init__(self, memory: Memory) -> None:
        self._lock = Lock()
        self.searches = Counter("septet_searches_total", "Searches, by method.", "method")
        self.queries = Counter("septet_queries_total", "Queries; search_many answers many.", "method")
        self.failed = Counter("septet_search_errors_total", "Failed searches, by error.", "method", "error")
        self.notes = Counter("septet_notes_total", "Notes of searches, by code.", "code")
        self.took = Histogram("septet_search_seconds", "Seconds of a search.", "method")
        self.stages = Histogram("septet_search_stage_seconds", "Seconds of each stage of a search.", "stage")
        self.writes = Counter("septet_writes_total", "Writes, by method.", "method")
        self.written = Counter("septet_written_total", "Entries, links and rows written.", "method")
        self.write_failed = Counter("septet_write_errors_total", "Failed writes, by error.", "method", "error")
        self.requests = Counter("septet_http_requests_total", "Requests.", "method", "route", "status")
        self.request_took = Histogram("septet_http_request_seconds", "Seconds of a request.", "route")
        listen(memory, self.on_search, self.on_write)

    def on_search(self, event: SearchEvent) -> None:
        """Count a search; called on its thread."""
        if (exchange := CURRENT.get()) is not None:
            exchange.searches.append(event)
        with self._lock:
            self.searches.add(event.method)
            self.queries.add(event.method, by=event.queries)
            self.took.observe(event.took_ms / 1e3, event.method)
            for stage, ms in event.stages.items():
                self.stages.observe(ms / 1e3, stage)
            for note in event.notes:
                self.notes.add(note.code)
            if event.error is not None:
                self.failed.add(event.method, type(event.error).__name__)

    def on_write(self, event: WriteEvent) -> None:
        """Count a write; called on its thread."""
        with self._lock:
            self.writes.add(event.method)
            self.written.add(event.method, by=event.count)
            if event.error is not None:
                self.write_failed.add(event.method, type(event.error).__name__)

    def on_request(self, exchange: Exchange) -> None:
        """Count a finished request."""
        with self._lock:
            self.requests.add(_verb(exchange.method), exchange.route, str(exchange.status))
            self.request_took.observe(exchange.took_ms / 1e3, exchange.route)

    def text(self, memory: Memory, running: int) -> str:
        """Return all metrics; those of the memory are read now.

        Args:
            running: number of requests in progress.
        """
        with self._lock:
            metrics = [value for value in vars(self).values() if isinstance(value, (Counter, Histogram))]
            lines = [line for metric in metrics for line in metric.lines()]
        lines += gauge("septet_http_requests_running", "Requests in progress.", {(): running})
        lines += _memory_lines(memory)
        return "\n".join(lines) + "\n"


def _verb(method: str) -> str:
    """Return the verb, ``other`` for unknown ones: clients must not create series."""
    return method if method in ("GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS") else "other"


def _memory_lines(memory: Memory) -> Iterator[str]:
    from septet import __version__

    yield from gauge("septet_info", "Version of the server.", {(("version", __version__),): 1})
    try:
        stats = memory.stats().to_dict()
    except SeptetError as fault:
        yield from gauge("septet_up", "1 if the memory can be read.", {(("error", fault.code),): 0})
        return
    yield from gauge("septet_up", "1 if the memory can be read.", {(): 1})
    tiers: dict[str, Any] = stats.get("tiers") or {"": stats}
    for name, help, field in (
        ("septet_entries", "Entries.", "entries"),
        ("septet_size_bytes", "Bytes of the file.", "size_bytes"),
        ("septet_generation", "Write transactions so far.", "generation"),
    ):
        yield from gauge(name, help, {(("tier", tier),): counts[field] for tier, counts in tiers.items()})
    spaces: dict[tuple[tuple[str, str], ...], float] = {
        (("tier", tier), ("model", space["model"])): space["entries"]
        for tier, counts in tiers.items()
        for space in counts["spaces"]
    }
    yield from gauge("septet_vectors", "Entries with a vector of a model.", spaces)
