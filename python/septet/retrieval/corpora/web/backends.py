"""Back ends: SearXNG, DuckDuckGo's instant answers, Tavily with a budget of credits, or an application's function."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from itertools import islice
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, TypeAlias
from urllib.parse import unquote, urlencode, urlsplit

from septet._core import Lock
from septet.errors import QueryError
from septet.files.chunking import encodable
from septet.inputs.arguments import shown, whole
from septet.net.calls import Answer
from septet.notes import Note
from septet.retrieval.corpora.web.calls import (
    MAX_JSON_BYTES,
    USER_AGENT,
    WebCalls,
    WebFault,
    json_of,
    usable_url,
)
from septet.retrieval.corpora.web.courtesy import Courtesy
from septet.retrieval.corpora.web.results import WebResult, host_of
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

DUCKDUCKGO_URL = "https://api.duckduckgo.com/"
TAVILY_URL = "https://api.tavily.com/search"
#: Maximum characters of a query for Tavily; longer texts are not search queries.
MOST_QUERY_CHARS = 400
MOST_TITLE_CHARS, MOST_TEXT_CHARS = 500, 8_000
#: Maximum topics of DuckDuckGo, including those in groups.
MOST_TOPICS = 1_000
#: Maximum abandoned calls of a function still running; at the maximum it is skipped.
MOST_LATE = 4
#: The outcome of a request to Tavily.
Outcome: TypeAlias = Literal["off", "budget_exhausted", "call"]
#: At this many credits or fewer a note warns.
LOW_CREDITS = 20
#: Maximum credits of a budget.
MOST_CREDITS = 1_000_000

#: A function of the query and the number of results; returns dicts with ``url`` and optionally ``title``, ``text`` (or
#: ``content``, ``snippet``, ``description``), ``score`` and ``engine``, best first.
WebSearch: TypeAlias = "Callable[[str, int], Iterable[Mapping[str, Any] | WebResult]]"


class WebRequest(NamedTuple):
    """A request to a back end.

    Attributes:
        ends_at: the deadline, in seconds of `time.monotonic`.
        notes: collects its notes for the caller.
    """

    query: str
    ends_at: float
    notes: list[Note]

    @property
    def left_s(self) -> float:
        """Remaining seconds."""
        return max(0.0, self.ends_at - time.monotonic())


class Backend(Protocol):
    """A search service. Several threads may call it at once."""

    @property
    def name(self) -> str:
        """The name in lists, entries and notes."""

    def ask(self, sent: WebRequest) -> Sequence[WebResult]:
        """Return results in the order of the service.

        Raises:
            WebFault: the request failed.
        """

    def close(self) -> None:
        """Close its connections."""


class _JsonService:
    """A search service with a query in its address, called by one search at a time."""

    name: ClassVar[str]
    _label: ClassVar[str]

    def __init__(
        self, url: str, limit: int, user_agent: str, *, pause_s: float = 0.0, secrets: Sequence[str] = ()
    ) -> None:
        self._url, self._limit = url, limit
        self._calls = WebCalls(self._label, secrets=secrets, user_agent=user_agent)
        self._courtesy = Courtesy(pause_s)

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()

    def _answer(self, sent: WebRequest, **params: str) -> Answer:
        query = urlencode({"q": sent.query, "format": "json", **params}, errors="replace")
        url = f"{self._url}{'&' if '?' in self._url else '?'}{query}"
        with self._courtesy.turn(self.name, sent.ends_at):
            return self._calls.send("GET", url, timeout_s=sent.left_s, max_bytes=MAX_JSON_BYTES, headers=_JSON)


class SearXNG(_JsonService):
    """A SearXNG server; its address may end in ``/search``. It chooses engines and language that are None."""

    name, _label = "searxng", "SearXNG"

    def __init__(
        self, url: str, *, engines: str | None, language: str | None, limit: int, user_agent: str = USER_AGENT
    ) -> None:
        base = url.partition("#")[0].partition("?")[0].rstrip("/")
        password = urlsplit(url).password
        secrets = [unquote(password)] if password else []
        super().__init__(base if base.endswith("/search") else f"{base}/search", limit, user_agent, secrets=secrets)
        self._fixed = {name: value for name, value in (("engines", engines), ("language", language)) if value}

    def ask(self, sent: WebRequest) -> Sequence[WebResult]:
        """Return results; see `Backend`."""
        answer = self._answer(sent, **self._fixed)
        if answer.status == 403:
            raise WebFault("SearXNG answered 403", "add json to search.formats in its settings.yml")
        body = json_of(self._calls, "SearXNG", answer)
        results = body.get("results") if isinstance(body, Mapping) else None
        if not isinstance(results, list):
            raise WebFault("SearXNG sent JSON without results", "is searxng_url the address of a SearXNG server?")
        return list(islice(_results(results, self.name), self._limit))


class DuckDuckGo(_JsonService):
    """DuckDuckGo's instant answers: the abstract of a subject and related topics, grouped or not."""

    name, _label = "duckduckgo", "DuckDuckGo"

    def __init__(self, *, limit: int, pause_s: float, url: str = DUCKDUCKGO_URL, user_agent: str = USER_AGENT) -> None:
        super().__init__(url, limit, user_agent, pause_s=pause_s)

    def ask(self, sent: WebRequest) -> Sequence[WebResult]:
        """Return results; see `Backend`."""
        # Without no_redirect, a query such as "!w x" redirects to another service.
        body = json_of(self._calls, "DuckDuckGo", self._answer(sent, no_html="1", skip_disambig="1", no_redirect="1"))
        if not isinstance(body, Mapping):
            raise WebFault("DuckDuckGo sent JSON that is not an object")
        return list(islice(_results(_topics(body), self.name), self._limit))


def tavily_outcome(
    *,
    enabled: bool,
    on_empty: bool,
    on_weak: bool,
    local_empty: bool,
    quality: float,
    threshold: float,
    budget_remaining: int,
) -> Outcome:
    """Return the decision to call Tavily after the other corpora: if they are empty, or their evidence is weak."""
    if not (enabled and ((on_empty and local_empty) or (on_weak and quality < threshold))):
        return "off"
    return "call" if budget_remaining > 0 else "budget_exhausted"


def credits_of(search_depth: str) -> int:
    """Return the price of a call: 2 credits for the depth ``advanced``, 1 for any other."""
    return 2 if search_depth == "advanced" else 1


class CreditBudget:
    """A limited number of credits. Safe to share between threads and corpora.

    A forked child starts with the remaining credits, and counts separately from then on.

    Args:
        credits: the number of credits, 0 to 1,000,000.

    Raises:
        QueryError: the number is out of range.
    """

    def __init__(self, credits: int) -> None:
        self._left = whole(credits, "credits", QueryError, 0, MOST_CREDITS)
        self.after_fork()
        renew_in_children(self)

    def __repr__(self) -> str:
        return f"CreditBudget({self._left} left)"

    def after_fork(self) -> None:
        """Reset the lock in a forked child."""
        self._lock = Lock()

    @property
    def left(self) -> int:
        """Remaining credits."""
        return self._left

    def spend(self, credits: int) -> int | None:
        """Take credits before a call, and return the rest; None, without taking any, if too few remain."""
        with self._lock.hold():
            if credits > self._left:
                return None
            self._left -= credits
            return self._left


class Tavily:
    """Tavily, a paid service; ``key`` returns the key, or None, and is called for each request."""

    name = "tavily"

    def __init__(
        self,
        key: Callable[[], str | None],
        *,
        depth: str,
        limit: int,
        budget: CreditBudget,
        url: str = TAVILY_URL,
        user_agent: str = USER_AGENT,
    ) -> None:
        self._key = key
        self._body = {"search_depth": depth, "max_results": limit}
        self._price = credits_of(depth)
        self._limit, self._url, self._user_agent = limit, url, user_agent
        self._opened: tuple[str, WebCalls] | None = None
        self.budget = budget

    def ask(self, sent: WebRequest) -> Sequence[WebResult]:
        """Return results; see `Backend`. A sent request is paid for, even if it fails."""
        calls = self._authorised()
        remaining = self.budget.spend(self._price)
        if remaining is None:
            cause = f"Tavily was not called: {self.budget.left} credits remain, a search costs {self._price}"
            note = Note("tavily_budget_exhausted", cause, _BUDGET)
            raise WebFault(cause, _BUDGET, sent=False, note=note)
        if remaining <= LOW_CREDITS:
            sent.notes.append(Note("tavily_budget_low", f"{remaining} credits remain for Tavily", _BUDGET))
        body = json.dumps({"query": sent.query, **self._body}).encode()
        headers = {**_JSON, "content-type": "application/json"}
        answer = calls.send(
            "POST", self._url, timeout_s=sent.left_s, max_bytes=MAX_JSON_BYTES, headers=headers, body=body
        )
        reply = json_of(calls, "Tavily", answer)
        results = reply.get("results") if isinstance(reply, Mapping) else None
        if not isinstance(results, list):
            raise WebFault("Tavily sent JSON without results")
        return list(islice(_results(results, self.name), self._limit))

    def close(self) -> None:
        """Close the connections."""
        if self._opened is not None:
            self._opened[1].close()

    def _authorised(self) -> WebCalls:
        from septet.net.calls import bearer

        try:
            text = (self._key() or "").strip()
            fault = "it has no key" if not text else ""
        except Exception as error:  # noqa: BLE001 - foreign code, whose message may hold the key
            text, fault = "", f"the resolver of its key raised {type(error).__name__}"
        if not fault and (not text.isascii() or not text.isprintable() or " " in text):
            fault = "its key has characters that are invalid in a header"
        if fault:
            cause = f"Tavily was not called: {fault}"
            note = Note("tavily_no_key", cause, "set TAVILY_API_KEY")
            raise WebFault(note.cause, note.cure, sent=False, note=note)
        if self._opened is None or self._opened[0] != text:
            self._opened = text, WebCalls("Tavily", secrets=[text], authorise=bearer, user_agent=self._user_agent)
        return self._opened[1]


class OwnSearch:
    """An application's function, called on a thread; see `WebSearch`."""

    name = "web"

    def __init__(self, search: WebSearch, *, limit: int) -> None:
        self._search, self._limit = search, limit
        #: Abandoned calls.
        self._late: dict[Future[list[Any]], None] = {}

    def ask(self, sent: WebRequest) -> Sequence[WebResult]:
        """Return results; see `Backend`."""
        query, limit = sent.query, self._limit
        left_s = sent.left_s
        for call in list(self._late):
            if call.done():
                self._late.pop(call, None)
        if len(self._late) >= MOST_LATE:
            raise WebFault("the web search is still running earlier calls", sent=False)
        try:
            future = call_on_thread(lambda: list(islice(self._search(query, limit), limit)), "septet-web")
            if not wait([future], left_s).done:
                self._late[future] = None
                raise WebFault(f"the web search gave no answer within {left_s:.3g} s")
            results = future.result()
        except WebFault:
            raise
        except Exception as fault:  # noqa: BLE001 - foreign code
            # The message is omitted: it may contain a key.
            raise WebFault(f"the web search raised {type(fault).__name__}") from None
        bad = next((item for item in results if not isinstance(item, (Mapping, WebResult))), None)
        if bad is not None:
            raise WebFault(f"the web search returned {shown(bad)}: wanted dicts with url, title and text")
        return list(_results(results, self.name))

    def close(self) -> None:
        """Do nothing: it has no connections."""


_BUDGET = "raise tavily_credit_budget_per_session"
_JSON = {"accept": "application/json"}


def _results(items: Iterable[Any], backend: str) -> Iterator[WebResult]:
    """Yield the valid results of a service, skipping items without a page's address."""
    for item in items:
        fields = item._asdict() if isinstance(item, WebResult) else item
        if not isinstance(fields, Mapping):
            continue
        url = usable_url(fields.get("url"))
        if url is None:
            continue
        text = next((passage for name in _TEXTS if (passage := _text(fields.get(name), MOST_TEXT_CHARS))), "")
        title = _text(fields.get("title"), MOST_TITLE_CHARS) or host_of(url)
        engine = _text(fields.get("engine"), 100) or backend
        yield WebResult(url, title, text, engine, _score(fields.get("score")))


_TEXTS = ("text", "content", "snippet", "description")


def _text(value: object, most: int) -> str:
    return " ".join(encodable(value[: 4 * most]).replace("\0", " ").split())[:most] if isinstance(value, str) else ""


def _score(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _topics(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the abstract, the results and the topics of a DuckDuckGo response, with groups expanded in place."""
    if answer.get("AbstractURL") and answer.get("AbstractText"):
        text, title = answer["AbstractText"], answer.get("Heading")
        yield {"url": answer["AbstractURL"], "title": title, "text": text, "engine": answer.get("AbstractSource")}
    listed = [answer.get(name) for name in ("Results", "RelatedTopics")]
    waiting = [item for group in listed if isinstance(group, list) for item in group[:MOST_TOPICS]][::-1]
    for _ in range(MOST_TOPICS):
        if not waiting:
            return
        topic = waiting.pop()
        if not isinstance(topic, Mapping):
            continue
        inner = topic.get("Topics")
        if isinstance(inner, list):
            waiting += inner[:MOST_TOPICS][::-1]
        elif isinstance(text := topic.get("Text"), str):
            # The text is "Title - description".
            yield {"url": topic.get("FirstURL"), "title": text.partition(" - ")[0], "text": text}
