"""SQL over ``septet.entries e``, parameters, and candidates with all data for scoring."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.postgres.store.packing import sent
from septet.postgres.store.pipeline import Statement
from septet.ranking.pool import Candidate
from septet.store.rows import CANDIDATE

if TYPE_CHECKING:
    from septet.model.vector import Space
    from septet.postgres.store.transactions import PostgresReading, PostgresWriting
    from septet.postgres.store.vaults import VaultRow


_FOUND = "e.parent IS DISTINCT FROM e.id"
#: Findable entries: live and not split; of split entries the parts are found.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries of every search; memories are optional.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"

#: Entries ``e`` by id (parameters of `named`), and by row (of `numbered`), also with its place ``w.place``; the low
#: bits of a row are its bucket.
BY_ID = (
    "unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries e "
    "ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id"
)
_AT_ROW = "JOIN septet.entries e ON e.vault = %s AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row"
BY_ROW = f"unnest(%s::bigint[]) AS w (row) {_AT_ROW}"
BY_PLACE = f"unnest(%s::bigint[]) WITH ORDINALITY AS w (row, place) {_AT_ROW}"
#: Ids of live entries that were split into parts, among ids with their buckets.
SPLIT = f"SELECT e.id FROM {BY_ID} WHERE e.live AND e.parent = e.id"
#: ``entries p`` has the id of a part of its parent; it is a part if the parent, in another bucket, was split.
NAMED_PART = "left(p.id, length(p.parent) + 1) = p.parent || '#' AND substr(p.id, length(p.parent) + 2) ~ '^[0-9]+$'"
_PART = re.compile(r"(.*)#[0-9]+", re.DOTALL)


def parent_named(entry_id: str) -> str | None:
    """Return the id of the parent that the id of a part names; None for other ids."""
    match = _PART.fullmatch(entry_id)
    return None if match is None else match.group(1)


def named(vault: VaultRow, ids: Iterable[str]) -> tuple[list[int], list[str], int]:
    """Return ids, with their buckets and the vault, as parameters; without those with NUL, which no entry has."""
    names = [entry_id for entry_id in ids if "\0" not in entry_id]
    return [*map(vault.bucket_of, names)], names, vault.number


def numbered(vault: VaultRow, rows: Iterable[int]) -> tuple[list[int], int, int]:
    """Return rows, the vault and its first bucket, as parameters."""
    return [int(row) for row in rows], vault.number, vault.first_bucket


def scalar(read: PostgresReading | PostgresWriting, sql: str, parameters: Sequence[object]) -> int:
    """Return the number that a query selects; 0 without a row."""
    row = read.sql.execute(sql, parameters).fetchone()
    return 0 if row is None else int(row[0])


def spaces_with_vectors(vault: VaultRow) -> str:
    """Return the query for the nonempty spaces of a vault."""
    number = int(vault.number)
    if not vault.distributed:
        return (
            f"SELECT o.space FROM septet.spaces o WHERE o.vault = {number} AND EXISTS "
            "(SELECT 1 FROM septet.vectors v WHERE v.vault = o.vault AND v.space = o.space)"
        )
    # `spaces` is on every node, so check all spaces for each bucket. CASE keeps the planner from reading all vectors.
    return (
        "SELECT DISTINCT o.space FROM septet.buckets b JOIN septet.spaces o ON o.vault = b.vault "
        f"WHERE b.vault = {number} AND CASE WHEN EXISTS (SELECT 1 FROM septet.vectors v WHERE v.vault = b.vault "
        "AND v.bucket = b.bucket AND v.space = o.space) THEN true END"
    )


def has_vectors(vault: VaultRow) -> str:
    """Return the condition that a row of ``spaces s`` has vectors in a vault."""
    return f"s.space IN ({spaces_with_vectors(vault)})"


def vector_key(keyed_by: str) -> str:
    """Return the expression for the key of an entry's vector; see the table ``spaces`` in schema.sql."""
    return "(e.text_hash || ':' || e.id)" if keyed_by == "entry" else "e.text_hash"


def searched(memories: bool) -> str:
    """Return the condition of entries that are searched or embedded, with memories if ``memories``."""
    return FINDABLE if memories else f"e.live AND {SEARCHABLE}"


#: Columns of ``entries e``: grams, then the fields of a `Candidate` in order.
FACTS = f"e.grams, {CANDIDATE}"
_VECTOR_OF = """(
    SELECT {sent} FROM septet.vectors v
    WHERE v.vault = %s AND v.space = %s::int AND v.bucket = e.bucket AND v.key = {key}
)"""
_OF_ROWS = f"""
SELECT {{vector}}, {FACTS} FROM septet.entries e WHERE e.vault = %s AND e.row = ANY(%s::bigint[]) AND e.live
"""


class CandidateRow(NamedTuple):
    """An entry read for a search; its vector, or None, is in pgvector's format."""

    candidate: Candidate
    grams: str
    vector: bytes | None


def all_of(rows: Sequence[Sequence[Any]]) -> list[CandidateRow]:
    """Return entries from rows of a vector, or None, and the values of `FACTS`."""
    return [CandidateRow(Candidate._make(row[2:]), row[1], row[0]) for row in rows]


def of_rows(vault: VaultRow, rows: Sequence[int], space: Space | None) -> Statement:
    """Return the statement for live entries at these rows, in any order, with their vectors in a space."""
    vector, parameters = "NULL::bytea", tuple[int, ...]()
    if space is not None:
        vector = _VECTOR_OF.format(sent=sent(vault.vectors), key=vector_key(space.keyed_by))
        parameters = vault.number, space.space
    return Statement(_OF_ROWS.format(vector=vector), (*parameters, vault.number, list(rows)))
