"""What a search must know of the whole vault beside the counts: spaces, links, and what is outside its validity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.model.spaces import Space
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fragments import searched, spaces_with_vectors

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow

__all__ = ["Stands", "outside", "standing", "texts_outside"]

_LINKED = "SELECT 1 FROM septet.links l WHERE l.vault = %s LIMIT 1"
_SPACES = """
SELECT s.space, s.model, s.dimensions, s.keyed_by, 0, s.hnsw,
    (SELECT t.value FROM septet.settings t WHERE t.vault = s.vault AND t.key = 'recall:' || s.space AND s.hnsw)
FROM septet.spaces s WHERE s.vault = %s ORDER BY s.space
"""
# As in the index of those whose validity has a limit.
_OUTSIDE = """
FROM septet.entries e
WHERE e.vault = %s AND e.bucket = ANY(%s::int[]) AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
    AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8) AND {searched}
"""
_DIGEST = f"SELECT count(*), coalesce(sum(hashint8extended(e.row, e.generation)), 0)::text {_OUTSIDE}"
_TEXTS = f"SELECT e.title, e.description, e.context, e.tags {_OUTSIDE}"


class Stands(NamedTuple):
    """Spaces and links of a vault.

    Attributes:
        linked: whether there is a link.
        spaces: those that hold vectors, in the order in which they were made.
        indexed: by number of a space with an index, the recall that was measured of it.
    """

    linked: bool
    spaces: Sequence[Space]
    indexed: Mapping[int, str | None]

    @classmethod
    def read(cls, linked: Sequence[object], spaces: Iterable[Sequence[Any]], holding: Iterable[tuple[int]]) -> Stands:
        """Return the answers of `standing`."""
        numbers = {number for (number,) in holding}
        held = [row for row in spaces if row[0] in numbers]
        return cls(bool(linked), [Space._make(row[:5]) for row in held], {row[0]: row[6] for row in held if row[5]})


def standing(vault: VaultRow) -> list[Statement]:
    """Return the statements for a link, for the spaces, and for those of them that hold vectors.

    A cluster answers the three in half the time of their union, which it makes of intermediate results.
    """
    number = (vault.number,)
    return [Statement(_LINKED, number), Statement(_SPACES, number), Statement(spaces_with_vectors(vault))]


def outside(vault: VaultRow, now: float, *, memories: bool) -> Statement:
    """Return what asks how many live entries are not valid at a moment, and for a digest of them and their texts.

    Args:
        memories: memories are counted too.
    """
    return Statement(_DIGEST.format(searched=searched(memories)), (vault.number, vault.all_buckets, now, now))


def texts_outside(vault: VaultRow, now: float, *, memories: bool) -> Statement:
    """Return what asks for the texts of the same entries: title, description, context and tags."""
    return Statement(_TEXTS.format(searched=searched(memories)), (vault.number, vault.all_buckets, now, now))
