"""Links between entries, each stored for both ends, in their buckets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from septet.model.links import NEXT, Link
from septet.postgres.store.packing import refuse_texts
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.store.transactions import PostgresReading, PostgresWriting, hold
from septet.postgres.tables.fragments import BY_ID, numbered, scalar

_Read = PostgresReading | PostgresWriting

#: Rows per fetch of `all_links`.
PAGE_ROWS = 5_000

_PUT = (
    "INSERT INTO septet.links "
    "(vault, bucket, node, other, other_bucket, row, other_row, outgoing, type, note, generation) "
    "SELECT %s::integer, w.*, %s::bigint FROM unnest(%s::integer[], %s::text[], %s::text[], %s::integer[], "
    "%s::bigint[], %s::bigint[], %s::boolean[], %s::text[], %s::text[]) AS w "
    "ON CONFLICT (vault, bucket, node, other, outgoing) DO UPDATE SET row = excluded.row, "
    "other_row = excluded.other_row, type = excluded.type, note = excluded.note, generation = excluded.generation"
)
_ROWS = f"SELECT e.id, e.row FROM {BY_ID}"
_REMOVE = "DELETE FROM septet.links WHERE vault = %s AND bucket = %s AND node = %s AND other = %s AND outgoing = %s"
_REMOVE_OF = (
    "DELETE FROM septet.links l USING unnest(%s::bigint[]) AS w (row), septet.entries e "
    "WHERE e.vault = %s AND e.bucket = %s + (w.row & 1023)::integer AND e.row = w.row "
    'AND l.vault = e.vault AND l.bucket = e.bucket AND l.node = e.id COLLATE "C" '
    "RETURNING l.other_bucket, l.other, l.node, NOT l.outgoing"
)
_REMOVE_OTHERS = (
    "DELETE FROM septet.links l USING unnest(%s::integer[], %s::text[], %s::text[], %s::boolean[]) "
    "AS w (bucket, node, other, outgoing) WHERE l.vault = %s AND l.bucket = w.bucket "
    'AND l.node = w.node COLLATE "C" AND l.other = w.other COLLATE "C" AND l.outgoing = w.outgoing'
)
_LINKED_BY = (
    "SELECT other FROM septet.links WHERE vault = %s AND bucket = %s AND node = %s AND NOT outgoing "
    "AND type = %s::text ORDER BY other LIMIT 1"
)
_OF = (
    "SELECT DISTINCT CASE WHEN outgoing THEN node ELSE other END, CASE WHEN outgoing THEN other ELSE node END, "
    "type, note FROM septet.links l JOIN unnest(%s::integer[], %s::text[]) AS w (bucket, id) "
    'ON l.vault = %s AND l.bucket = w.bucket AND l.node = w.id COLLATE "C" ORDER BY 1, 2'
)
_ALL = "SELECT node, other, type, note FROM septet.links WHERE vault = %s AND outgoing ORDER BY node, other"


def put(write: PostgresWriting, links: Iterable[Link]) -> None:
    stored = {link[:2]: link for link in links}
    for link in stored.values():
        refuse_texts("a link", *link)
    if not stored:
        return
    vault = write.vault
    ends = sorted({end for pair in stored for end in pair})
    hold(write, ends)
    entries = write.sql.execute(_ROWS, ([vault.bucket_of(end) for end in ends], ends, vault.number))
    places = {entry_id: (vault.bucket_of_row(row), row) for entry_id, row in entries}
    rows = []
    for source, target, kind, note in stored.values():
        # Skip links of entries that never existed.
        if source in places and target in places:
            (bucket, row), (other_bucket, other_row) = places[source], places[target]
            rows.append((bucket, source, target, other_bucket, row, other_row, True, kind, note))
            rows.append((other_bucket, target, source, bucket, other_row, row, False, kind, note))
    if rows:
        write.sql.execute(_PUT, (vault.number, write.generation, *map(list, zip(*sorted(rows)))))


def remove(write: PostgresWriting, source: str, target: str) -> bool:
    if "\0" in source + target:
        return False
    hold(write, (source, target))
    number, bucket_of = write.vault.number, write.vault.bucket_of
    exists = write.sql.execute(_REMOVE, (number, bucket_of(source), source, target, True)).rowcount > 0
    if exists:
        write.sql.execute(_REMOVE, (number, bucket_of(target), target, source, False))
    return exists


def remove_of_rows(write: PostgresWriting, rows: Sequence[int]) -> None:
    """Remove the links from and to the entries at these rows."""
    others = write.sql.execute(_REMOVE_OF, numbered(write.vault, rows)).fetchall()
    if others:
        write.sql.execute(_REMOVE_OTHERS, (*map(list, zip(*others)), write.vault.number))


def linked_by(read: _Read, target: str, type: str) -> str | None:
    if "\0" in target:
        return None
    hold(read, [target])
    place = read.vault.number, read.vault.bucket_of(target), target
    result = read.sql.execute(_LINKED_BY, (*place, type)).fetchone()
    return None if result is None else str(result[0])


def links_of(read: _Read, entry_ids: Sequence[str]) -> list[Link]:
    ids = [entry_id for entry_id in entry_ids if "\0" not in entry_id]
    if not ids:
        return []
    links = read.sql.execute(_OF, ([*map(read.vault.bucket_of, ids)], ids, read.vault.number))
    return [*map(Link._make, links)]


def all_links(read: _Read) -> Iterator[Link]:
    with read.sql.cursor(name="septet_links") as cursor:
        cursor.itersize = PAGE_ROWS
        cursor.execute(_ALL, (read.vault.number,))
        yield from map(Link._make, cursor)


def count(read: _Read) -> int:
    return scalar(read, "SELECT count(*) FROM septet.links WHERE vault = %s AND outgoing", (read.vault.number,))


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
    vault = {"vault": read.vault.number, "first": read.vault.first_bucket}
    named = {**vault, "starts": list(dict.fromkeys(starts)), "steps": depth - 1, "most": limit}
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
