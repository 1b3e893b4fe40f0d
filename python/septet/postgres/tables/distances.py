"""How many entries are nearer to a vector than one of them."""

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
    from septet.postgres.tables.conditions import Condition

__all__ = ["around"]

#: pgvector adds in float32: distances are known to so much.
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
    """Return what asks for the entries that pass a condition and are about as near to a unit vector ``(d,)``.

    The first statement counts those that pass and have a vector, and those that are surely nearer; the second has the
    vector and the row of each that may be as near.
    """
    named = {
        "column": COLUMNS[vault.vectors],
        "kind": vault.vectors,
        "key": vector_key(space.keyed_by),
        "condition": condition.sql,
        "sent": sent(vault.vectors),
    }
    text = f"[{','.join([f'{value:.9g}' for value in query.tolist()])}]"
    given = space.space, text, vault.number, *condition.parameters
    least, most = distance - WITHIN, distance + WITHIN
    return [
        Statement(_COUNTED.format(**named), (least, *given)),
        Statement(_AROUND.format(**named), (*given, least, most)),
    ]
