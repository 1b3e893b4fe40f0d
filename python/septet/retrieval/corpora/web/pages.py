"""Pages: reads the text of search results' pages, politely and within limits."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Iterable
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from septet._core import Lock
from septet.retrieval.corpora.web.calls import (
    USER_AGENT,
    WebCalls,
    WebFault,
    faulty,
    public_addresses,
    split_page_url,
    usable_url,
)
from septet.retrieval.corpora.web.courtesy import (
    MAX_ROBOTS_BYTES,
    NOTHING,
    Courtesy,
    Robots,
    expect_protego,
    robots_of,
)
from septet.retrieval.corpora.web.html_text import PageText, decoded, text_of_html
from septet.retrieval.corpora.web.results import WebPage
from septet.system.forks import renew_in_children
from septet.system.threads import call_on_thread

if TYPE_CHECKING:
    from septet.net.calls import Answer

#: RFC 9309 requires at least five redirects.
MOST_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
#: Lifetime of a robots.txt, and of a failure to read it.
_ROBOTS_S, _CLOSED_S = 86_400.0, 60.0
MOST_ROBOTS = 256
#: Maximum concurrent pages.
MOST_AT_ONCE = 8
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_PLAIN = frozenset({"text/plain", "text/markdown", "text/x-rst"})
_HEADERS = {"accept": "text/html,application/xhtml+xml,text/plain;q=0.9,text/markdown;q=0.9"}


class PageRules(NamedTuple):
    """Limits and manners of reading pages.

    Attributes:
        timeout_s: for one page, including its redirects and its robots.txt.
        max_bytes: maximum size of a page.
        max_chars: maximum characters of its text.
        min_density: minimum share of text in a page.
        robots: True to obey robots.txt.
        pause_s: pause of a host after each response.
        allow_private: True to read pages at private addresses.
        user_agent: the User-Agent of requests.
    """

    timeout_s: float = 5.0
    max_bytes: int = 2 * 2**20
    max_chars: int = 20_000
    min_density: float = 0.15
    robots: bool = True
    pause_s: float = 0.5
    allow_private: bool = False
    user_agent: str = USER_AGENT


class PageReader:
    """Reads pages. Safe to share between threads; it keeps connections, and the rules of hosts.

    Raises:
        QueryError: robots.txt is to be obeyed, and the package that reads it is not installed.
    """

    def __init__(self, rules: PageRules) -> None:
        if rules.robots:
            expect_protego()
        self._rules = rules
        resolve = None if rules.allow_private else public_addresses
        self._calls = WebCalls("the page", user_agent=rules.user_agent, resolve=resolve)
        self._courtesy = Courtesy(rules.pause_s)
        self._robots: OrderedDict[str, tuple[float, Robots]] = OrderedDict()
        self.after_fork()
        renew_in_children(self)

    def after_fork(self) -> None:
        """Reset the lock and the pending fetches in a forked child."""
        self._lock = Lock()
        self._fetched: dict[str, Future[Robots]] = {}

    def close(self) -> None:
        """Close the connections."""
        self._calls.close()

    def read(self, url: str, timeout_s: float) -> WebPage:
        """Return the text of a page."""
        rules = self._rules
        ends_at = time.monotonic() + min(timeout_s, rules.timeout_s)
        url, answer = self._followed(url, ends_at, rules.max_bytes, _HEADERS, keeps_robots=rules.robots)
        if not 200 <= answer.status < 300:
            raise faulty("the page", answer)
        content_type = answer.headers.get("content-type", "")
        kind = content_type.partition(";")[0].strip().lower()
        if kind not in _HTML | _PLAIN and (kind or not answer.body.lstrip()[:1] == b"<"):
            raise WebFault(f"the page is of the kind {kind[:80]!r}")
        text = decoded(answer.body, content_type)
        if kind in _PLAIN:
            page = PageText("", text.strip()[: rules.max_chars], 1.0)
        else:
            page = text_of_html(text, rules.max_chars, ends_at)
        if not page.text:
            raise WebFault("the page has no text")
        if page.density < rules.min_density:
            raise WebFault(f"only {page.density:.2f} of the page is text: wanted {rules.min_density:g}")
        return WebPage(url, page.title, page.text)

    def read_all(self, urls: Iterable[str], ends_at: float) -> tuple[dict[str, WebPage], list[str]]:
        """Return the pages read in time, by address, and the causes for the others; eight pages at a time."""
        waiting = deque(urls)
        pages: dict[str, WebPage] = {}
        faults: list[str] = []

        def serve() -> None:
            while True:
                left_s = ends_at - time.monotonic()
                try:
                    url = waiting.popleft()
                except IndexError:
                    return
                try:
                    if left_s <= 0:
                        raise WebFault("the deadline passed")
                    pages[url] = self.read(url, left_s)
                except WebFault as fault:
                    faults.append(fault.cause)

        threads = []
        for _ in range(min(MOST_AT_ONCE, len(waiting))):
            # If no thread can be started, the others read its share.
            with suppress(RuntimeError):
                threads.append(call_on_thread(serve, "septet-web-page"))
        late = wait(threads, max(0.0, ends_at - time.monotonic())).not_done
        waiting.clear()
        return dict(pages), [*faults, *["the deadline passed"] * len(late)]

    def _followed(
        self, url: str, ends_at: float, max_bytes: int, headers: dict[str, str], *, keeps_robots: bool
    ) -> tuple[str, Answer]:
        """Return the final address and the response, following redirects."""
        for _ in range(1 + MOST_REDIRECTS):
            origin, host, path = split_page_url(url)
            delay_s = 0.0
            if keeps_robots:
                robots = self._robots_of(origin, ends_at)
                if not robots.allows(path):
                    raise WebFault(f"robots.txt of {host} disallows it", sent=False)
                delay_s = robots.delay_s
            answer = self._answer(url, host, ends_at, max_bytes, headers, delay_s)
            target = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not target:
                return url, answer
            try:
                url = usable_url(urljoin(url, target.strip())) or "about:blank"
            except ValueError:
                url = "about:blank"
        raise WebFault(f"the page has more than {MOST_REDIRECTS} redirects")

    def _answer(
        self, url: str, host: str, ends_at: float, max_bytes: int, headers: dict[str, str], delay_s: float
    ) -> Answer:
        if not self._rules.allow_private:
            # Imported late: the import takes longer than the rest of the call.
            from urllib.request import getproxies

            if getproxies().keys() & {"http", "https", "all"}:
                # A proxy would resolve the name itself, and could reach private addresses.
                public_addresses(host, 80)
        with self._courtesy.turn(host, ends_at):
            left_s = ends_at - time.monotonic()
            if left_s <= 0:
                raise WebFault("the deadline passed before the request", sent=False)
            answer = self._calls.send("GET", url, timeout_s=left_s, max_bytes=max_bytes, headers=headers)
        wait_s = faulty("the page", answer).wait_s if answer.status in (429, 503) else None
        if wait_s or delay_s:
            self._courtesy.leave_alone(host, max(wait_s or 0.0, delay_s))
        return answer

    def _robots_of(self, origin: str, ends_at: float) -> Robots:
        """Return the rules of a host; one thread fetches them, the others wait."""
        with self._lock.hold():
            until, known = self._robots.get(origin, (0.0, NOTHING))
            if time.monotonic() < until:
                self._robots.move_to_end(origin)
                return known
            others, fetched = self._fetched.get(origin), Future[Robots]()
            if others is None:
                self._fetched[origin] = fetched
        if others is not None:
            if not wait([others], max(0.0, ends_at - time.monotonic())).done or others.exception() is not None:
                raise WebFault(f"robots.txt of {origin} was not there in time", sent=False)
            return others.result()
        try:
            robots = self._fetch_robots(origin, ends_at)
            fetched.set_result(robots)
        except BaseException:
            fetched.set_exception(WebFault("it was not fetched"))
            raise
        finally:
            with self._lock.hold():
                self._fetched.pop(origin, None)
        return robots

    def _fetch_robots(self, origin: str, ends_at: float) -> Robots:
        """Return the rules of a host: none if it has no file; nothing may be read after another error."""
        robots = NOTHING
        try:
            _, answer = self._followed(
                f"{origin}/robots.txt", ends_at, MAX_ROBOTS_BYTES, {"accept": "text/plain"}, keeps_robots=False
            )
            if 200 <= answer.status < 300:
                robots = robots_of(answer.body, self._rules.user_agent)
            elif 400 <= answer.status < 500 and answer.status != 429:
                robots = Robots()
        except WebFault as fault:
            if not fault.sent:
                raise
        keep_s = _CLOSED_S if robots.closed else _ROBOTS_S
        with self._lock.hold():
            self._robots[origin] = time.monotonic() + keep_s, robots
            if len(self._robots) > MOST_ROBOTS:
                self._robots.popitem(last=False)
        return robots
