"""How a text with metadata, as other libraries have it, becomes an entry, and an entry such a text.

The text is the description, the metadata are the attrs. A title is what the metadata call ``title``, or the first line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from septet.errors import QueryError
from septet.exchange.mapping import title_of
from septet.inputs.arguments import shown
from septet.model.entry import Entry
from septet.model.results import Hit

__all__ = ["both", "content_of", "facts_of", "fields_of_text", "where_of_metadata"]


def fields_of_text(id: str, text: str, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the entry that keeps a text."""
    return {"id": id, "title": _title(id, text, metadata), "description": text, "attrs": dict(metadata)}


def content_of(entry: Entry) -> str:
    """Return the text of an entry: as it was given to an adapter, or title, description and context of any other."""
    implied = entry.title == _title(entry.id, entry.description, entry.attrs)
    return "\n\n".join(part for part in ("" if implied else entry.title, entry.description, entry.context) if part)


def _title(id: str, text: str, metadata: Mapping[str, Any]) -> str:
    given = metadata.get("title")
    return given if isinstance(given, str) and given.strip() else title_of(text) or id


def facts_of(hit: Hit) -> dict[str, Any]:
    """Return what a search says about a hit, and where its text comes from, JSON-ready."""
    return {
        "score": hit.score,
        "confidence": hit.confidence,
        "kind": hit.kind,
        "domain": hit.domain,
        "tags": list(hit.tags),
        "source": hit.source,
        "trust": hit.trust,
        "tier": hit.tier,
        "citation": hit.citation,
    }


def where_of_metadata(filter: object) -> dict[str, Any]:
    """Return the filter on entries that is one on metadata: the same operators, the keys in ``attrs``.

    Raises:
        QueryError: it is no dict. Unknown operators are found by the search.
    """
    if not isinstance(filter, Mapping):
        raise QueryError(f"filter is {shown(filter)}: wanted a dict of metadata, such as {{'team': 'core'}}")
    where: dict[str, Any] = {}
    for key, value in filter.items():
        if not isinstance(key, str) or not key.startswith("$"):
            where[f"attrs.{key}"] = value
        elif isinstance(value, (list, tuple)):
            where[key] = [where_of_metadata(one) for one in value]
        else:
            where[key] = where_of_metadata(value)
    return where


def both(*filters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the filter that all of some filters hold; None if there is none."""
    given = [dict(one) for one in filters if one]
    if len(given) < 2:
        return given[0] if given else None
    return {"$and": given}
