"""SQL over ``entries e`` that several tables share."""

from __future__ import annotations

_FOUND = "e.parent IS NOT e.id"
#: Searchable entries: live and not split; searches return the parts instead.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries of every search; memories have their own full-text table, and are searched on request.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "e.text_hash || ':' || e.id" if keyed_by == "entry" else "e.text_hash"
