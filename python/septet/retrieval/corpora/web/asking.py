"""Calls search services in turn, with shares of the time, back-off, and a cache of recent results."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from septet._core import Lock
from septet.notes import Note
from septet.retrieval.corpora.web.backends import MOST_QUERY_CHARS, Backend, WebRequest
from septet.retrieval.corpora.web.calls import WebFault
from septet.retrieval.corpora.web.courtesy import MOST_WAIT_S
from septet.retrieval.corpora.web.results import WebResult
from septet.system.breaker import CircuitBreaker
from septet.system.forks import renew_in_children

#: Share of the remaining time for a service if others may follow.
SHARE = 0.5
#: Minimum time for a request.
LEAST_S = 0.02
#: Lifetime of cached results, so that the waves of one retrieval call a service once.
FRESH_S = 300.0
MOST_ANSWERS = 64
#: First and longest pause of a service after failures.
REST_S, LONGEST_REST_S = 1.0, 60.0


class WebHits(NamedTuple):
    """The results of the services.

    Attributes:
        backend: the service with results; None if none had any.
        responded: the services that responded, with or without results.
    """

    results: Sequence[WebResult]
    backend: str | None
    responded: tuple[str, ...]
    notes: tuple[Note, ...]


class Services:
    """Search services by precedence: the next is called only if the previous had no results. Thread-safe."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self._tiers: list[tuple[Backend, CircuitBreaker[WebFault]]] = [
            (backend, CircuitBreaker(REST_S, LONGEST_REST_S)) for backend in backends
        ]
        self._answers: OrderedDict[tuple[str, str], tuple[float, Sequence[WebResult]]] = OrderedDict()
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset the lock in a forked child."""
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the services."""
        return tuple(backend.name for backend, _ in self._tiers)

    def find(self, query: str, ends_at: float, only: Collection[str] | None = None) -> WebHits:
        """Return the results of the first service that has any; failures become notes.

        ``ends_at`` is in seconds of `time.monotonic`; ``only`` names the services to call, None for all.
        """
        notes: list[Note] = []
        responded: list[str] = []
        text = query
        if len(query) > MOST_QUERY_CHARS:
            text = query[:MOST_QUERY_CHARS].rpartition(" ")[0] or query[:MOST_QUERY_CHARS]
            notes.append(Note("query_cut", f"search services take {MOST_QUERY_CHARS} characters of a query"))
        tiers = [tier for tier in self._tiers if only is None or tier[0].name in only]
        for backend, breaker in tiers:
            left_s = ends_at - time.monotonic()
            if left_s < LEAST_S:
                notes.append(
                    Note("web_failed", f"{backend.name} was not called: the deadline passed", "raise timeout_s")
                )
                break
            within_s = left_s if backend is tiers[-1][0] else SHARE * left_s
            try:
                results = self._results_of(backend, breaker, WebRequest(text, time.monotonic() + within_s, notes))
            except WebFault as fault:
                notes.append(fault.note)
                continue
            responded.append(backend.name)
            if results:
                return WebHits(results, backend.name, tuple(responded), tuple(notes))
        return WebHits((), None, tuple(responded), tuple(notes))

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        for backend, _ in self._tiers:
            backend.close()

    def _results_of(self, backend: Backend, breaker: CircuitBreaker[WebFault], sent: WebRequest) -> Sequence[WebResult]:
        key = backend.name, sent.query
        with self._lock.hold():
            until, known = self._answers.get(key, (0.0, ()))
        if time.monotonic() < until:
            return known
        last = breaker.fault
        if last is not None and not breaker.allows(sent.left_s):
            raise WebFault(f"{last.cause}; it rests", last.cure, sent=False)
        try:
            results = backend.ask(sent)
        except WebFault as fault:
            if fault.sent:
                breaker.failed(fault, min(fault.wait_s or 0.0, MOST_WAIT_S))
            raise
        breaker.succeeded()
        with self._lock.hold():
            self._answers[key] = time.monotonic() + FRESH_S, results
            self._answers.move_to_end(key)
            if len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return results
