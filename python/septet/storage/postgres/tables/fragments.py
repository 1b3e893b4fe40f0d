"""SQL over ``septet.entries e`` that several tables share."""

from __future__ import annotations

__all__ = ["FINDABLE", "IS_PART", "MEMORY", "PART", "SEARCHABLE", "searched", "vector_key"]

_FOUND = "e.parent IS DISTINCT FROM e.id"
#: What a search may find: every live entry but those that were split, whose parts are found instead.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries that every search looks at; only those who ask find memories.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"

#: Whether the id of ``entries p`` is one that a part of ``entries e`` has.
PART = "left(p.id, length(e.id) + 1) = e.id || '#' AND substr(p.id, length(e.id) + 2) ~ '^[0-9]+$'"
#: Whether ``entries p`` is a part; one that only names a parent is none.
IS_PART = (
    "(p.parent <> p.id AND EXISTS (SELECT 1 FROM septet.entries e WHERE e.vault = p.vault "
    f"AND e.id = p.parent AND e.parent = e.id AND e.live AND {PART}))"
)


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "(e.text_hash || ':' || e.id)" if keyed_by == "entry" else "e.text_hash"


def searched(memories: bool) -> str:
    """Return the condition of entries that are searched, or embedded, with memories or without."""
    return FINDABLE if memories else f"e.live AND {SEARCHABLE}"
