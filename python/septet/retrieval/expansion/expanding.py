"""Expansion: other phrasings of a query, made while the query itself is searched."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from septet._core import Lock
from septet.errors import EmbeddingError, QueryError, printable
from septet.inputs.arguments import cut, exact, real, shown, whole
from septet.notes import Note
from septet.query.refine import Deadline
from septet.retrieval.waves import Expansion
from septet.system.breaker import CircuitBreaker
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

TIMEOUT_S = 3.0
REST_S, LONGEST_REST_S = 1.0, 60.0
MOST_WAIT_S = 86_400.0
#: Default and maximum number of cached queries.
CACHE_SIZE, MOST_CACHED = 256, 1_000_000
#: Default and maximum number of phrasings beside the query itself: each one costs a search.
MOST_PHRASINGS, MOST_VARIANTS = 3, 10
#: A longer text is an answer, not a phrasing.
MOST_PHRASING_CHARS = 1_000
#: Maximum values read from an iterable, which may be endless.
MOST_GIVEN = 100
#: Maximum characters of an expanded query; a longer one has enough words.
MOST_QUERY_CHARS = 4_000
#: Maximum share of a search's time; the phrasings must still be searched.
SHARE = 0.5
#: Maximum concurrent calls. A call that never returns keeps its thread.
MOST_CALLS = 16

_AGAIN = "it is retried later"


class Expander(Protocol):
    """Rephrases a query: any function, also async, from a text to texts."""

    def __call__(self, query: str, /) -> Iterable[str] | Awaitable[Iterable[str]]:
        """Return other phrasings, best first, with or without the query itself.

        Raises:
            Exception: any failure; only the query is searched, with a note.
        """


@dataclass(slots=True)
class _Call:
    """One call of an expander, shared by concurrent requests for the same query."""

    began: float
    ended: float | None = None
    #: The reason of a failure.
    fault: str = ""
    #: True once the expander backs off because of it.
    is_failed: bool = False
    #: The variants; empty after a failure.
    future: Future[tuple[str, ...]] = field(default_factory=Future)


class _Refused(Exception):
    """The reason for not starting a call."""


class Expanding:
    """Calls an expander on its own thread, and caches the result.

    If the expander raises, is late, or returns anything but texts, only the query is searched, with the note
    ``expansion_failed``. The expander then rests, 1 s at first and twice as long after each further failure, up to
    60 s; until then only cached queries are expanded. Late results are cached too. Safe to share between threads;
    concurrent requests for the same query share one call.

    Raises:
        QueryError: an argument is invalid.
    """

    def __init__(
        self,
        expander: Expander,
        *,
        timeout_s: float = TIMEOUT_S,
        most: int = MOST_PHRASINGS,
        cache_size: int = CACHE_SIZE,
        rest_s: float = REST_S,
        longest_rest_s: float = LONGEST_REST_S,
        close: Callable[[], object] = lambda: None,
    ) -> None:
        if not callable(expander):
            raise QueryError(f"expander is {shown(expander)}: wanted a function of the query that returns texts")
        self._expander = expander
        self._timeout_s = real(timeout_s, "timeout_s", QueryError, 0.01, MOST_WAIT_S)
        self._most = whole(most, "most", QueryError, 1, MOST_VARIANTS)
        self._cache_size = whole(cache_size, "cache_size", QueryError, 0, MOST_CACHED)
        self._breaker: CircuitBreaker[str] = CircuitBreaker(
            real(rest_s, "rest_s", QueryError, 0, MOST_WAIT_S),
            real(longest_rest_s, "longest_rest_s", QueryError, 0, MOST_WAIT_S),
        )
        self._close = close
        self._known: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._is_closed = False
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"Expanding({type(self._expander).__name__}, {len(self._known)} queries known)"

    def after_fork(self) -> None:
        """Reset the lock and the calls in a forked child: the parent's threads do not exist there."""
        self._lock = Lock()
        self._calls: dict[str, _Call] = {}

    @property
    def fault(self) -> str | None:
        """The last failure; None if the last call succeeded, or there was none."""
        return self._breaker.fault

    def begin(self, query: str, deadline: Deadline | None = None) -> Begun:
        """Start the phrasings of a query, without waiting for them."""
        now = time.monotonic()
        alone = Expansion((query,))
        if not query.strip():
            return Begun(self, query, now, alone)
        if len(query) > MOST_QUERY_CHARS:
            cause = f"the query has {len(query):,} characters; only queries of up to {MOST_QUERY_CHARS:,} are expanded"
            return Begun(self, query, now, self._without(query, cause, "shorten it"))
        with self._lock.hold():
            if (known := self._known.get(query)) is not None:
                self._known.move_to_end(query)
                return Begun(self, query, now, Expansion(known))
            call = self._calls.get(query)
            if call is None:
                try:
                    if deadline is not None and deadline.passed:
                        raise _Refused("no time is left to call the expander")
                    call = self._start(query, now)
                except _Refused as refused:
                    return Begun(self, query, now, self._without(query, str(refused)))
        until = call.began + self._timeout_s
        if deadline is not None:
            until = min(until, now + SHARE * deadline.left_s)
        return Begun(self, query, now, None, call, until)

    def forget(self) -> None:
        """Forget all queries."""
        with self._lock.hold():
            self._known.clear()

    def close(self) -> None:
        """Start no more calls; those in progress are not awaited. Closing twice is fine."""
        self._is_closed = True
        # Also on a repeated call, in case an interrupt prevented the first.
        self._close()

    def _start(self, query: str, now: float) -> _Call:
        """Begin a call; the lock is held."""
        if self._is_closed:
            raise _Refused("the expander was closed")
        for other in self._calls.values():
            # No search may have waited that long to notice.
            if now - other.began > self._timeout_s:
                self._fail(other, self._late())
        if len(self._calls) >= MOST_CALLS:
            raise _Refused(f"{MOST_CALLS} calls of the expander have not returned")
        last = self._breaker.fault
        # After a pause one search retries it; concurrent ones do not wait.
        if last is not None and not self._breaker.allows(self._timeout_s):
            if self._breaker.is_trying:
                raise _Refused(f"another search is retrying the expander after an earlier call failed ({last})")
            rests = f"it rests for another {self._breaker.remaining_s:.2g} s"
            raise _Refused(f"the expander was not called: {rests} because an earlier call failed ({last})")
        call = _Call(now)
        try:
            call.future = call_on_thread(lambda: self._run(query, call), "septet-expansion")
        except RuntimeError as fault:
            raise _Refused(f"no thread for the expander: {fault}") from None
        self._calls[query] = call
        return call

    def _run(self, query: str, call: _Call) -> tuple[str, ...]:
        """Call the expander, and cache its result, even if late."""
        variants: tuple[str, ...] = ()
        try:
            others: Any = self._expander(query)
            if hasattr(type(others), "__await__"):
                import asyncio

                others = asyncio.run(_awaited(others))
            variants = variants_of(query, others, self._most)
        except BaseException as fault:  # noqa: BLE001 - foreign code
            call.fault = _cause_of(fault)
        call.ended = time.monotonic()
        with self._lock.hold():
            if self._calls.get(query) is call:
                del self._calls[query]
            if call.ended - call.began > self._timeout_s:
                self._fail(call, self._late())
            elif call.fault:
                self._fail(call, call.fault)
            else:
                self._breaker.succeeded()
            if variants:
                self._known[query] = variants
                while len(self._known) > self._cache_size:
                    self._known.popitem(last=False)
        return variants

    def _fail(self, call: _Call, fault: str) -> None:
        """Start a rest, once per call; the lock is held."""
        if not call.is_failed:
            call.is_failed = True
            self._breaker.failed(fault)

    def _late(self) -> str:
        return f"the expander gave no answer within {self._timeout_s:g} s"

    def _without(self, query: str, cause: str, cure: str = _AGAIN, took_ms: float = 0.0) -> Expansion:
        note = Note("expansion_failed", f"{cause}; the query alone was searched", cure)
        return Expansion((query,), (note,), took_ms)


class Unnamed(Expanding):
    """A stand-in for a required but unconfigured expander: only the query is searched, with a note."""

    def __init__(self) -> None:
        super().__init__(lambda query: ())

    def begin(self, query: str, deadline: Deadline | None = None) -> Begun:
        """Return the query alone."""
        if not query.strip():
            return super().begin(query, deadline)
        cure = "name a model in expansion, or pass an expander"
        return Begun(self, query, 0.0, self._without(query, "queryExpansion is true, but there is no expander", cure))


@dataclass(slots=True)
class Begun:
    """Phrasings in the making."""

    _expanding: Expanding
    _query: str
    _began: float
    _result: Expansion | None
    _call: _Call | None = None
    _until: float = 0.0

    @property
    def done(self) -> bool:
        """True if `result` returns immediately."""
        return self._result is not None or self._call is None or self._call.future.done()

    def result(self) -> Expansion:
        """Wait for the phrasings, and return them, or only the query after the timeout.

        Raises no exception but an interrupt.
        """
        if self._result is None and self._call is not None:
            self._result = self._waited(self._call)
        return self._result or Expansion((self._query,))

    def _waited(self, call: _Call) -> Expansion:
        owner = self._expanding
        in_time = bool(wait([call.future], max(0.0, self._until - time.monotonic())).done)
        took_ms = 1_000 * max(0.0, ((call.ended if in_time else None) or time.monotonic()) - self._began)
        if in_time and not call.fault:
            return Expansion(call.future.result(), (), took_ms)
        if in_time:
            return owner._without(self._query, call.fault, took_ms=took_ms)
        if time.monotonic() < call.began + owner._timeout_s:
            # Still within its own time limit: not a failure of the expander.
            cause = f"the expander had no answer after {took_ms / 1_000:.3g} s"
            return owner._without(self._query, cause, "raise timeout_s", took_ms)
        with owner._lock.hold():
            if owner._calls.get(self._query) is call:
                owner._fail(call, owner._late())
        return owner._without(self._query, owner._late(), took_ms=took_ms)


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _cause_of(fault: BaseException) -> str:
    try:
        cause = printable(cut(str(fault)))
    except Exception:  # noqa: BLE001 - foreign code
        cause = "without a message"
    if isinstance(fault, EmbeddingError):
        return cause
    if isinstance(fault, QueryError):
        return f"the expander did not return a list of texts: {cause}"
    # The message is omitted, as with corpora: it may contain a key or the query.
    return f"the expander raised {type(fault).__name__}"


def variants_of(query: str, others: Iterable[object], most: int = MOST_PHRASINGS) -> tuple[str, ...]:
    """Return the unchanged query, then at most ``most`` other phrasings; only the first 100 values are read.

    Each is on one line, stripped. Phrasings are skipped if empty, longer than 1,000 characters, or equal to an earlier
    one except for case and blanks.

    Raises:
        QueryError: `others` is not a collection of texts.
    """
    if isinstance(others, (str, bytes, bytearray, Mapping)) or not isinstance(others, Iterable):
        raise QueryError(f"{shown(others)}: wanted a list of texts")
    variants = [query]
    seen = {_folded(query)}
    for other in islice(others, MOST_GIVEN):
        if len(variants) > most:
            break
        phrasing = _clean(other)
        if phrasing and len(phrasing) <= MOST_PHRASING_CHARS and _folded(phrasing) not in seen:
            seen.add(_folded(phrasing))
            variants.append(phrasing)
    return tuple(variants)


def _clean(value: Any) -> str:
    if not isinstance(value, str):
        raise QueryError(f"{shown(value)} among the phrasings: wanted texts")
    text: str = exact(value)
    # This much shows that it is too long. Lone surrogates are not text, and NUL is not part of a word.
    text = text[: 16 * MOST_PHRASING_CHARS].encode("utf-8", "replace").decode("utf-8").replace("\0", " ")
    return " ".join(text.split())


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()
