"""What a search must know of the whole vault beside the counts: spaces, links, and what is outside its validity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.fragments import has_vectors, searched

if TYPE_CHECKING:
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["outside", "standing", "texts_outside"]

# A row says whether there are links; the others are spaces, in the order in which they were made, each with whether it
# has an index, and what was measured of that.
_STANDING = """
(SELECT NULL::integer AS space, NULL AS model, NULL::integer AS dimensions, NULL AS keyed_by, 1 AS entries,
    false AS hnsw, NULL AS recall
FROM septet.links l WHERE l.vault = %s LIMIT 1)
UNION ALL
(SELECT s.space, s.model, s.dimensions, s.keyed_by, 0, s.hnsw,
    (SELECT t.value FROM septet.settings t WHERE t.vault = s.vault AND t.key = 'recall:' || s.space AND s.hnsw)
FROM septet.spaces s
WHERE s.vault = %s AND {has_vectors}
ORDER BY s.space)
"""
# As in the index of those whose validity has a limit.
_OUTSIDE = """
FROM septet.entries e
WHERE e.vault = %s AND e.bucket = ANY(%s::int[]) AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
    AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8) AND {searched}
"""
_DIGEST = f"SELECT count(*), coalesce(sum(hashint8extended(e.row, e.generation)), 0)::text {_OUTSIDE}"
_TEXTS = f"SELECT e.title, e.description, e.context, e.tags {_OUTSIDE}"


def standing(vault: VaultRow) -> Statement:
    """Return what asks whether there is any link, and for the spaces that hold vectors."""
    return Statement(_STANDING.format(has_vectors=has_vectors(vault)), (vault.number, vault.number))


def outside(vault: VaultRow, now: float, *, memories: bool) -> Statement:
    """Return what asks how many live entries are not valid at a moment, and for a digest of them and their texts.

    Args:
        memories: memories are counted too.
    """
    return Statement(_DIGEST.format(searched=searched(memories)), (vault.number, vault.all_buckets, now, now))


def texts_outside(vault: VaultRow, now: float, *, memories: bool) -> Statement:
    """Return what asks for the texts of the same entries: title, description, context and tags."""
    return Statement(_TEXTS.format(searched=searched(memories)), (vault.number, vault.all_buckets, now, now))
