"""Results of web searches: their identity, order and quality, and their entries, which are untrusted and masked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import urlsplit

from septet.errors import EntryError
from septet.files.redaction import Redactor
from septet.model.drafts import draft
from septet.model.entry import Entry

_SCHEMES = re.compile(r"(?:\s*https?://)+\s*")
#: Score of a result without one.
UNSCORED = 0.5
#: Hosts of public bodies and universities, by suffix.
_OFFICIAL, _OFFICIAL_FACTOR = (".gov", ".edu"), 1.25
#: Hosts of papers, references and sources; front pages do not count.
_REFERENCE = ("arxiv.org", "doi.org", "pubmed.ncbi.nlm.nih.gov", "docs.rs", "github.com")
_REFERENCE_FACTOR = 1.15
_ENGINES, _MOST_ENGINES_CHARS = re.compile(r"[A-Za-z0-9,_-]+"), 256
_LANGUAGE, _MOST_LANGUAGE_CHARS = re.compile(r"[A-Za-z0-9-]+"), 16


KIND = "web"
TAVILY = "tavily"
DAY_S = 86_400.0


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


class WebPage(NamedTuple):
    """The text of a page.

    Attributes:
        url: its final address, after redirects.
    """

    url: str
    title: str
    text: str


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


def searxng_engines(text: str) -> str | None:
    """Return SearXNG's engines if valid: ASCII letters, digits, comma, ``_``, ``-``, at most 256; else None."""
    return _only(text, _ENGINES, _MOST_ENGINES_CHARS)


def searxng_language(text: str) -> str | None:
    """Return SearXNG's language if valid: ASCII letters, digits, ``-``, at most 16; else None."""
    return _only(text, _LANGUAGE, _MOST_LANGUAGE_CHARS)


def _only(value: str, pattern: re.Pattern[str], most: int) -> str | None:
    text = value.strip()
    return text if len(text) <= most and pattern.fullmatch(text) else None


def entry_of(
    result: WebResult, page: WebPage | None, *, backend: str, now: float, keep_days: float, redactor: Redactor | None
) -> Entry | None:
    """Return a result as an entry, valid for ``keep_days`` from ``now`` (epoch seconds); None if it is invalid.

    Its description is the text of the page, if read, and the context then the service's excerpt.
    """

    def masked(text: str) -> str:
        return text if redactor is None else redactor.redact(text).text

    parts = urlsplit(result.url)
    # Without user name and password.
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else result.url
    url = masked(bare)
    uri = f"tavily:{url}" if backend == TAVILY else f"web-ingest:{masked(result.engine)}:{url}"
    attrs: dict[str, object] = {"url": url, "uri": uri, "engine": masked(result.engine), "backend": backend}
    attrs |= {"host": host_of(result.url), "retrieved_at": now, "page": page is not None}
    if result.score is not None:
        attrs["score"] = result.score
    # Equal for all addresses with the same canonical key.
    key = canonical_key(result.url).encode("utf-8", "replace")
    title = (page.title if page is not None else "") or result.title
    fields = {
        "id": f"web-{blake2b(key, digest_size=12).hexdigest()}",
        "kind": KIND,
        "type": KIND,
        "domain": KIND,
        "title": masked(title),
        "description": masked(result.text if page is None else page.text),
        "context": "" if page is None else masked(result.text),
        "source": url,
        "trust": "untrusted",
        "attrs": attrs,
        "created_at": now,
        "updated_at": now,
        "valid_until": now + keep_days * DAY_S,
    }
    try:
        return draft(fields, now=now).entry
    except EntryError:
        return None
