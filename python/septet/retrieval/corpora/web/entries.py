"""Entries of web results: kind ``web``, untrusted, masked, with their address as the source and a limited validity."""

from __future__ import annotations

import hashlib
from urllib.parse import urlsplit

from septet.errors import EntryError
from septet.files.redaction import Redactor
from septet.model.drafts import draft
from septet.model.entry import Entry
from septet.retrieval.corpora.web.pages import WebPage
from septet.retrieval.corpora.web.results import WebResult, canonical_key, host_of

KIND = "web"
TAVILY = "tavily"
DAY_S = 86_400.0


def entry_id(url: str) -> str:
    """Return the id of a page, equal for all addresses with the same canonical key."""
    key = canonical_key(url).encode("utf-8", "replace")
    return f"web-{hashlib.blake2b(key, digest_size=12).hexdigest()}"


def entry_of(
    result: WebResult, page: WebPage | None, *, backend: str, now: float, keep_days: float, redactor: Redactor | None
) -> Entry | None:
    """Return a result as an entry; None if it is invalid.

    Its description is the text of the page, if read, and the context then the service's excerpt.

    Args:
        backend: the search service.
        now: epoch seconds.
        keep_days: validity in days.
        redactor: masks secrets in the entry; None for no masking.
    """

    def masked(text: str) -> str:
        return text if redactor is None else redactor.redact(text).text

    url = masked(_without_name(result.url))
    uri = f"tavily:{url}" if backend == TAVILY else f"web-ingest:{masked(result.engine)}:{url}"
    attrs: dict[str, object] = {"url": url, "uri": uri, "engine": masked(result.engine), "backend": backend}
    attrs |= {"host": host_of(result.url), "retrieved_at": now, "page": page is not None}
    if result.score is not None:
        attrs["score"] = result.score
    title = (page.title if page is not None else "") or result.title
    fields = {
        "id": entry_id(result.url),
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


def _without_name(url: str) -> str:
    """Return an address without user name and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else url
