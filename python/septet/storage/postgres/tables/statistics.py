"""What a search must know of the whole vault beside the counts: spaces, links, and what is outside its validity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.storage.postgres.pipeline import Statement

if TYPE_CHECKING:
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["outside", "standing"]

# A row says whether there are links; the others are spaces, in the order in which they were made, each with whether it
# has an index, and what was measured of that.
_STANDING = """
SELECT NULL::integer, NULL, NULL::integer, NULL, EXISTS (SELECT 1 FROM septet.links l WHERE l.vault = %s)::integer,
    false, NULL
UNION ALL
(SELECT s.space, s.model, s.dimensions, s.keyed_by, 0, s.hnsw,
    (SELECT t.value FROM septet.settings t WHERE t.vault = s.vault AND t.key = 'recall:' || s.space AND s.hnsw)
FROM septet.spaces s
WHERE s.vault = %s AND EXISTS (SELECT 1 FROM septet.vectors v WHERE v.vault = s.vault AND v.space = s.space)
ORDER BY s.space)
"""
# As in the index of those whose validity has a limit.
_OUTSIDE = """
SELECT e.kind = 'memory', e.title, e.description, e.context, e.tags FROM septet.entries e
WHERE e.vault = %s AND e.bucket = ANY(%s::int[]) AND e.live AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
    AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8) AND e.parent IS DISTINCT FROM e.id
"""


def standing(vault: VaultRow) -> Statement:
    """Return what asks whether there is any link, and for the spaces that hold vectors."""
    return Statement(_STANDING, (vault.number, vault.number))


def outside(vault: VaultRow, now: float) -> Statement:
    """Return what asks for the texts of live entries that are not valid at a moment, and whether they are memories."""
    return Statement(_OUTSIDE, (vault.number, vault.all_buckets, now, now))
