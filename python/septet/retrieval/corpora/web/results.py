"""Results of web searches: their identity, order and quality."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

_SCHEMES = re.compile(r"(?:\s*https?://)+\s*")
#: Score of a result without one.
UNSCORED = 0.5
#: Hosts of public bodies and universities, by suffix.
_OFFICIAL, _OFFICIAL_FACTOR = (".gov", ".edu"), 1.25
#: Hosts of papers, references and sources; front pages do not count.
_REFERENCE = ("arxiv.org", "doi.org", "pubmed.ncbi.nlm.nih.gov", "docs.rs", "github.com")
_REFERENCE_FACTOR = 1.15
#: The number of distinct sources for full quality.
FULL_SOURCES = 8
_TOP_WEIGHT, _SOURCES_WEIGHT = 0.7, 0.3
_ENGINES, _MOST_ENGINES_CHARS = re.compile(r"[A-Za-z0-9,_-]+"), 256
_LANGUAGE, _MOST_LANGUAGE_CHARS = re.compile(r"[A-Za-z0-9-]+"), 16


class WebResult(NamedTuple):
    """One result of a web search.

    Attributes:
        url: the address, from the service.
        text: the service's excerpt of the page.
        engine: the search engine.
        score: the service's score; None if it has none.
    """

    url: str
    title: str = ""
    text: str = ""
    engine: str = ""
    score: float | None = None


def canonical_key(url: str) -> str:
    """Return the key of a page: its address without scheme, query, fragment and last slash, in lower case.

    Only http and https are removed. A key is its own key.
    """
    key = url.strip().lower()
    while True:
        match = _SCHEMES.match(key)
        shorter = (key if match is None else key[match.end() :]).partition("#")[0].partition("?")[0]
        shorter = shorter.strip().rstrip("/").strip()
        if shorter == key:
            return key
        key = shorter


def host_of(url: str) -> str:
    """Return the host of an address, in lower case, without user and port; empty if it has none."""
    rest = url.strip().lower().replace("\\", "/")
    rest = rest.partition("://")[2] if "://" in rest else rest
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].rstrip(".")


def authority(url: str) -> float:
    """Return the factor of a score: 1.25 for .gov and .edu, 1.15 for arXiv, DOI, PubMed, docs.rs, GitHub, or 1."""
    host = host_of(url)
    if host.endswith(_OFFICIAL):
        return _OFFICIAL_FACTOR
    if "/" in canonical_key(url) and any(host == known or host.endswith("." + known) for known in _REFERENCE):
        return _REFERENCE_FACTOR
    return 1.0


def ranked(results: Iterable[WebResult]) -> list[WebResult]:
    """Return the first result of each page, by score x authority; ties keep their order, scores are unchanged."""
    first: dict[str, WebResult] = {}
    for result in results:
        first.setdefault(canonical_key(result.url), result)
    return sorted(first.values(), key=lambda result: -scored(result) * authority(result.url))


def scored(result: WebResult) -> float:
    """Return the score of a result, 0.5 if it has none."""
    return UNSCORED if result.score is None or not math.isfinite(result.score) else result.score


def web_quality(top_score: float, unique_sources: int) -> float:
    """Return the quality of web results, 0 to 1: 0.7 x best score + 0.3 x sources / 8, with at most 8 sources."""
    top = min(max(top_score, 0.0), 1.0) if math.isfinite(top_score) else 0.0
    return _TOP_WEIGHT * top + _SOURCES_WEIGHT * min(max(unique_sources, 0) / FULL_SOURCES, 1.0)


def searxng_engines(text: str) -> str | None:
    """Return SearXNG's engines if valid: ASCII letters, digits, comma, ``_``, ``-``, at most 256; else None."""
    return _only(text, _ENGINES, _MOST_ENGINES_CHARS)


def searxng_language(text: str) -> str | None:
    """Return SearXNG's language if valid: ASCII letters, digits, ``-``, at most 16; else None."""
    return _only(text, _LANGUAGE, _MOST_LANGUAGE_CHARS)


def _only(value: str, pattern: re.Pattern[str], most: int) -> str | None:
    text = value.strip()
    return text if len(text) <= most and pattern.fullmatch(text) else None
