"""Links between entries, each stored for both ends, in their buckets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from septet.model.links import Link
from septet.postgres.store.locks import hold
from septet.postgres.store.packing import refuse_texts
from septet.postgres.store.transactions import PostgresReading, PostgresWriting
from septet.postgres.tables.fragments import numbered, scalar

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
_ROWS = (
    "SELECT e.id, e.row FROM unnest(%s::integer[], %s::text[]) AS w (bucket, id) JOIN septet.entries e "
    "ON e.vault = %s AND e.bucket = w.bucket AND e.id = w.id"
)
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
    "SELECT CASE WHEN outgoing THEN node ELSE other END, CASE WHEN outgoing THEN other ELSE node END, type, note "
    "FROM septet.links WHERE vault = %s AND bucket = %s AND node = %s ORDER BY 1, 2"
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


def links_of(read: _Read, entry_id: str) -> list[Link]:
    if "\0" in entry_id:
        return []
    links = read.sql.execute(_OF, (read.vault.number, read.vault.bucket_of(entry_id), entry_id))
    return [*map(Link._make, links)]


def all_links(read: _Read) -> Iterator[Link]:
    with read.sql.cursor(name="septet_links") as cursor:
        cursor.itersize = PAGE_ROWS
        cursor.execute(_ALL, (read.vault.number,))
        yield from map(Link._make, cursor)


def count(read: _Read) -> int:
    return scalar(read, "SELECT count(*) FROM septet.links WHERE vault = %s AND outgoing", (read.vault.number,))
