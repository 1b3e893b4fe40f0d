"""Asking: search services in turn, each with its share of the time, its rests, and what it said a moment ago."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import NamedTuple

from septet._core import Lock
from septet.notes import Note
from septet.retrieval.corpora.web.backends import MOST_QUERY_CHARS, Backend, Sent
from septet.retrieval.corpora.web.calls import WebFault
from septet.retrieval.corpora.web.courtesy import Rest
from septet.retrieval.corpora.web.results import WebResult
from septet.system.forks import renew_in_children

__all__ = ["Found", "Tiers"]

#: The share of the time that is left which a service has when others may be asked after it.
SHARE = 0.5
#: With less time nothing is sent.
LEAST_S = 0.02
#: What a service answered counts for so long, so that the waves of one retrieval ask it once.
FRESH_S = 300.0
MOST_ANSWERS = 64


class Found(NamedTuple):
    """What the services gave.

    Attributes:
        backend: who gave it; None if nobody gave anything.
        asked: who answered, with something or nothing.
    """

    results: Sequence[WebResult]
    backend: str | None
    asked: tuple[str, ...]
    notes: tuple[Note, ...]


class Tiers:
    """Search services in the order in which they are asked: the next one only when nothing came. Thread-safe."""

    def __init__(self, backends: Sequence[Backend]) -> None:
        self._tiers = [(backend, Rest()) for backend in backends]
        self._answers: OrderedDict[tuple[str, str], tuple[float, Sequence[WebResult]]] = OrderedDict()
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Renew the lock."""
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the services."""
        return tuple(backend.name for backend, _ in self._tiers)

    def find(self, query: str, ends_at: float, only: Collection[str] | None = None) -> Found:
        """Return what the first service with any results gives; what fails is a note.

        Args:
            ends_at: in seconds of `time.monotonic`.
            only: names of the services to ask; None for all.
        """
        notes: list[Note] = []
        asked: list[str] = []
        text = query
        if len(query) > MOST_QUERY_CHARS:
            text = query[:MOST_QUERY_CHARS].rpartition(" ")[0] or query[:MOST_QUERY_CHARS]
            notes.append(Note("query_cut", f"search services take {MOST_QUERY_CHARS} characters of a query"))
        tiers = [tier for tier in self._tiers if only is None or tier[0].name in only]
        for backend, rest in tiers:
            left_s = ends_at - time.monotonic()
            if left_s < LEAST_S:
                notes.append(Note("web_failed", f"{backend.name} was not asked: no time was left", "raise timeout_s"))
                break
            within_s = left_s if backend is tiers[-1][0] else SHARE * left_s
            try:
                results = self._asked(backend, rest, Sent(text, time.monotonic() + within_s, notes))
            except WebFault as fault:
                notes.append(fault.note)
                continue
            asked.append(backend.name)
            if results:
                return Found(results, backend.name, tuple(asked), tuple(notes))
        return Found((), None, tuple(asked), tuple(notes))

    def close(self) -> None:
        """Close the connections; a question opens them again."""
        for backend, _ in self._tiers:
            backend.close()

    def _asked(self, backend: Backend, rest: Rest, sent: Sent) -> Sequence[WebResult]:
        key = backend.name, sent.query
        with self._lock.hold():
            until, known = self._answers.get(key, (0.0, ()))
        if time.monotonic() < until:
            return known
        rest.ask(sent.left_s)
        try:
            results = backend.ask(sent)
        except WebFault as fault:
            if fault.asked:
                rest.failed(fault)
            raise
        rest.worked()
        with self._lock.hold():
            self._answers[key] = time.monotonic() + FRESH_S, results
            self._answers.move_to_end(key)
            if len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        return results
