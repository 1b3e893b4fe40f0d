"""SQL over ``entries e`` that several tables share."""

from __future__ import annotations

__all__ = ["FINDABLE", "MEMORY", "SEARCHABLE", "vector_key"]

_FOUND = "e.parent IS NOT e.id"
#: What a search may find: every live entry but those that were split, whose parts are found instead.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries that both legs search. Memories are searched apart, by their own table, and have a fixed score.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "e.text_hash || ':' || e.id" if keyed_by == "entry" else "e.text_hash"
