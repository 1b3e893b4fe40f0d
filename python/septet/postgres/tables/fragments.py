"""SQL over ``septet.entries e``, and parameters, that several tables share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from septet.postgres.store.transactions import PostgresReading, PostgresWriting
    from septet.postgres.store.vaults import VaultRow

_FOUND = "e.parent IS DISTINCT FROM e.id"
#: Findable entries: live and not split; of split entries the parts are found.
FINDABLE = f"e.live AND {_FOUND}"
#: Entries of every search; memories are optional.
SEARCHABLE = f"e.kind <> 'memory' AND {_FOUND}"
MEMORY = f"e.kind = 'memory' AND {_FOUND}"

#: Ids of live entries that were split into parts, among ids with their buckets.
SPLIT = (
    "SELECT e.id FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries e "
    "ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id WHERE e.live AND e.parent = e.id"
)
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
