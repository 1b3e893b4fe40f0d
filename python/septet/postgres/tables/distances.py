"""Rank of an entry by its distance to a vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from septet.postgres.store.packing import COLUMNS, sent
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fragments import vector_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.spaces import Space
    from septet.postgres.store.vaults import VaultRow
    from septet.store.rows import Condition

#: Tolerance of distances, which pgvector sums in float32.
WITHIN = 1 / 10_000

_FROM = """
FROM septet.entries e JOIN septet.vectors v
    ON v.vault = e.vault AND v.bucket = e.bucket AND v.space = %s AND v.key = {key}
CROSS JOIN LATERAL (SELECT v.{column} <=> %s::{kind} AS distance) d
WHERE e.vault = %s AND {condition}
"""
_COUNTED = f"SELECT count(*), count(*) FILTER (WHERE d.distance < %s::float8) {_FROM}"
_AROUND = f"SELECT {{sent}}, e.row {_FROM} AND d.distance BETWEEN %s::float8 AND %s::float8"


def around(
    vault: VaultRow, space: Space, query: NDArray[np.float32], distance: float, condition: Condition
) -> list[Statement]:
    """Return statements for the passing entries about as near to a unit vector ``(d,)`` as a distance.

    The first counts the passing entries with a vector, and those of them that are certainly nearer; the second has
    vector and row of each entry that may be equally near.
    """
    named = {
        "column": COLUMNS[vault.vectors],
        "kind": vault.vectors,
        "key": vector_key(space.keyed_by),
        "condition": condition.sql,
        "sent": sent(vault.vectors),
    }
    text = f"[{','.join([f'{value:.9g}' for value in query.tolist()])}]"
    parameters = space.space, text, vault.number, *condition.parameters
    least, most = distance - WITHIN, distance + WITHIN
    return [
        Statement(_COUNTED.format(**named), (least, *parameters)),
        Statement(_AROUND.format(**named), (*parameters, least, most)),
    ]
