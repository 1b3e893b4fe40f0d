"""A server on loopback that is SearXNG, DuckDuckGo, Tavily and the web behind them, and fails when it is told to."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from embedding_server import EmbeddingServer, Reply, Request

TAVILY_KEY = "tvly-planted-0123456789abcdef"
Page = Reply | Callable[[Request], Reply]


def html(text: str, title: str = "A page", **headers: str) -> Reply:
    """Return a page with a title and a paragraph."""
    body = f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>"
    kind = {"content-type": "text/html; charset=utf-8"}
    return Reply(200, body.encode(), kind | {name.replace("_", "-"): value for name, value in headers.items()})


def redirect(target: str, status: int = 302) -> Reply:
    return Reply(status, b"", {"location": target, "content-type": "text/html"})


class WebServer(EmbeddingServer):
    """Answers ``/search`` as SearXNG, ``/ddg`` as DuckDuckGo, ``/tavily`` as Tavily, and everything else with pages.

    Attributes:
        found: by service, the results that it gives; each a dict with ``url``, ``title``, ``content`` and ``score``.
        topics: what DuckDuckGo gives in place of results, as its answer has them.
        pages: by path; what is none is answered with 404.
        most_at_once: how many requests were worked on at once, at most.
    """

    def __init__(self) -> None:
        super().__init__(keys=(TAVILY_KEY,))
        self.found: dict[str, list[Mapping[str, Any]]] = {"searxng": [], "duckduckgo": [], "tavily": []}
        self.topics: dict[str, Any] = {}
        self.pages: dict[str, Page] = {}
        self.most_at_once = self._at_once = 0
        self._broken: dict[str, deque[Reply]] = {}
        self._counting = threading.Lock()

    def fail(self, service: str, *replies: Reply) -> None:
        """Let the next questions to a service be answered so."""
        self._broken.setdefault(service, deque()).extend(replies)

    def asked(self, service: str) -> list[Request]:
        """Return the questions that a service was asked."""
        return [one for one in self.requests if service_of(one) == service]

    def paths(self) -> list[str]:
        """Return the pages that were asked for, in order."""
        return [one.path for one in self.asked("page")]

    def answer(self, request: Request) -> Reply:
        with self._counting:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self._answered(request)
        finally:
            with self._counting:
                self._at_once -= 1

    def _answered(self, request: Request) -> Reply:
        service = service_of(request)
        with self._counting:
            broken = self._broken.get(service)
            if broken:
                return broken.popleft()
        if service == "searxng":
            listed = [{"engine": "google", "engines": ["google"], **one} for one in self.found[service]]
            return Reply(200, {"query": query_of(request), "results": listed, "suggestions": []})
        if service == "duckduckgo":
            related = [{"FirstURL": one["url"], "Text": one.get("content", "")} for one in self.found[service]]
            shown = {"Heading": "", "AbstractText": "", "AbstractURL": "", "Results": [], "RelatedTopics": related}
            # It says that JSON is JavaScript.
            return Reply(200, {**shown, **self.topics}, {"content-type": "application/x-javascript"})
        if service == "tavily":
            if request.headers.get("authorization") != f"Bearer {TAVILY_KEY}":
                return Reply(401, {"detail": {"error": f"no such key: {request.headers.get('authorization')}"}})
            return Reply(200, {"query": request.json()["query"], "results": self.found[service]})
        page = self.pages.get(request.path, Reply(404, b"<p>no such page</p>", {"content-type": "text/html"}))
        return page if isinstance(page, Reply) else page(request)


def service_of(request: Request) -> str:
    """Return whom a request asks."""
    known = {"/search": "searxng", "/ddg": "duckduckgo", "/tavily": "tavily"}
    return known.get(urlsplit(request.path).path, "page")


def query_of(request: Request) -> str:
    """Return what a service was asked."""
    if request.method == "POST":
        return str(request.json()["query"])
    return values_of(request)["q"]


def values_of(request: Request) -> dict[str, str]:
    """Return the parameters of a request."""
    return {name: values[0] for name, values in parse_qs(urlsplit(request.path).query).items()}


def results(*urls: str, score: float | None = None) -> list[Mapping[str, Any]]:
    """Return results as SearXNG and Tavily give them."""
    return [{"url": url, "title": f"About {url}", "content": f"What {url} says", "score": score} for url in urls]


def urls_of(lists: Sequence[Any]) -> list[str]:
    """Return the addresses of the hits of lists."""
    return [str(item.hit.source) for one in lists for item in one.items]
