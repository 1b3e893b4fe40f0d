"""SQL over ``septet.entries e`` that several tables share."""

from __future__ import annotations

__all__ = ["FINDABLE", "MEMORY", "SEARCHABLE", "searched", "vector_key"]

_FOUND = "e.parent IS DISTINCT FROM e.id"
#: What a search may find: every live entry but those that were split, whose parts are found instead.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries that every search looks at; only those who ask find memories.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "(e.text_hash || ':' || e.id)" if keyed_by == "entry" else "e.text_hash"


def searched(memories: bool) -> str:
    """Return the condition of entries that are searched, or embedded, with memories or without."""
    return FINDABLE if memories else f"e.live AND {SEARCHABLE}"
