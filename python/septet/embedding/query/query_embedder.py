"""QueryEmbedder: a query as a vector, in time or not at all."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet._core import Lock
from septet.embedding.cache import CacheNamespace, EmbeddingCache, namespace_of
from septet.embedding.embedder import Embedder, Kind, fault_in, space_name
from septet.embedding.options import EmbeddingOptions
from septet.embedding.rows import float32_of, numbers_of
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.model.results import Note
from septet.model.vector import QueryVector, query_vector
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

__all__ = ["QUERY_TIMEOUT_S", "WITHOUT", "QueryEmbedder"]

QUERY_TIMEOUT_S = 3.0
#: How the cause of a note ends that a search goes on without the query's vector.
WITHOUT = "; searched without vectors"


class _Answer(NamedTuple):
    """A query's vector, and the row to cache; None when it came from the cache."""

    vector: QueryVector
    row: NDArray[np.float32] | None


class QueryEmbedder:
    """Embeds queries with one embedder. A search waits a few seconds at most, and never right after a failure.

    After a failure it backs off, and searches go on without a vector at once. When the back-off is over, the next query
    is embedded in the background. As soon as one succeeds, or a late answer arrives, searches wait for their vectors
    again. Each further failure doubles the back-off.

    Args:
        clock: monotonic seconds, for the back-off.
        on_change: called with the error when a query failed, and with None when one succeeds again.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        options: EmbeddingOptions,
        cache: EmbeddingCache | None = None,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[EmbeddingError | None], None] = lambda fault: None,
    ) -> None:
        self.embedder = embedder
        self._options = options
        self._cache = cache
        self._clock = clock
        self._on_change = on_change
        self._timeout_s = QUERY_TIMEOUT_S if options.query_timeout_s is None else options.query_timeout_s
        self._remembered: OrderedDict[tuple[str, Kind], QueryVector] = OrderedDict()
        #: Queries that are being embedded: who asks for the same meanwhile waits for the same answer.
        self._running: dict[tuple[str, Kind], Future[_Answer]] = {}
        self._fault: EmbeddingError | None = None
        self._backoff_s = 0.0
        self._retry_at = 0.0
        self._probing = False
        self._lock = Lock()
        renew_in_children(self)

    def forget(self) -> None:
        """Forget every query."""
        with self._lock.hold():
            self._remembered.clear()

    @property
    def model(self) -> str:
        """The space that the vectors belong to."""
        return space_name(self.embedder)

    @property
    def backing_off(self) -> bool:
        """Whether the last query failed, and none has succeeded since."""
        return self._fault is not None

    @property
    def fault(self) -> EmbeddingError | None:
        """Why the last query failed; None if it did not."""
        return self._fault

    def after_fork(self) -> None:
        """Renew the lock in a forked child, where the embedding threads do not exist."""
        self._lock = Lock()
        self._probing = False
        self._running = {}

    def embed(self, text: str, kind: Kind = "query", within_s: float | None = None) -> QueryVector | Note:
        """Return the vector of a query, or a note that says why there is none.

        Args:
            kind: ``document`` embeds the text as entries are, so that it compares with them as they do with each other.
            within_s: wait no longer than this, however long the embedder may take; a late answer is remembered.
        """
        with self._lock.hold():
            if (vector := self._remembered.get((text, kind))) is not None:
                self._remembered.move_to_end((text, kind))
                return vector
            fault = self._fault
            probe = fault is not None and not self._probing and self._clock() >= self._retry_at
            self._probing = self._probing or probe
        if fault is None:
            return self._embed_in_time(text, kind, within_s)
        if probe:
            try:
                self._start(text, kind)
            except BaseException:
                # An interrupt: nobody is asking, so the next query may.
                self._probing = False
                raise
        return _note(fault)

    def recover(self) -> None:
        """End the back-off: the embedder has just answered another caller."""
        with self._lock.hold():
            self._fault, self._backoff_s, self._probing = None, 0.0, False

    def _embed_in_time(self, text: str, kind: Kind, within_s: float | None) -> QueryVector | Note:
        hurried = within_s is not None and within_s < self._timeout_s
        # Without time no thread either: many queries would leave as many behind.
        future = None if within_s == 0 else self._start(text, kind)
        if future and wait([future], within_s if hurried else self._timeout_s).done:
            error = future.exception()
            if error is None:
                return future.result().vector
            if isinstance(error, EmbeddingError):
                return _note(error)
            raise error
        if future:
            # Who asks again asks anew: this call may never end.
            self._forget(text, kind, future)
        provider = self.embedder.provider
        if hurried:
            # It may still answer in its own time: that is no failure of the embedder's.
            cause = f"{provider} had no vector of the query after {within_s:.3g} s{WITHOUT}"
            return Note("deadline", cause, "raise timeout_s, or give query_vector=")
        late = EmbeddingUnavailable(f"{provider}: no answer within {self._timeout_s:g} s", provider=provider)
        self._failed(late)
        return _note(late)

    def _start(self, text: str, kind: Kind) -> Future[_Answer]:
        """Embed on a thread: an embedder that ignores its timeout must not hold up the search.

        Sources of a retrieval search for the same query side by side: one request serves all of them.
        """
        asked: Future[_Answer] = Future()
        with self._lock.hold():
            vector = self._remembered.get((text, kind))
            running = self._running.setdefault((text, kind), asked) if vector is None else asked
        if vector is not None:
            asked.set_result(_Answer(vector, None))
        if vector is not None or running is not asked:
            return running
        try:
            future = call_on_thread(lambda: self._answer(text, kind), "septet-query-embedding")
        except RuntimeError as fault:
            error = EmbeddingUnavailable(f"no thread to embed on: {fault}", provider=self.embedder.provider)
            self._failed(error)
            self._ended(text, kind, asked, error)
            return asked
        except BaseException as fault:
            # An interrupt: whoever waits for the same query is told.
            self._ended(text, kind, asked, fault)
            raise
        # Called after the result has been handed back: nobody waits for the cache.
        future.add_done_callback(lambda done: self._hand_over(text, kind, asked, done))
        return asked

    def _ended(self, text: str, kind: Kind, asked: Future[_Answer], answer: _Answer | BaseException) -> None:
        self._forget(text, kind, asked)
        if isinstance(answer, BaseException):
            asked.set_exception(answer)
        else:
            asked.set_result(answer)

    def _forget(self, text: str, kind: Kind, asked: Future[_Answer]) -> None:
        with self._lock.hold():
            if self._running.get((text, kind)) is asked:
                del self._running[text, kind]

    def _hand_over(self, text: str, kind: Kind, asked: Future[_Answer], done: Future[_Answer]) -> None:
        self._ended(text, kind, asked, done.exception() or done.result())
        self._store(text, kind, done)

    def _answer(self, text: str, kind: Kind) -> _Answer:
        try:
            row = None
            vector = self._cached(text, kind)
            if vector is None:
                row = self._embedded(text, kind)
                vector = query_vector(row)
        except EmbeddingError as fault:
            self._failed(fault)
            raise
        self._succeeded((text, kind), vector)
        return _Answer(vector, row)

    def _cached(self, text: str, kind: Kind) -> QueryVector | None:
        dimensions = self.embedder.dimensions
        if self._cache is None or dimensions is None:
            return None
        found = self._cache.get(self._namespace(kind), dimensions, [text])
        return query_vector(found[text]) if text in found else None

    def _store(self, text: str, kind: Kind, done: Future[_Answer]) -> None:
        row = None if done.exception() else done.result().row
        if row is not None and self._cache is not None:
            self._cache.put(self._namespace(kind), {text: row})

    def _namespace(self, kind: Kind) -> CacheNamespace:
        return namespace_of(self.embedder, kind)

    def _embedded(self, text: str, kind: Kind) -> NDArray[np.float32]:
        provider = self.embedder.provider
        try:
            answer = self.embedder.embed([text], kind, timeout_s=self._timeout_s)
            rows = float32_of(numbers_of(answer, 1, provider))
            query_vector(rows[0])
        except EmbeddingError:
            raise
        except BaseException as fault:
            # An embedder may be foreign code: the search continues without a vector and reports the error.
            raise fault_in(f"{provider} returned no vector:", fault, provider) from fault
        row: NDArray[np.float32] = rows[0]
        return row

    def _succeeded(self, asked: tuple[str, Kind], vector: QueryVector) -> None:
        with self._lock.hold():
            back = self._fault is not None
            self._fault, self._backoff_s, self._probing = None, 0.0, False
            self._remembered[asked] = vector
            while len(self._remembered) > self._options.query_memory:
                self._remembered.popitem(last=False)
        if back:
            self._on_change(None)

    def _failed(self, fault: EmbeddingError) -> None:
        self._on_change(fault)
        with self._lock.hold():
            self._fault, self._probing = fault, False
            if self._clock() < self._retry_at:
                # A concurrent query has failed before this one.
                return
            self._backoff_s = min(max(self._options.rest_s, 2 * self._backoff_s), self._options.longest_rest_s)
            self._retry_at = self._clock() + self._backoff_s


def _note(fault: EmbeddingError) -> Note:
    if isinstance(fault, EmbeddingRefused):
        return Note("embedding_refused", f"{fault}{WITHOUT}", "check the key, the quota and the model")
    return Note("embedding_unavailable", f"{fault}{WITHOUT}", "it is tried again automatically")
