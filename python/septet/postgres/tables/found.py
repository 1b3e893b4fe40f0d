"""Candidates with all data for scoring: facts, texts and a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.postgres.store.packing import sent
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fragments import vector_key
from septet.ranking.pool import Candidate

if TYPE_CHECKING:
    from septet.model.spaces import Space
    from septet.postgres.store.vaults import VaultRow

#: Columns of ``entries e``: grams, then the fields of a `Candidate` in order.
FACTS = (
    "e.grams, e.row, e.id, e.kind, e.type, e.domain, e.severity, e.title, e.description, e.context, e.tags, e.attrs, "
    "e.path, e.first_line, e.last_line, e.created_at, e.updated_at, e.valid_from, e.valid_until, e.parent, "
    "e.source, e.trust"
)
_VECTOR_OF = """(
    SELECT {sent} FROM septet.vectors v
    WHERE v.vault = %s AND v.space = %s::int AND v.bucket = e.bucket AND v.key = {key}
)"""
_OF_ROWS = f"""
SELECT {{vector}}, {FACTS} FROM septet.entries e WHERE e.vault = %s AND e.row = ANY(%s::bigint[]) AND e.live
"""


class CandidateRow(NamedTuple):
    """An entry read for a search.

    Attributes:
        vector: in pgvector's format, for `packing.unpacked`; None without one.
    """

    candidate: Candidate
    grams: str
    vector: bytes | None


def all_of(rows: Sequence[Sequence[Any]]) -> list[CandidateRow]:
    """Return entries from rows of a vector, or None, and the values of `FACTS`."""
    return [CandidateRow(Candidate._make(row[2:]), row[1], row[0]) for row in rows]


def vector_of(vault: VaultRow, space: Space | None) -> tuple[str, tuple[object, ...]]:
    """Return the expression for the vectors of ``entries e`` in a space, and its parameters."""
    if space is None:
        return "NULL::bytea", ()
    sql = _VECTOR_OF.format(sent=sent(vault.vectors), key=vector_key(space.keyed_by))
    return sql, (vault.number, space.space)


def of_rows(vault: VaultRow, rows: Sequence[int], space: Space | None) -> Statement:
    """Return the statement for live entries at these rows, in any order, with their vectors in a space."""
    vector, parameters = vector_of(vault, space)
    return Statement(_OF_ROWS.format(vector=vector), (*parameters, vault.number, list(rows)))
