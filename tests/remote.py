"""Vaults and clients that hold the same, for tests of both."""

from __future__ import annotations

import json

import httpx
import numpy as np

__all__ = ["DIMENSIONS", "OPTIONS", "QUERIES", "Faulty", "answer", "filled", "told"]

DIMENSIONS = 16
WORDS = "alpha beta gamma delta epsilon vault search index vector fusion rank token query engine tier remote".split()
QUERIES = ["vault search", "alphq gamma", "-beta vault eng"]
VECTOR = [1.0, *([0.25] * (DIMENSIONS - 1))]
OPTIONS = [
    {},
    {"limit": 3},
    {"query_vector": VECTOR},
    {"query_vector": VECTOR, "legs": "vector"},
    {"query_vector": VECTOR, "diversity": 0.3},
    {"include_memories": True},
    {"kinds": "memory"},
    {"mode": "scan"},
    {"domain": "alpha", "boost_tags": ["beta"]},
    {
        "where": {
            "$or": [{"domain": {"$in": ["alpha", "beta"]}}, {"attrs.n": {"$gt": 10}}],
            "severity": {"$lt": "critical"},
        }
    },
    {"words": {"must": "vault", "must_not": ["beta", "gamma"]}},
    {"words": {"phrase": "alpha beta"}},
    {"words": {"must": ["vault", "nonexistent"]}, "where": {"attrs.n": {"$gt": "5"}}},
    {"words": {"prefix": True}},
    {"syntax": "web"},
    {"facets": ["domain", "kind", "tags"]},
    {"group_by": "parent"},
    {"limit": 4, "offset": 6},
    {"max_tokens": 60},
    {"profile": "seven-signals"},
    {"profile": "markdown-memory"},
    {"profile": "planned-retrieval"},
    {"profile": {"extends": "septet", "name": "mine", "cuts": {"limit": 5}}},
    {"min_confidence": 0.2, "timeout_s": 20},
]


def filled(vault, count=120, first=0, seed=1):
    """Fill a vault with entries, memories, vectors and links, the same ones for the same arguments."""
    random = np.random.default_rng(seed)
    items = []
    for number in range(first, first + count):
        words = [WORDS[at] for at in random.integers(0, len(WORDS), 12)]
        item = {"id": f"e{number}", "title": " ".join(words[:4]), "description": " ".join(words[4:]), "tags": words[:2]}
        item |= {"domain": words[0], "attrs": {"n": number % 30}, "kind": "memory" if number % 11 == 0 else "entry"}
        item |= {"severity": ("critical", "warning", "suggestion")[number % 3], "source": f"file://{words[1]}"}
        if number % 5 == 0:
            item |= {"parent": f"e{number - number % 10}", "span": {"path": "a.md", "first_line": 1, "last_line": 4}}
        if number % 7:
            item["vector"] = random.normal(size=DIMENSIONS).astype(np.float32)
        items.append(item)
    vault.add_many(items)
    vault.link_many(
        [
            (f"e{n}", f"e{first + (n * 7) % count}")
            for n in range(first + 1, first + count, 4)
            if n != first + (n * 7) % count
        ]
    )
    return vault


def told(results):
    """What a search tells, without what it took."""
    said = json.loads(json.dumps(results.to_dict()))
    said.pop("took_ms", None)
    for tier in said.get("tiers", ()):
        tier.pop("took_ms")
    return said


class Faulty(httpx.BaseTransport):
    """Sends requests on, but for those of which ``fault`` has something else to say.

    Args:
        fault: called with the request and what it asks; gives a response, raises, or returns None.
    """

    def __init__(self, fault):
        self.fault, self.inner, self.seen = fault, httpx.HTTPTransport(), []

    def handle_request(self, request):
        asked = json.loads(request.read() or b"{}") if b"\n" not in request.content else {}
        self.seen.append((request, asked))
        found = self.fault(request, asked)
        return self.inner.handle_request(request) if found is None else found

    def close(self):
        self.inner.close()


def answer(value, status=200):
    """A response of JSON."""
    return httpx.Response(status, json=value)
