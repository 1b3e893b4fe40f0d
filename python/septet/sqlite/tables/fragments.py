"""SQL over ``entries e`` that several tables share."""

from __future__ import annotations

__all__ = ["FINDABLE", "MEMORY", "SEARCHABLE", "vector_key"]

_FOUND = "e.parent IS NOT e.id"
#: What a search may find: every live entry but those that were split, whose parts are found instead.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries that every search looks at; memories have a full-text table of their own, and only those who ask find them.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "e.text_hash || ':' || e.id" if keyed_by == "entry" else "e.text_hash"
