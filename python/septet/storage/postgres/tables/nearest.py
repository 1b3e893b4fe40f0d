"""The vector leg: the entries whose vectors are the nearest to a query's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.storage.postgres.packing import COLUMNS, sent
from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.found import FACTS
from septet.storage.postgres.tables.fragments import FINDABLE, SEARCHABLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.spaces import Space
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["nearest", "sampled"]

#: pgvector adds in float32: so many more are asked for than are wanted, as one may be nearer than the last of them.
MORE = 16

_NEAREST = f"""
SELECT {{sent}}, {FACTS} FROM (
    SELECT e.bucket, e.row, v.key, v.{{column}} <=> %s::{{kind}} AS distance
    FROM septet.vectors v
    JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {{joined}}
    WHERE v.vault = %s AND v.space = %s AND {{condition}}
    ORDER BY distance, e.row LIMIT %s
) t
JOIN septet.entries e ON e.vault = %s AND e.bucket = t.bucket AND e.row = t.row
JOIN septet.vectors v ON v.vault = e.vault AND v.space = %s AND v.key = t.key AND v.bucket = t.bucket
ORDER BY t.distance, t.row
"""
_SAMPLED = """
SELECT v.sample, {sent} FROM septet.vectors v
JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {joined}
WHERE v.vault = %s AND v.space = %s AND v.sample <= %s AND {condition} ORDER BY v.sample, e.row
"""
_BY = {
    "text": "e.text_hash = v.key",
    "entry": "e.id = substr(v.key, strpos(v.key, ':') + 1) AND v.key = e.text_hash || ':' || e.id",
}


def nearest(vault: VaultRow, space: Space, query: NDArray[np.float32], most: int, condition: Condition) -> Statement:
    """Return what asks for the entries that pass a condition and are the nearest to a unit vector ``(d,)``."""
    sql = _NEAREST.format(
        sent=sent(vault.vectors),
        column=COLUMNS[vault.vectors],
        kind=vault.vectors,
        joined=_BY[space.keyed_by],
        condition=condition.sql,
    )
    given = (_text(query), vault.number, space.space, *condition.parameters, most + MORE, vault.number, space.space)
    return Statement(sql, given)


def sampled(vault: VaultRow, space: Space, limit: int, *, memories: bool) -> Statement:
    """Return what asks for sample keys and vectors of entries, of keys up to a limit; with memories, if asked."""
    sql = _SAMPLED.format(
        sent=sent(vault.vectors),
        joined=_BY[space.keyed_by],
        condition=FINDABLE if memories else f"e.live AND {SEARCHABLE}",
    )
    return Statement(sql, (vault.number, space.space, limit))


def _text(vector: NDArray[np.float32]) -> str:
    """Return a vector as pgvector reads it in text; so many digits give the same float32 again."""
    return f"[{','.join([f'{value:.9g}' for value in vector.tolist()])}]"
