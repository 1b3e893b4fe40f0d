"""Links as a walk reads them: of each entry on the way only the first ones, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from septet.storage.postgres.transactions import PostgresReading
from septet.storage.tables.links import NEXT

__all__ = ["edges"]

# Links from chunk to chunk of a file are not walked. An index has the others in their order.
_FIRST = f"""(
    SELECT l.other_row, l.generation FROM septet.links l
    WHERE l.vault = %(vault)s AND l.bucket = %(first)s + (n.row & 1023)::integer AND l.row = n.row
        AND (l.type <> '{NEXT}' OR NOT EXISTS (
            SELECT 1 FROM septet.entries s, septet.entries t
            WHERE s.vault = l.vault AND s.bucket = l.bucket AND s.row = l.row AND s.kind = 'chunk'
                AND t.vault = l.vault AND t.bucket = l.other_bucket AND t.row = l.other_row AND t.kind = 'chunk'
                AND t.parent IS NOT DISTINCT FROM s.parent
        ))
    ORDER BY l.generation DESC, l.other_row LIMIT %(most)s::bigint
) l"""
_EDGES = f"""
WITH RECURSIVE near (row, step) AS (
    SELECT w.row, 0 FROM unnest(%(starts)s::bigint[]) AS w (row)
    UNION
    SELECT l.other_row, n.step + 1 FROM near n CROSS JOIN LATERAL {_FIRST} WHERE n.step < %(steps)s
), nodes AS (SELECT DISTINCT n.row FROM near n)
SELECT n.row, l.other_row, l.generation FROM nodes n CROSS JOIN LATERAL {_FIRST}
"""


def edges(read: PostgresReading, starts: Sequence[int], depth: int, most: int | None) -> list[tuple[int, int, int]]:
    """Return the links that a walk of so many steps meets: row, row and the generation that stored it.

    Args:
        starts: the rows it begins at.
        most: from each entry only its first so many neighbours are walked to; None for all.
    """
    if depth < 1 or not starts:
        return []
    # Two entries may be linked in both directions, and count once.
    named = {
        "vault": read.vault.number,
        "first": read.vault.first_bucket,
        "starts": list(dict.fromkeys(starts)),
        "steps": depth - 1,
        "most": None if most is None else 2 * most,
    }
    return read.sql.execute(_EDGES, named).fetchall()
