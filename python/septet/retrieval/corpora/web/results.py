"""Results of web searches: which are the same page, which comes first, and how good they are together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["WebResult", "authority", "canonical_key", "host_of", "ranked", "searxng_engines", "searxng_language"]
__all__ += ["web_quality"]

_SCHEMES = re.compile(r"(?:\s*https?://)+\s*")
#: What a result counts whose service gave it no score.
UNSCORED = 0.5
#: Public bodies and universities, by the end of the host's name.
_OFFICIAL, _OFFICIAL_FACTOR = (".gov", ".edu"), 1.25
#: Places of papers, references and sources. Their front pages are none.
_REFERENCE = ("arxiv.org", "doi.org", "pubmed.ncbi.nlm.nih.gov", "docs.rs", "github.com")
_REFERENCE_FACTOR = 1.15
#: So many different sources count in full.
FULL_SOURCES = 8
_TOP_WEIGHT, _SOURCES_WEIGHT = 0.7, 0.3
_ENGINES, _MOST_ENGINES_CHARS = re.compile(r"[A-Za-z0-9,_-]+"), 256
_LANGUAGE, _MOST_LANGUAGE_CHARS = re.compile(r"[A-Za-z0-9-]+"), 16


class WebResult(NamedTuple):
    """One result of a web search.

    Attributes:
        url: as the service gave it.
        text: what the service shows of the page.
        engine: who found it.
        score: as the service gave it; None if it gave none.
    """

    url: str
    title: str = ""
    text: str = ""
    engine: str = ""
    score: float | None = None


def canonical_key(url: str) -> str:
    """Return what two addresses of the same page share: no scheme, query, fragment and last slash, in lower case.

    Only http and https are taken off. A key is its own key.
    """
    key = url.strip().lower()
    while True:
        found = _SCHEMES.match(key)
        shorter = (key if found is None else key[found.end() :]).partition("#")[0].partition("?")[0]
        shorter = shorter.strip().rstrip("/").strip()
        if shorter == key:
            return key
        key = shorter


def host_of(url: str) -> str:
    """Return the host that an address names, in lower case, without user and port; empty if it names none."""
    rest = url.strip().lower().replace("\\", "/")
    rest = rest.partition("://")[2] if "://" in rest else rest
    host = re.split(r"[/?#]", rest, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].rstrip(".")


def authority(url: str) -> float:
    """Return what a result's score is multiplied by: 1.25 for .gov and .edu, 1.15 for a page of arXiv, DOI, PubMed,
    docs.rs or GitHub, 1 for all others.
    """
    host = host_of(url)
    if host.endswith(_OFFICIAL):
        return _OFFICIAL_FACTOR
    if "/" in canonical_key(url) and any(host == known or host.endswith("." + known) for known in _REFERENCE):
        return _REFERENCE_FACTOR
    return 1.0


def ranked(results: Iterable[WebResult]) -> list[WebResult]:
    """Return the first result of each page, by score x authority; equals keep their order, scores stay as they are."""
    first: dict[str, WebResult] = {}
    for result in results:
        first.setdefault(canonical_key(result.url), result)
    return sorted(first.values(), key=lambda result: -scored(result) * authority(result.url))


def scored(result: WebResult) -> float:
    """Return the score of a result, 0.5 where it has none."""
    return UNSCORED if result.score is None or not math.isfinite(result.score) else result.score


def web_quality(top_score: float, unique_sources: int) -> float:
    """Return how good the results of a web search are, 0 to 1: 0.7 x best score + 0.3 x sources / 8, at most 8."""
    top = min(max(top_score, 0.0), 1.0) if math.isfinite(top_score) else 0.0
    return _TOP_WEIGHT * top + _SOURCES_WEIGHT * min(max(unique_sources, 0) / FULL_SOURCES, 1.0)


def searxng_engines(given: str) -> str | None:
    """Return the engines to ask of SearXNG: ASCII letters, digits, comma, ``_``, ``-``, at most 256; None otherwise."""
    return _only(given, _ENGINES, _MOST_ENGINES_CHARS)


def searxng_language(given: str) -> str | None:
    """Return the language to ask of SearXNG for: ASCII letters, digits, ``-``, at most 16; None otherwise."""
    return _only(given, _LANGUAGE, _MOST_LANGUAGE_CHARS)


def _only(given: str, known: re.Pattern[str], most: int) -> str | None:
    text = given.strip()
    return text if len(text) <= most and known.fullmatch(text) else None
