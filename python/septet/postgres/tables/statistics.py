"""Facts of a vault for searches, besides counts: spaces, links, and entries that are not valid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.model.vector import Space
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fragments import searched, spaces_with_vectors

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow

_LINKED = "SELECT 1 FROM septet.links l WHERE l.vault = %s LIMIT 1"
_SPACES = """
SELECT s.space, s.model, s.dimensions, s.keyed_by, 0, s.hnsw,
    (SELECT t.value FROM septet.settings t WHERE t.vault = s.vault AND t.key = 'recall:' || s.space AND s.hnsw)
FROM septet.spaces s WHERE s.vault = %s ORDER BY s.space
"""
# Matches the partial index of entries with a limited validity.
_OUTSIDE = """
FROM septet.entries e
WHERE e.vault = %s AND e.bucket = ANY(%s::int[]) AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
    AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8) AND {searched}
"""
_DIGEST = f"SELECT count(*), coalesce(sum(hashint8extended(e.row, e.generation)), 0)::text {_OUTSIDE}"
_TEXTS = f"SELECT e.title, e.description, e.context, e.tags {_OUTSIDE}"


class SpacesAndLinks(NamedTuple):
    """True for a vault with links; its nonempty spaces in order; and the measured recall of those with an index."""

    linked: bool
    spaces: Sequence[Space]
    indexed: Mapping[int, str | None]

    @classmethod
    def read(
        cls, linked: Sequence[object], spaces: Iterable[Sequence[Any]], holding: Iterable[tuple[int]]
    ) -> SpacesAndLinks:
        """Return the results of `standing`."""
        numbers = {number for (number,) in holding}
        filled = [(Space._make(space), hnsw, recall) for *space, hnsw, recall in spaces if space[0] in numbers]
        indexed = {space.space: recall for space, hnsw, recall in filled if hnsw}
        return cls(bool(linked), [space for space, _, _ in filled], indexed)


def standing(vault: VaultRow) -> list[Statement]:
    """Return the statements for a link, for the spaces, and for the nonempty spaces.

    A cluster executes the three in half the time of their union, which needs intermediate results.
    """
    number = (vault.number,)
    return [Statement(_LINKED, number), Statement(_SPACES, number), Statement(spaces_with_vectors(vault))]


def outside(vault: VaultRow, now: float, *, memories: bool) -> Statement:
    """Return the statement for the number and a digest of the live entries not valid at a time (epoch seconds)."""
    return Statement(_DIGEST.format(searched=searched(memories)), (vault.number, vault.all_buckets, now, now))


def texts_outside(vault: VaultRow, now: float, *, memories: bool) -> Statement:
    """Return the statement for title, description, context and tags of the entries of `outside`."""
    return Statement(_TEXTS.format(searched=searched(memories)), (vault.number, vault.all_buckets, now, now))
