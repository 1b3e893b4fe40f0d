"""What reads messages of other programs in the middle of a service: requests to a server, answers of web searches."""

from __future__ import annotations

import asyncio
import json
import time

import httpx

import septet
from mutating import Target, changed_json
from septet.net.calls import Answer
from septet.retrieval.corpora.web.backends import DuckDuckGo, SearXNG, WebRequest
from septet.retrieval.corpora.web.calls import WebFault
from septet.server.app import make_app
from septet.server.settings import Settings
from septet.service.served import Served

__all__ = ["SERVICES"]

WORDS = """
"id": "title": "query": "where": "$or": "$in": "$gt": "limit": "tags": null true [] {} 1e999 -1 "\\ud800" "" NaN "a"
""".split()
CALL = {"name": "search", "arguments": {"query": "alpha"}}
ASKED = {
    "/v1/search": {
        "query": "alpha beta",
        "limit": 3,
        "where": {"$or": [{"tags": "x"}, {"attrs.n": {"$gt": 1}}]},
        "query_vector": [1.0, 0.5],
        "facets": ["domain"],
        "words": {"must": ["alpha"]},
        "profile": "septet",
        "max_tokens": 90,
    },
    "/v1/search_many": {"queries": ["alpha", "beta"], "limit": 2},
    "/v1/retrieve": {"query": "alpha", "limit": 2},
    "/v1/recall": {"query": "alpha", "limit": 2},
    "/v1/explain": {"query": "alpha", "id": "e1"},
    "/v1/entries": {"id": "new", "title": "t", "tags": ["a"], "attrs": {"n": [1, {"a": None}]}, "vector": [1.0, 2.0]},
    "/v1/context": {"query": "alpha", "max_tokens": 200},
    "/v1/similar": {"id": "e1", "limit": 2},
    "/v1/list": {"where": {"tags": "x"}, "order_by": ["title", "desc"], "limit": 3},
    "/v1/facets": {"field": "created_at", "by": "day"},
    "/v1/update_many": {"where": {"attrs.n": 1}, "merge_attrs": {"m": 2}},
    "/v1/delete": {"where": {"attrs.n": 3}},
    "/v1/memories": {"text": "something", "topics": ["a"], "on_similar": "merge"},
    "/v1/supersede": {"old": "e1", "new": {"title": "new"}},
    "/v1/links": {"source": "e1", "target": "e2", "type": "cites", "note": "n"},
    "/v1/feedback": {"query": "alpha", "id": "e1", "action": "accepted"},
    "/v1/tier": {"method": "search", "plans": [{}]},
    "/mcp": {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": "a"}},
    },
}
ANSWERS = [
    {
        "results": [
            {"url": "https://example.org/a", "title": "A", "content": "text", "engine": "e", "score": 1.5},
            {"url": "http://[::1]/", "title": None, "snippet": "<b>x</b>"},
        ]
    },
    {
        "AbstractURL": "https://example.org/",
        "AbstractText": "text",
        "Heading": "H",
        "AbstractSource": "S",
        "RelatedTopics": [
            {"FirstURL": "https://example.org/b", "Text": "b", "Result": "<a>b</a>"},
            {"Name": "group", "Topics": [{"FirstURL": "https://example.org/c", "Text": "c"}]},
        ],
        "Results": [],
    },
]


class Requests:
    """A server in this process, made when it is first asked."""

    app = None

    def __call__(self, data, folder, chance):
        """Send the bytes as the body of a request, which is answered or refused, but is no fault of the server."""
        if self.app is None:
            vault = septet.Vault(":memory:")
            vault.add_many({"id": f"e{n}", "title": f"alpha {n}", "attrs": {"n": n}, "tags": ["x"]} for n in range(9))
            # MCP goes on in the loop that it was first asked in.
            self.loop = asyncio.new_event_loop()
            self.app = make_app(Served(vault), Settings(), None)
        path, verb = chance.choice([*ASKED]), chance.choice(["POST", "POST", "POST", "PATCH", "DELETE", "GET"])
        if chance.random() < 0.5:
            data = changed_json(json.dumps(ASKED[path]).encode(), chance)
        if verb != "POST":
            path = f"/v1/entries/{chance.choice(['e1', '%00', '%ff', 'e1/links', '../stats'])}"
        status, body = self.loop.run_until_complete(self._sent(verb, path, data))
        assert status < 500, f"{verb} {path}: {status} {body[:300]!r}"

    async def _sent(self, verb, path, data):
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            found = await client.request(verb, path, content=data, headers={"content-type": "application/json"})
            return found.status_code, found.content


def searches(data, folder, chance):
    """Answer a question to a search service with the bytes."""
    backend = chance.choice(
        [
            lambda: SearXNG("http://127.0.0.1:9/", engines=None, language=None, limit=9),
            lambda: DuckDuckGo(limit=9, pause_s=0.0),
        ]
    )()
    status = chance.choice([200] * 9 + [403, 429, 500])
    backend._calls.send = lambda *_, **__: Answer(status, {}, data)
    try:
        for found in backend.ask(WebRequest("alpha", time.monotonic() + 60, [])):
            json.dumps(found._asdict()).encode()
    finally:
        backend.close()


SERVICES = [
    Target("requests", [json.dumps(one).encode() for one in ASKED.values()], WORDS, Requests(), few=40),
    Target(
        "web searches",
        [json.dumps(one).encode() for one in ANSWERS],
        WORDS,
        searches,
        (WebFault,),
        wrong=changed_json,
    ),
]
