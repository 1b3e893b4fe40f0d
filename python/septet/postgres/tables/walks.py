"""Links for walks: the first links of each visited entry, newest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from septet.model.links import NEXT
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.store.transactions import PostgresReading

# Skip links between chunks of one file. An index has the others in order.
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
# On a cluster neighbours are in other buckets: query step by step, and links that may join chunks separately.
_AT = (
    "FROM unnest(%s::bigint[]) AS w (row) JOIN septet.entries n "
    "ON n.vault = %s AND n.bucket = %s + (w.row & 1023)::integer AND n.row = w.row"
)
_STEP = f"""
SELECT n.row, l.other_row, l.generation {_AT} CROSS JOIN LATERAL (
    SELECT l.other_row, l.generation FROM septet.links l
    WHERE l.vault = n.vault AND l.bucket = n.bucket AND l.row = n.row AND (l.type <> '{NEXT}' OR n.kind <> 'chunk')
    ORDER BY l.generation DESC, l.other_row LIMIT %s::bigint
) l
"""
_OF_CHUNKS = f"""
SELECT n.row, l.other_row, l.generation, n.parent {_AT} JOIN septet.links l
    ON l.vault = n.vault AND l.bucket = n.bucket AND l.row = n.row WHERE l.type = '{NEXT}' AND n.kind = 'chunk'
"""
_CHUNKS = f"SELECT n.row, n.parent {_AT} WHERE n.kind = 'chunk'"


class _Edge(NamedTuple):
    row: int
    other: int
    generation: int


def edges(read: PostgresReading, starts: Sequence[int], depth: int, most: int | None) -> Sequence[tuple[int, int, int]]:
    """Return the links of a walk: row, neighbour's row, and the generation that stored the link.

    Args:
        starts: rows of the first entries.
        depth: maximum steps.
        most: maximum neighbours of each entry, newest first; None for all.
    """
    if depth < 1 or not starts:
        return []
    # Links in both directions count as one neighbour.
    limit = None if most is None else 2 * most
    if read.vault.distributed:
        return _by_steps(read, starts, depth, limit)
    named = {
        "vault": read.vault.number,
        "first": read.vault.first_bucket,
        "starts": list(dict.fromkeys(starts)),
        "steps": depth - 1,
        "most": limit,
    }
    return read.sql.execute(_EDGES, named).fetchall()


def _by_steps(read: PostgresReading, starts: Sequence[int], depth: int, limit: int | None) -> list[_Edge]:
    edges: dict[int, list[_Edge]] = {}
    near: Iterable[int] = starts
    for _ in range(depth):
        new = [row for row in dict.fromkeys(near) if row not in edges]
        if not new:
            break
        edges.update((row, []) for row in new)
        for edge in _step(read, new, limit):
            edges[edge.row].append(edge)
        near = [edge.other for row in new for edge in edges[row]]
    return [edge for links in edges.values() for edge in links]


def _step(read: PostgresReading, rows: Sequence[int], limit: int | None) -> list[_Edge]:
    """Return the first links of each entry."""
    vault = read.vault.number, read.vault.first_bucket
    queries = [Statement(_STEP, ([*rows], *vault, limit)), Statement(_OF_CHUNKS, ([*rows], *vault))]
    first, chunk_links = together(read, queries)
    if not chunk_links:
        return [*map(_Edge._make, first)]
    others = list(dict.fromkeys(other for _, other, *_ in chunk_links))
    parents: dict[int, str | None] = dict(read.sql.execute(_CHUNKS, (others, *vault)).fetchall())
    edges: dict[int, list[_Edge]] = {}
    for row, other, generation, parent in chunk_links:
        if other not in parents or parents[other] != parent:
            edges.setdefault(row, []).append(_Edge(row, other, generation))
    for edge in map(_Edge._make, first):
        edges.setdefault(edge.row, []).append(edge)
    by_age = (sorted(links, key=lambda edge: (-edge.generation, edge.other))[:limit] for links in edges.values())
    return [edge for links in by_age for edge in links]
