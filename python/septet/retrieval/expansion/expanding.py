"""Expansion: other phrasings of a query, asked for while the query itself is searched, in time or not at all."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, Protocol

from septet._core import Lock
from septet.errors import EmbeddingError, QueryError
from septet.inputs.arguments import cut, printable, real, shown, whole
from septet.notes import Note
from septet.query.deadline import Deadline
from septet.retrieval.expansion.phrasings import MOST_PHRASINGS, variants_of
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

__all__ = ["Begun", "Expander", "Expanding", "Expansion", "Unnamed"]

TIMEOUT_S = 3.0
REST_S, LONGEST_REST_S = 1.0, 60.0
MOST_WAIT_S = 86_400.0
#: Queries whose phrasings are remembered, unless configured otherwise, and at most.
CACHE_SIZE, MOST_CACHED = 256, 1_000_000
#: Phrasings of a query at most, whatever is configured: each is searched like the query.
MOST_VARIANTS = 10
#: A longer query is searched as it is: it holds words enough.
MOST_QUERY_CHARS = 4_000
#: The share of a search's time that phrasings have: they must still be searched.
SHARE = 0.5
#: Calls at the same time. Those of an expander that never returns keep their threads.
MOST_CALLS = 16

_AGAIN = "it is asked again later"


class Expander(Protocol):
    """Says a query in other words: any function of a text that returns texts; it may be an async function."""

    def __call__(self, query: str, /) -> Iterable[str] | Awaitable[Iterable[str]]:
        """Return other phrasings, the best first; the query itself need not be among them.

        Raises:
            Exception: it fails; the query alone is searched, and a note says why.
        """


class Expansion(NamedTuple):
    """The phrasings of a query.

    Attributes:
        variants: the query as it was asked, then the others, each once.
        notes: why there are no others.
        took_ms: how long they took, from the time that they were asked for; 0 for those that were remembered.
    """

    variants: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    took_ms: float = 0.0


class _Call:
    """One call of an expander, for all who asked for the same query meanwhile."""

    __slots__ = ("began", "ended", "fault", "future", "is_failed")

    def __init__(self, began: float) -> None:
        self.began = began
        self.ended: float | None = None
        #: Why it brought nothing.
        self.fault = ""
        #: Whether the expander rests because of it.
        self.is_failed = False
        #: The variants; none if there is a fault.
        self.future: Future[tuple[str, ...]]


class Expanding:
    """Asks an expander on a thread of its own, and remembers what it says.

    When the expander raises, is late, or gives what is no list of texts, the query alone is searched, and the note
    ``expansion_failed`` says why. It then rests, 1 s at first and twice as long after each further failure, up to 60 s;
    meanwhile only remembered queries are expanded. A late answer is remembered too. Safe to share between threads;
    those that ask for the same query at the same time share one call.

    Args:
        expander: a function of the query; see `Expander`.
        timeout_s: how long a search waits for it, 0.01 to 86,400 seconds, and at most half of its own time.
        most: phrasings beside the query, 1 to 10.
        cache_size: queries remembered, those used last; 0 to 1,000,000.
        rest_s: how long it rests after its first failure, 0 to 86,400 seconds.
        longest_rest_s: the longest rest.
        close: called whenever this is closed, to close what the expander needs.

    Raises:
        QueryError: an argument is none of these.
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
        self._rest_s = real(rest_s, "rest_s", QueryError, 0, MOST_WAIT_S)
        self._longest_rest_s = real(longest_rest_s, "longest_rest_s", QueryError, 0, MOST_WAIT_S)
        self._close = close
        self._known: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self._fault: str | None = None
        self._last_rest_s = self._retry_at = 0.0
        self._is_closed = self._is_tried = False
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"Expanding({type(self._expander).__name__}, {len(self._known)} queries known)"

    def after_fork(self) -> None:
        """Renew the lock, and forget the calls, whose threads a forked child does not have."""
        self._lock = Lock()
        self._calls: dict[str, _Call] = {}

    @property
    def fault(self) -> str | None:
        """Why the expander failed last; None while it answers in time, as far as is known."""
        return self._fault

    def begin(self, query: str, deadline: Deadline | None = None) -> Begun:
        """Ask for the phrasings of a query, without waiting for them.

        Args:
            deadline: when the search that wants them ends.
        """
        now = time.monotonic()
        alone = Expansion((query,))
        if not query.strip():
            return Begun(self, query, now, alone)
        if len(query) > MOST_QUERY_CHARS:
            cause = (
                f"the query has {len(query):,} characters, and only those of up to {MOST_QUERY_CHARS:,} are expanded"
            )
            return Begun(self, query, now, self._without(query, cause, "shorten it"))
        with self._lock.hold():
            if (known := self._known.get(query)) is not None:
                self._known.move_to_end(query)
                return Begun(self, query, now, Expansion(known))
            call = self._calls.get(query)
            if call is None:
                try:
                    if deadline is not None and deadline.passed:
                        raise _Refused("no time is left to ask the expander")
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
        """Ask no more; what is asked for already is not waited for. Closing twice is fine."""
        self._is_closed = True
        # Again when an interrupt kept it from the first time.
        self._close()

    def _start(self, query: str, now: float) -> _Call:
        """Begin a call; the lock is held.

        Raises:
            _Refused: no call is to be made now.
        """
        if self._is_closed:
            raise _Refused("the expander was closed")
        for other in self._calls.values():
            # Nobody may have waited as long as that.
            if now - other.began > self._timeout_s:
                self._fail(other, self._late())
        if len(self._calls) >= MOST_CALLS:
            raise _Refused(f"{MOST_CALLS} calls of the expander have not come back")
        if self._fault is not None:
            if now < self._retry_at:
                raise _Refused(self._resting(now))
            # One search tries it; those beside it need not wait as long.
            self._retry_at, self._is_tried = now + self._timeout_s, True
        call = _Call(now)
        try:
            call.future = call_on_thread(lambda: self._run(query, call), "septet-expansion")
        except RuntimeError as fault:
            raise _Refused(f"no thread to ask the expander on: {fault}") from None
        self._calls[query] = call
        return call

    def _resting(self, now: float) -> str:
        """Return why no call is made while it rests, which is not why an earlier one failed."""
        if self._is_tried:
            return f"another search tries the expander again, after an earlier call failed ({self._fault})"
        rests = f"it rests for another {self._retry_at - now:.2g} s"
        return f"the expander was not asked: {rests}, as an earlier call failed ({self._fault})"

    def _run(self, query: str, call: _Call) -> tuple[str, ...]:
        """Ask, and keep what comes, however late."""
        found: tuple[str, ...] = ()
        try:
            found = variants_of(query, _awaited(self._expander(query)), self._most)
        except BaseException as fault:  # noqa: BLE001 - foreign code
            call.fault = _said(fault)
        call.ended = time.monotonic()
        with self._lock.hold():
            if self._calls.get(query) is call:
                del self._calls[query]
            if call.ended - call.began > self._timeout_s:
                self._fail(call, self._late())
            elif call.fault:
                self._fail(call, call.fault)
            else:
                self._fault, self._last_rest_s, self._is_tried = None, 0.0, False
            if found:
                self._known[query] = found
                while len(self._known) > self._cache_size:
                    self._known.popitem(last=False)
        return found

    def _expired(self, query: str, call: _Call) -> None:
        """Note that a call took longer than it may."""
        with self._lock.hold():
            if self._calls.get(query) is call:
                self._fail(call, self._late())

    def _fail(self, call: _Call, fault: str) -> None:
        """Let the expander rest, once for each call; the lock is held."""
        if call.is_failed:
            return
        call.is_failed = True
        self._fault, self._is_tried = fault, False
        self._last_rest_s = min(max(self._rest_s, 2 * self._last_rest_s), self._longest_rest_s)
        self._retry_at = time.monotonic() + self._last_rest_s

    def _late(self) -> str:
        return f"the expander gave no answer within {self._timeout_s:g} s"

    def _without(self, query: str, cause: str, cure: str = _AGAIN, took_ms: float = 0.0) -> Expansion:
        note = Note("expansion_failed", f"{cause}; the query alone was searched", cure)
        return Expansion((query,), (note,), took_ms)


class Unnamed(Expanding):
    """Stands for an expander that is wanted, and that nobody has named: each query is searched alone, with a note."""

    def __init__(self) -> None:
        super().__init__(lambda query: ())

    def begin(self, query: str, deadline: Deadline | None = None) -> Begun:
        """Return the query alone."""
        if not query.strip():
            return super().begin(query, deadline)
        cure = "name a model in expansion, or give an expander"
        return Begun(self, query, 0.0, self._without(query, "queryExpansion is true, and there is no expander", cure))


class Begun:
    """Phrasings that were asked for."""

    def __init__(
        self,
        expanding: Expanding,
        query: str,
        began: float,
        done: Expansion | None,
        call: _Call | None = None,
        until: float = 0.0,
    ) -> None:
        self._expanding = expanding
        self._query = query
        self._began = began
        self._done = done
        self._call = call
        self._until = until

    @property
    def done(self) -> bool:
        """Whether `result` returns at once."""
        return self._done is not None or self._call is None or self._call.future.done()

    def result(self) -> Expansion:
        """Return the phrasings when they are there, or the query alone when the time for them is over.

        Never raises; an interrupt comes through.
        """
        if self._done is None and self._call is not None:
            self._done = self._waited(self._call)
        return self._done or Expansion((self._query,))

    def _waited(self, call: _Call) -> Expansion:
        owner = self._expanding
        in_time = bool(wait([call.future], max(0.0, self._until - time.monotonic())).done)
        took_ms = 1_000 * max(0.0, ((call.ended if in_time else None) or time.monotonic()) - self._began)
        if in_time and not call.fault:
            return Expansion(call.future.result(), (), took_ms)
        if in_time:
            return owner._without(self._query, call.fault, took_ms=took_ms)
        if time.monotonic() < call.began + owner._timeout_s:
            # It may still answer in its own time: that is no failure of the expander's.
            cause = f"the expander had no answer after {took_ms / 1_000:.3g} s"
            return owner._without(self._query, cause, "raise timeout_s", took_ms)
        owner._expired(self._query, call)
        return owner._without(self._query, owner._late(), took_ms=took_ms)


class _Refused(Exception):
    """Why no call is made."""


def _awaited(given: Any) -> Any:
    if not hasattr(type(given), "__await__"):
        return given
    import asyncio

    async def wait_for_it() -> Any:
        return await given

    return asyncio.run(wait_for_it())


def _said(fault: BaseException) -> str:
    try:
        cause = printable(cut(str(fault)))
    except Exception:  # noqa: BLE001 - foreign code
        cause = "without a message"
    if isinstance(fault, EmbeddingError):
        return cause
    if isinstance(fault, QueryError):
        return f"the expander gave what is no list of texts: {cause}"
    # Without its words, as of corpora: foreign code may put a key or the query into them.
    return f"the expander raised {type(fault).__name__}"
