"""The vector leg: the entries whose vectors are the nearest to a query's.

Every vector is looked at, unless the space has an index (`septet.postgres.store.vector_index`), which answers sooner
and nearly always the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.packing import COLUMNS, asked, sent
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.tables.fragments import FINDABLE, SEARCHABLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.spaces import Space
    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.conditions import Condition

__all__ = ["Leg", "drawn", "entries", "index_name", "indexed_expression", "near", "nearest", "sampled", "settings"]

#: pgvector adds in float32, and misses distances by less than this. So more are looked at than are wanted, as one may
#: be nearer than the last of them; those that are farther by more are left there.
MORE, _MISSED = 16, 1 / 100_000
#: Vectors chosen before their entries are looked up, beyond those wanted, as a share of them: 1 / 4.
_SPARE = 4
#: So many candidates an index is followed by, for each one that is wanted, within pgvector's limits.
_FOLLOWED, _LEAST_FOLLOWED, _MOST_FOLLOWED = 2, 100, 1_000

_JOINED = """
SELECT e.row, {distance} AS distance
FROM septet.vectors v
JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {joined}
WHERE v.vault = {vault} AND v.space = {space} AND {condition}
ORDER BY distance, e.row LIMIT {most}
"""
# The planner takes filters for rarer than they are, and does without an index then; here it cannot.
_FOLLOWING = """
SELECT e.row, {distance} AS distance
FROM septet.vectors v
CROSS JOIN LATERAL (
    SELECT e.row FROM septet.entries e
    WHERE e.vault = {vault} AND e.bucket = v.bucket AND {joined} AND {condition} OFFSET 0
) e
WHERE v.vault = {vault} AND v.space = {space}
ORDER BY distance LIMIT {most}
"""
# Nearly every entry passes where there is no filter: so the nearest vectors are chosen before their entries are looked
# up. All of them are joined where too few of these pass, or where some may be as near as the last one.
_VECTORS_FIRST = """
WITH first AS MATERIALIZED (
    SELECT v.bucket, v.key, {distance} AS distance FROM septet.vectors v
    WHERE v.vault = {vault} AND v.space = {space} ORDER BY distance LIMIT {first}
), passing AS MATERIALIZED (
    SELECT e.row, v.distance FROM first v
    JOIN septet.entries e ON e.vault = {vault} AND e.bucket = v.bucket AND {joined}
    WHERE {condition}
), enough AS MATERIALIZED (
    SELECT (SELECT count(*) FROM first) < {first} OR (
        SELECT count(*) FROM passing p WHERE p.distance < (SELECT max(f.distance) FROM first f)
    ) >= {most} AS enough
)
SELECT b.row, b.distance FROM (
    SELECT p.row, p.distance FROM passing p WHERE (SELECT n.enough FROM enough n)
    UNION ALL
    SELECT e.row, {distance} AS distance
    FROM septet.vectors v JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {joined}
    WHERE v.vault = {vault} AND v.space = {space} AND {condition} AND NOT (SELECT n.enough FROM enough n)
) b ORDER BY b.distance, b.row LIMIT {most}
"""
# Citus ends no subquery early on a shard, so there a client asks for the vectors, and then for their entries.
_VECTORS = """
SELECT v.bucket, v.key, {distance} AS distance FROM septet.vectors v
WHERE v.vault = {vault} AND v.space = {space} ORDER BY distance LIMIT {first}
"""
_PASSING = """
SELECT v.bucket, v.key, e.row FROM unnest(%s::integer[], %s::text[]) AS v (bucket, key)
JOIN septet.entries e ON e.vault = %s AND e.bucket = v.bucket AND {joined} WHERE {condition}
"""
_SETTINGS = (
    "SELECT set_config('hnsw.ef_search', %s::text, true), set_config('hnsw.iterative_scan', 'relaxed_order', true), "
    "set_config('hnsw.max_scan_tuples', '200000', true)"
)
# What reaches the workers.
_SETTINGS_OF_ALL = (
    "SET LOCAL citus.propagate_set_commands TO 'local'",
    "SET LOCAL hnsw.ef_search TO {followed}",
    "SET LOCAL hnsw.iterative_scan TO 'relaxed_order'",
    "SET LOCAL hnsw.max_scan_tuples TO 200000",
)
_SAMPLED = """
SELECT v.sample, {sent} FROM septet.vectors v
JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {joined}
WHERE v.vault = %s AND v.space = %s AND v.sample <= %s AND {condition} ORDER BY v.sample, e.row
"""
_DRAWN = """
SELECT DISTINCT ON (v.sample) e.row FROM septet.vectors v
JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {joined}
WHERE v.vault = %s AND v.space = %s AND v.sample <= %s AND {condition} ORDER BY v.sample, e.row LIMIT %s
"""
_BY = {
    "text": "e.text_hash = v.key",
    # In the collation of ids, so that their index answers.
    "entry": (
        "e.id = substr(v.key, strpos(v.key, ':') + 1) COLLATE \"default\" AND v.key = e.text_hash || ':' || e.id"
    ),
}


def nearest(
    vault: VaultRow,
    space: Space,
    query: NDArray[np.float32],
    most: int,
    condition: Condition,
    *,
    indexed: bool = False,
    narrowed: bool = True,
) -> Statement:
    """Return what asks for the entries that pass a condition and are the nearest to a unit vector ``(d,)``.

    Each row has the row of an entry and its distance, the nearest first; `near` leaves out those that are too many.
    On a cluster that is not narrowed rows have a bucket, a key and its distance instead, for `entries`.

    Args:
        indexed: the space has an index; send `settings` before.
        narrowed: few may pass the condition: whether to follow the index is the planner's choice.
    """
    kind = vault.vectors
    distance = f"v.{COLUMNS[kind]}::vector <=> %s::vector"
    if indexed:
        distance = f"(v.{indexed_expression(kind, space.dimensions)}) <=> %s::{kind}({int(space.dimensions)})"
    # Numbers of ours are written out: an index of one space is found by them, and a plan that is kept must know that
    # few rows are wanted.
    numbers = {"vault": int(vault.number), "space": int(space.space)}
    wanted, text = int(most) + MORE, asked(query)
    parameters = (text, *condition.parameters)
    if narrowed:
        sql = _JOINED
    elif vault.distributed:
        sql, parameters = _VECTORS, (text,)
    elif indexed:
        sql = _FOLLOWING
    else:
        sql, parameters = _VECTORS_FIRST, (*parameters, *parameters)
    sql = sql.format(
        distance=distance,
        joined=_BY[space.keyed_by],
        condition=condition.sql,
        first=wanted + wanted // _SPARE,
        most=wanted,
        **numbers,
    )
    return Statement(sql, parameters)


class Leg(NamedTuple):
    """A query whose nearest entries are wanted, without a filter: its unit vector ``(d,)``, how many, which may be."""

    query: NDArray[np.float32]
    most: int
    condition: Condition


def entries(
    read: PostgresReading, space: Space, legs: Sequence[Leg], vectors: Sequence[Sequence[tuple[int, str, float]]]
) -> list[list[tuple[int, float]]]:
    """Return the rows of the nearest entries and their distances by leg, as one server answers `nearest`.

    Args:
        vectors: by leg what a cluster answered.
    """
    vault, joined = read.vault, _BY[space.keyed_by]
    asked = [
        Statement(
            _PASSING.format(joined=joined, condition=leg.condition.sql),
            (
                [bucket for bucket, _, _ in nearby],
                [key for _, key, _ in nearby],
                vault.number,
                *leg.condition.parameters,
            ),
        )
        for leg, nearby in zip(legs, vectors)
    ]
    rows = [_passed(nearby, answer, leg.most) for leg, nearby, answer in zip(legs, vectors, together(read, asked))]
    # Many vectors have no entry that passes, or many are equally near: all are joined with their entries.
    missing = [at for at, answer in enumerate(rows) if answer is None]
    again = [nearest(vault, space, *legs[at]) for at in missing]
    for at, answer in zip(missing, together(read, again)):
        rows[at] = answer
    return [answer or [] for answer in rows]


def _passed(
    vectors: Sequence[tuple[int, str, float]], entries: Sequence[tuple[int, str, int]], most: int
) -> list[tuple[int, float]] | None:
    """Return rows and distances; None where an entry that was not looked up may be among the ``most`` nearest."""
    distances = {(bucket, key): distance for bucket, key, distance in vectors}
    rows = sorted((distances[bucket, key], row) for bucket, key, row in entries)
    wanted = most + MORE
    if len(vectors) == wanted + wanted // _SPARE:
        farthest = vectors[-1][2]
        if sum(distance < farthest for distance, _ in rows) < wanted:
            return None
    return [(row, distance) for distance, row in rows[:wanted]]


def near(rows: Sequence[tuple[int, float]], most: int) -> list[int]:
    """Return those of the rows that `nearest` gives which may be among so many nearest."""
    if len(rows) <= most:
        return [row for row, _ in rows]
    last = rows[most - 1][1] + _MISSED
    return [row for row, distance in rows if distance <= last]


def settings(vault: VaultRow, most: int) -> list[Statement]:
    """Return what has a transaction follow indexes far enough for so many, through entries that do not pass too."""
    followed = min(max(_FOLLOWED * (most + MORE), _LEAST_FOLLOWED), _MOST_FOLLOWED)
    if vault.distributed:
        return [Statement(one.format(followed=followed)) for one in _SETTINGS_OF_ALL]
    return [Statement(_SETTINGS, (str(followed),))]


def indexed_expression(kind: str, dimensions: int) -> str:
    """Return what of ``septet.vectors`` an index is over.

    Args:
        kind: what the vault's vectors are stored as.
    """
    return f"{COLUMNS[kind]}::{kind}({int(dimensions)})"


def index_name(vault: VaultRow, space: Space) -> str:
    """Return the name of the index over the vectors of a space."""
    return f"vectors_{int(vault.number)}_{int(space.space)}_hnsw"


def sampled(vault: VaultRow, space: Space, limit: int, *, memories: bool) -> Statement:
    """Return what asks for sample keys and vectors of entries, of keys up to a limit; with memories, if asked."""
    sql = _SAMPLED.format(
        sent=sent(vault.vectors),
        joined=_BY[space.keyed_by],
        condition=_sampled_from(memories),
    )
    return Statement(sql, (vault.number, space.space, limit))


def drawn(vault: VaultRow, space: Space, limit: int, most: int, *, memories: bool) -> Statement:
    """Return the statement for the rows of the first ``most`` entries of a sample, by key."""
    sql = _DRAWN.format(joined=_BY[space.keyed_by], condition=_sampled_from(memories))
    return Statement(sql, (vault.number, space.space, limit, most))


def _sampled_from(memories: bool) -> str:
    return FINDABLE if memories else f"e.live AND {SEARCHABLE}"
