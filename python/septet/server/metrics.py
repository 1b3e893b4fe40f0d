"""Metrics: readiness; and counts of searches, writes and requests, in the text format of Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any

import anyio
from prometheus_client import CollectorRegistry, Counter, Histogram, Metric, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from septet.errors import SeptetError
from septet.server.exchange import CURRENT, Exchange
from septet.service.running import Memory
from septet.service.served import Served
from septet.watch.events import SearchEvent, WriteEvent
from septet.watch.hooks import STAGES, Stages, listen

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_VERBS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"})

#: Upper bounds in seconds, from 0.1 ms to the longest deadline.
BOUNDS = (1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Time for which a result is cached, in seconds: the route is open to all, and each check reads the file.
KEPT_S = 1.0
#: Maximum time of a check, in seconds.
WAIT_S = 5.0
#: Notes that concern the memory, not the query.
CONCERNING = frozenset({"vault_replaced", "tier_failed", "index_mismatch", "sidecar_damaged"})


class Metrics:
    """Counts events of the served memory, and requests to the server, in a registry of its own."""

    def __init__(self, memory: Memory) -> None:
        self._registry = CollectorRegistry()
        self.searches = self._counter("septet_searches_total", "Searches, by method.", "method")
        self.queries = self._counter("septet_queries_total", "Queries; search_many answers many.", "method")
        self.failed = self._counter("septet_search_errors_total", "Failed searches, by error.", "method", "error")
        self.notes = self._counter("septet_notes_total", "Notes of searches, by code.", "code")
        self.took = self._histogram("septet_search_seconds", "Seconds of a search.", "method")
        self.stages = self._histogram("septet_search_stage_seconds", "Seconds of each stage of a search.", "stage")
        self.writes = self._counter("septet_writes_total", "Writes, by method.", "method")
        self.written = self._counter("septet_written_total", "Entries, links and rows written.", "method")
        self.write_failed = self._counter("septet_write_errors_total", "Failed writes, by error.", "method", "error")
        self.requests = self._counter("septet_http_requests_total", "Requests.", "method", "route", "status")
        self.request_took = self._histogram("septet_http_request_seconds", "Seconds of a request.", "route")
        #: A metric and values of its labels, once found: `labels` is some twenty calls.
        self._with = cache(_labelled)
        listen(memory, self.on_search, self.on_write)

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(name, help, labels, registry=self._registry)

    def _histogram(self, name: str, help: str, *labels: str) -> Histogram:
        return Histogram(name, help, labels, registry=self._registry, buckets=BOUNDS)

    def on_search(self, event: SearchEvent) -> None:
        """Count a search; called on its thread."""
        if (exchange := CURRENT.get()) is not None:
            exchange.searches.append(event)
        self._with(self.searches, event.method).inc()
        self._with(self.queries, event.method).inc(event.queries)
        self._with(self.took, event.method).observe(event.took_ms / 1e3)
        for stage, ms in event.stages.items():
            self._with(self.stages, stage).observe(ms / 1e3)
        for note in event.notes:
            self.notes.labels(note.code).inc()
        if event.error is not None:
            self.failed.labels(event.method, type(event.error).__name__).inc()

    def on_write(self, event: WriteEvent) -> None:
        """Count a write; called on its thread."""
        self.writes.labels(event.method).inc()
        self.written.labels(event.method).inc(event.count)
        if event.error is not None:
            self.write_failed.labels(event.method, type(event.error).__name__).inc()

    def on_request(self, exchange: Exchange) -> None:
        """Count a finished request; clients must not create series by unknown verbs."""
        verb = exchange.method if exchange.method in _VERBS else "other"
        self._with(self.requests, verb, exchange.route, exchange.status).inc()
        self._with(self.request_took, exchange.route).observe(time.perf_counter() - exchange.started)

    def text(self, memory: Memory, running: int) -> bytes:
        """Return all metrics; those of the memory are read now.

        Args:
            running: number of requests in progress.
        """
        requests = _gauge("septet_http_requests_running", "Requests in progress.", {(): running})
        return generate_latest(_Scrape(chain(self._registry.collect(), [requests], _of_memory(memory))))


def _labelled(metric: Any, *values: object) -> Any:
    return metric.labels(*values)


class _Scrape(Collector):
    """The metrics of one answer, without the series that tell when others began."""

    def __init__(self, metrics: Iterator[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        for metric in self._metrics:
            metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
            yield metric


def _gauge(name: str, help: str, values: Mapping[tuple[str, ...], float], *labels: str) -> Metric:
    """Return a gauge with one value per values of its labels."""
    gauge = GaugeMetricFamily(name, help, labels=labels)
    for label_values, value in values.items():
        gauge.add_metric(label_values, value)
    return gauge


def _of_memory(memory: Memory) -> Iterator[Metric]:
    from septet import __version__

    yield _gauge("septet_info", "Version of the server.", {(__version__,): 1}, "version")
    try:
        stats = memory.stats().to_dict()
    except SeptetError as fault:
        yield _gauge("septet_up", "1 if the memory can be read.", {(fault.code,): 0}, "error")
        return
    yield _gauge("septet_up", "1 if the memory can be read.", {(): 1})
    tiers: dict[str, Any] = stats.get("tiers") or {"": stats}
    for name, help, field in (
        ("septet_entries", "Entries.", "entries"),
        ("septet_size_bytes", "Bytes of the file.", "size_bytes"),
        ("septet_generation", "Write transactions so far.", "generation"),
    ):
        yield _gauge(name, help, {(tier,): counts[field] for tier, counts in tiers.items()}, "tier")
    spaces: dict[tuple[str, ...], float] = {
        (tier, space["model"]): space["entries"] for tier, counts in tiers.items() for space in counts["spaces"]
    }
    yield _gauge("septet_vectors", "Entries with a vector of a model.", spaces, "tier", "model")


class Health:
    """Checks the served memory."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._state: dict[str, Any] = {}
        self._until = 0.0
        self._lock = anyio.Lock()

    async def ready(self) -> dict[str, Any]:
        """Return the readiness of the memory: ``{"status": "ok" | "failed" | "degraded", "notes": [codes]}``."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._state = await self._check()
                self._until = time.monotonic() + KEPT_S
            return self._state

    async def _check(self) -> dict[str, Any]:
        try:
            with anyio.fail_after(WAIT_S):
                notes = await self._served.memory.on_thread(_notes)
        except SeptetError as fault:
            return {"status": "failed", "notes": [fault.code]}
        except TimeoutError:
            return {"status": "failed", "notes": ["deadline"]}
        # Readers of a replaced file see its old content for ever.
        status = "failed" if "vault_replaced" in notes else "degraded" if notes else "ok"
        return {"status": status, "notes": notes}


def _notes(memory: Memory) -> list[str]:
    # This search must not count among those of the request.
    before = STAGES.set(Stages())
    try:
        results = memory.search("septet", limit=1, legs="text", mode="scan")
    finally:
        STAGES.reset(before)
    return sorted({note.code for note in results.notes} & CONCERNING)
