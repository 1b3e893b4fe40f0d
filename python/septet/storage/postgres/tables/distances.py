"""How many entries are nearer to a vector than one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.storage.postgres.packing import COLUMNS, sent
from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.fragments import vector_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.spaces import Space
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["around"]

#: pgvector adds in float32: distances are known to so much.
WITHIN = 1 / 10_000

# A count, or one of those whose distance may be that which is asked for.
_AROUND = """
WITH d AS MATERIALIZED (
    SELECT e.bucket, e.row, v.{column} <=> %s::{kind} AS distance FROM septet.entries e
    JOIN septet.vectors v ON v.vault = e.vault AND v.bucket = e.bucket AND v.space = %s AND v.key = {key}
    WHERE e.vault = %s AND {condition}
)
SELECT NULL, count(*), count(*) FILTER (WHERE d.distance < %s::float8) FROM d
UNION ALL
SELECT {sent}, d.row, NULL FROM d
JOIN septet.entries e ON e.vault = %s AND e.bucket = d.bucket AND e.row = d.row
JOIN septet.vectors v ON v.vault = e.vault AND v.bucket = e.bucket AND v.space = %s AND v.key = {key}
WHERE d.distance BETWEEN %s::float8 AND %s::float8
"""


def around(
    vault: VaultRow, space: Space, query: NDArray[np.float32], distance: float, condition: Condition
) -> Statement:
    """Return what asks for the entries that pass a condition and are about as near to a unit vector ``(d,)``.

    The row without a vector has how many pass and have a vector, and how many are surely nearer; others have the vector
    and the row.
    """
    sql = _AROUND.format(
        column=COLUMNS[vault.vectors],
        kind=vault.vectors,
        key=vector_key(space.keyed_by),
        condition=condition.sql,
        sent=sent(vault.vectors),
    )
    text = f"[{','.join([f'{value:.9g}' for value in query.tolist()])}]"
    least, most = distance - WITHIN, distance + WITHIN
    given = (text, space.space, vault.number, *condition.parameters, least, vault.number, space.space, least, most)
    return Statement(sql, given)
