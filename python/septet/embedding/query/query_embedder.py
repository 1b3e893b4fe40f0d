"""QueryEmbedder: embeds queries within a time limit."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from septet._core import Lock
from septet.embedding.cache import EmbeddingCache, namespace_of
from septet.embedding.embedder import Embedder, Kind, fault_in, timeout_error
from septet.embedding.options import EmbeddingOptions
from septet.embedding.rows import float32_of, numbers_of
from septet.errors import EmbeddingError, EmbeddingRefused, EmbeddingUnavailable
from septet.model.vector import QueryVector, query_vector
from septet.notes import Note
from septet.system.breaker import CircuitBreaker
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

QUERY_TIMEOUT_S = 3.0
#: End of the cause of a note on a search without the query's vector.
WITHOUT = "; searched without vectors"


class _QueryAnswer(NamedTuple):
    """A query's vector, and the row to cache; None if it came from the cache."""

    vector: QueryVector
    row: NDArray[np.float32] | None


class QueryEmbedder:
    """Embeds queries with one embedder. A search waits at most `query_timeout_s`, and not during a back-off.

    A failure starts a back-off: searches continue without a vector at once. After it, the next query is embedded in the
    background. As soon as one succeeds, or a late answer arrives, searches wait for their vectors again. Each further
    failure doubles the back-off.

    Args:
        clock: monotonic seconds, for the back-off.
        on_change: called with the error of a failed query, and with None after a recovery.
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
        self._options, self._cache, self._on_change = options, cache, on_change
        self._timeout_s = QUERY_TIMEOUT_S if options.query_timeout_s is None else options.query_timeout_s
        self._vectors: OrderedDict[tuple[str, Kind], QueryVector] = OrderedDict()
        #: Queries in progress; an equal query waits for the same answer.
        self._running: dict[tuple[str, Kind], Future[_QueryAnswer]] = {}
        pauses = options.rest_s, options.longest_rest_s
        self._breaker: CircuitBreaker[EmbeddingError] = CircuitBreaker(*pauses, clock=clock)
        self._lock = Lock()
        renew_in_children(self)

    def forget(self) -> None:
        """Drop all query vectors."""
        with self._lock.hold():
            self._vectors.clear()

    @property
    def backing_off(self) -> bool:
        """True if the last query failed, and none has succeeded since."""
        return self._breaker.is_open

    @property
    def fault(self) -> EmbeddingError | None:
        """The error of the last query; None if it succeeded."""
        return self._breaker.fault

    def after_fork(self) -> None:
        """Renew the lock in a forked child, where the embedding threads do not exist."""
        self._lock = Lock()
        self._running = {}

    def embed(self, text: str, kind: Kind = "query", within_s: float | None = None) -> QueryVector | Note:
        """Return the vector of a query, or a note on its absence.

        Args:
            kind: ``document`` embeds the text like an entry, for comparisons between entries.
            within_s: maximum wait in seconds, besides the embedder's timeout; a late answer is kept for later queries.
        """
        with self._lock.hold():
            if (vector := self._vectors.get((text, kind))) is not None:
                self._vectors.move_to_end((text, kind))
                return vector
        fault = self._breaker.fault
        if fault is None:
            return self._embed_in_time(text, kind, within_s)
        if self._breaker.allows():
            try:
                self._start(text, kind)
            except BaseException:
                # An interrupt: no probe is running, so the next query may start one.
                self._breaker.cancel_trial()
                raise
        return _note(fault)

    def recover(self) -> None:
        """End the back-off after the embedder has answered another caller."""
        self._breaker.succeeded()

    def _embed_in_time(self, text: str, kind: Kind, within_s: float | None) -> QueryVector | Note:
        shortened = within_s is not None and within_s < self._timeout_s
        # Without time, start no thread: threads would accumulate.
        future = None if within_s == 0 else self._start(text, kind)
        if future and wait([future], within_s if shortened else self._timeout_s).done:
            error = future.exception()
            if error is None:
                return future.result().vector
            if isinstance(error, EmbeddingError):
                return _note(error)
            raise error
        if future:
            # This call may never end: an equal query starts a new one.
            self._forget(text, kind, future)
        provider = self.embedder.provider
        if shortened:
            # The embedder may still answer within its timeout, so this is not a failure.
            cause = f"{provider} returned no vector of the query within {within_s:.3g} s{WITHOUT}"
            return Note("deadline", cause, "raise timeout_s, or give query_vector=")
        late = timeout_error(self._timeout_s, provider)
        self._record_failure(late)
        return _note(late)

    def _start(self, text: str, kind: Kind) -> Future[_QueryAnswer]:
        """Embed on a thread, because an embedder may ignore its timeout.

        The sources of a retrieval search for the same query concurrently and share one request.
        """
        promise: Future[_QueryAnswer] = Future()
        with self._lock.hold():
            vector = self._vectors.get((text, kind))
            running = self._running.setdefault((text, kind), promise) if vector is None else promise
        if vector is not None:
            promise.set_result(_QueryAnswer(vector, None))
        if vector is not None or running is not promise:
            return running
        try:
            task = call_on_thread(lambda: self._answer(text, kind), "septet-query-embedding")
        except RuntimeError as fault:
            error = EmbeddingUnavailable(f"no thread to embed on: {fault}", provider=self.embedder.provider)
            self._record_failure(error)
            self._resolve(text, kind, promise, error)
            return promise
        except BaseException as fault:
            # An interrupt: pass it to callers waiting for the same query.
            self._resolve(text, kind, promise, fault)
            raise
        # Runs after the result is set, so callers do not wait for the cache.
        task.add_done_callback(partial(self._hand_over, text, kind, promise))
        return promise

    def _resolve(
        self, text: str, kind: Kind, promise: Future[_QueryAnswer], answer: _QueryAnswer | BaseException
    ) -> None:
        self._forget(text, kind, promise)
        if isinstance(answer, BaseException):
            promise.set_exception(answer)
        else:
            promise.set_result(answer)

    def _forget(self, text: str, kind: Kind, promise: Future[_QueryAnswer]) -> None:
        with self._lock.hold():
            if self._running.get((text, kind)) is promise:
                del self._running[text, kind]

    def _hand_over(self, text: str, kind: Kind, promise: Future[_QueryAnswer], done: Future[_QueryAnswer]) -> None:
        self._resolve(text, kind, promise, done.exception() or done.result())
        row = None if done.exception() else done.result().row
        if row is not None and self._cache is not None:
            self._cache.put(namespace_of(self.embedder, kind), {text: row})

    def _answer(self, text: str, kind: Kind) -> _QueryAnswer:
        try:
            answer = self._read_cache(text, kind) or self._embed(text, kind)
        except EmbeddingError as fault:
            self._record_failure(fault)
            raise
        recovered = self._breaker.succeeded()
        with self._lock.hold():
            self._vectors[text, kind] = answer.vector
            while len(self._vectors) > self._options.query_memory:
                self._vectors.popitem(last=False)
        if recovered:
            self._on_change(None)
        return answer

    def _read_cache(self, text: str, kind: Kind) -> _QueryAnswer | None:
        dimensions = self.embedder.dimensions
        if self._cache is None or dimensions is None:
            return None
        rows = self._cache.get(namespace_of(self.embedder, kind), dimensions, [text])
        return _QueryAnswer(query_vector(rows[text]), None) if text in rows else None

    def _embed(self, text: str, kind: Kind) -> _QueryAnswer:
        provider = self.embedder.provider
        try:
            answer = self.embedder.embed([text], kind, timeout_s=self._timeout_s)
            row: NDArray[np.float32] = float32_of(numbers_of(answer, 1, provider))[0]
            return _QueryAnswer(query_vector(row), row)
        except EmbeddingError:
            raise
        except BaseException as fault:
            # Foreign code may raise anything: the search continues without a vector and reports the error.
            raise fault_in(f"{provider} returned no vector:", fault, provider) from fault

    def _record_failure(self, fault: EmbeddingError) -> None:
        self._on_change(fault)
        self._breaker.failed(fault)


def _note(fault: EmbeddingError) -> Note:
    if isinstance(fault, EmbeddingRefused):
        return Note("embedding_refused", f"{fault}{WITHOUT}", "check the key, the quota and the model")
    return Note("embedding_unavailable", f"{fault}{WITHOUT}", "it is retried automatically")
