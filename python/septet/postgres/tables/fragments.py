"""SQL over ``septet.entries e`` that several tables share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow

__all__ = [
    "FINDABLE",
    "MEMORY",
    "NAMED_PART",
    "SEARCHABLE",
    "SPLIT",
    "has_vectors",
    "parent_named",
    "searched",
    "spaces_with_vectors",
    "vector_key",
]

_FOUND = "e.parent IS DISTINCT FROM e.id"
#: What a search may find: every live entry but those that were split, whose parts are found instead.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries that every search looks at; only those who ask find memories.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"

#: Ids with their buckets, and those of them that live entries have which were split into parts.
SPLIT = (
    "SELECT e.id FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries e "
    "ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id WHERE e.live AND e.parent = e.id"
)
#: Whether ``entries p`` has the id of a part of its parent. It is one if that was split; the parent has another bucket.
NAMED_PART = "left(p.id, length(p.parent) + 1) = p.parent || '#' AND substr(p.id, length(p.parent) + 2) ~ '^[0-9]+$'"
_PART = re.compile(r"(.*)#[0-9]+", re.DOTALL)


def parent_named(entry_id: str) -> str | None:
    """Return the id of the entry that one with this id would be a part of; None where no part has such an id."""
    found = _PART.fullmatch(entry_id)
    return None if found is None else found.group(1)


def spaces_with_vectors(vault: VaultRow) -> str:
    """Return the query for the spaces of a vault that hold vectors."""
    number = int(vault.number)
    if not vault.distributed:
        return (
            f"SELECT o.space FROM septet.spaces o WHERE o.vault = {number} AND EXISTS "
            "(SELECT 1 FROM septet.vectors v WHERE v.vault = o.vault AND v.space = o.space)"
        )
    # `spaces` is on every node, so each bucket is asked for all. CASE keeps the planner from reading all vectors.
    return (
        "SELECT DISTINCT o.space FROM septet.buckets b JOIN septet.spaces o ON o.vault = b.vault "
        f"WHERE b.vault = {number} AND CASE WHEN EXISTS (SELECT 1 FROM septet.vectors v WHERE v.vault = b.vault "
        "AND v.bucket = b.bucket AND v.space = o.space) THEN true END"
    )


def has_vectors(vault: VaultRow) -> str:
    """Return the condition that a row of ``spaces s`` has vectors in a vault."""
    return f"s.space IN ({spaces_with_vectors(vault)})"


def vector_key(keyed_by: str) -> str:
    """Return the expression that addresses an entry's vector in a space; see the table ``spaces`` in schema.sql."""
    return "(e.text_hash || ':' || e.id)" if keyed_by == "entry" else "e.text_hash"


def searched(memories: bool) -> str:
    """Return the condition of entries that are searched, or embedded, with memories or without."""
    return FINDABLE if memories else f"e.live AND {SEARCHABLE}"
