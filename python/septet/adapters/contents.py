"""Conversion between entries and texts with metadata, the documents of other libraries.

The text is the description, the metadata are the attrs, the title is ``metadata["title"]`` or the first line.
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
    """Return the fields of the entry that stores a text."""
    return {"id": id, "title": _title(id, text, metadata), "description": text, "attrs": dict(metadata)}


def content_of(entry: Entry) -> str:
    """Return the text an adapter stored; for other entries title, description and context."""
    implied = entry.title == _title(entry.id, entry.description, entry.attrs)
    return "\n\n".join(part for part in ("" if implied else entry.title, entry.description, entry.context) if part)


def _title(id: str, text: str, metadata: Mapping[str, Any]) -> str:
    title = metadata.get("title")
    return title if isinstance(title, str) and title.strip() else title_of(text) or id


def facts_of(hit: Hit) -> dict[str, Any]:
    """Return score, fields and origin of a hit, JSON-ready."""
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
    """Convert a filter on metadata to a filter on entries: same operators, keys under ``attrs``.

    Raises:
        QueryError: not a dict. The search rejects unknown operators.
    """
    if not isinstance(filter, Mapping):
        raise QueryError(f"filter is {shown(filter)}: wanted a dict of metadata, such as {{'team': 'core'}}")
    where: dict[str, Any] = {}
    for key, value in filter.items():
        if not isinstance(key, str) or not key.startswith("$"):
            where[f"attrs.{key}"] = value
        elif isinstance(value, (list, tuple)):
            where[key] = [where_of_metadata(part) for part in value]
        else:
            where[key] = where_of_metadata(value)
    return where


def both(*filters: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Combine filters with ``$and``; None if all are empty."""
    parts = [dict(part) for part in filters if part]
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"$and": parts}
