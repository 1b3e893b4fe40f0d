"""SQL over ``entries e`` that several tables share."""

from __future__ import annotations

__all__ = ["MEMORY", "SEARCHABLE", "vector_key"]

#: Entries that both legs search. Memories are searched apart, by their own table, and have a fixed score.
SEARCHABLE = "e.kind <> 'memory'"
MEMORY = "e.kind = 'memory'"


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "e.text_hash || ':' || e.id" if keyed_by == "entry" else "e.text_hash"
