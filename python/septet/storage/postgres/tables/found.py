"""Candidates with everything that scoring reads of them: facts, texts and a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.ranking.pool import Candidate
from septet.storage.postgres.packing import sent, unpacked
from septet.storage.postgres.pipeline import Statement

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.spaces import Space
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["FACTS", "Found", "all_of", "joined_vector", "of_rows"]

#: Of ``entries e``: its grams, and the columns of a `Candidate` in its order.
FACTS = (
    "e.grams, e.row, e.id, e.kind, e.type, e.domain, e.severity, e.title, e.description, e.context, e.tags, e.attrs, "
    "e.path, e.first_line, e.last_line, e.created_at, e.updated_at, e.valid_from, e.valid_until, e.parent, "
    "e.source, e.trust"
)
#: In spaces keyed by entry a vector belongs to the text of one entry.
_VECTOR_OF = """
LEFT JOIN septet.vectors v ON v.vault = %s AND v.bucket = e.bucket AND v.space = %s::int
    AND v.key = CASE WHEN %s THEN e.text_hash || ':' || e.id ELSE e.text_hash END
"""
_OF_ROWS = f"""
SELECT {{sent}}, {FACTS}
FROM unnest(%s::int[], %s::bigint[]) AS j (bucket, row)
JOIN septet.entries e ON e.vault = %s AND e.bucket = j.bucket AND e.row = j.row AND e.live
{_VECTOR_OF}
"""


class Found(NamedTuple):
    """An entry that was read for a search.

    Attributes:
        vector: as it is stored, float32 ``(d,)``; None without one.
    """

    candidate: Candidate
    grams: str
    vector: NDArray[np.float32] | None


def all_of(vault: VaultRow, rows: Sequence[Sequence[Any]], space: Space | None) -> list[Found]:
    """Return entries, given for each its vector as it was sent, if there is one, and the values of `FACTS`."""
    given = [row[0] for row in rows if row[0] is not None]
    vectors = iter(unpacked(vault.vectors, given, space.dimensions) if given and space is not None else ())
    return [Found(Candidate._make(row[2:]), row[1], None if row[0] is None else next(vectors)) for row in rows]


def joined_vector(vault: VaultRow, space: Space | None) -> tuple[str, tuple[object, ...]]:
    """Return the join that brings the vectors of ``entries e`` in a space as ``v``, and its parameters."""
    number, by_entry = (None, False) if space is None else (space.space, space.keyed_by == "entry")
    return _VECTOR_OF, (vault.number, number, by_entry)


def of_rows(vault: VaultRow, rows: Sequence[int], space: Space | None) -> Statement:
    """Return what asks for live entries at given rows, in any order, with their vectors in a space."""
    buckets = [vault.bucket_of_row(row) for row in rows]
    sql = _OF_ROWS.format(sent=sent(vault.vectors))
    return Statement(sql, (buckets, list(rows), vault.number, *joined_vector(vault, space)[1]))
