"""The vector leg: the entries with the nearest vectors to a query.

Scans every vector, unless the space has an index (`septet.postgres.store.vector_index`), which is faster and
approximate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.packing import COLUMNS, parameter_of, sent
from septet.postgres.store.pipeline import Statement, together
from septet.postgres.tables.fragments import searched, vector_key

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.model.vector import Space
    from septet.postgres.store.transactions import PostgresReading
    from septet.postgres.store.vaults import VaultRow
    from septet.store.rows import Condition


#: Surplus of results, and maximum error of distances, which pgvector sums in float32: an entry after the last wanted
#: one may be nearer. `near` drops those that are farther by more than the error.
MORE, _MISSED = 16, 1 / 100_000
#: Surplus of vectors selected before joining their entries, as a share of those wanted: 1 / 4.
_SPARE = 4
#: Candidates of an index scan per wanted result, and their minimum and maximum, within pgvector's limits.
_FOLLOWED, _LEAST_FOLLOWED, _MOST_FOLLOWED = 2, 100, 1_000

_JOINED = """
SELECT e.row, {distance} AS distance
FROM septet.vectors v
JOIN septet.entries e ON e.vault = v.vault AND e.bucket = v.bucket AND {joined}
WHERE v.vault = {vault} AND v.space = {space} AND {condition}
ORDER BY distance, e.row LIMIT {most}
"""
# Forces the index: the planner underestimates how many entries pass a filter and would not use it.
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
# Without a filter nearly every entry passes, so select the nearest vectors before joining their entries. Join all
# vectors if too few entries pass, or if others may be as near as the last one.
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
# Citus does not stop subqueries early on shards, so there the client reads the vectors, then their entries.
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
# `SET LOCAL` reaches the workers; set_config() does not.
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
    # In the collation of ids, to use their index.
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
    """Return the statement for the passing entries nearest to a unit vector ``(d,)``.

    Each result has the row and the distance of an entry, nearest first; `near` drops the surplus. On a cluster, unless
    narrowed, each has bucket, key and distance of a vector instead, for `entries`.

    Args:
        indexed: the space has an index; execute `settings` before.
        narrowed: few entries may pass the condition; the planner chooses whether to use the index.
    """
    kind = vault.vectors
    distance = f"v.{COLUMNS[kind]}::vector <=> %s::vector"
    if indexed:
        distance = f"(v.{indexed_expression(kind, space.dimensions)}) <=> %s::{kind}({int(space.dimensions)})"
    # Inlined numbers: the partial index of a space requires a constant, and a cached plan a known limit.
    numbers = {"vault": int(vault.number), "space": int(space.space)}
    limit, text = int(most) + MORE, parameter_of(query)
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
        first=limit + limit // _SPARE,
        most=limit,
        **numbers,
    )
    return Statement(sql, parameters)


class Leg(NamedTuple):
    """A query without a filter: its unit vector ``(d,)``, maximum results, and the condition on entries."""

    query: NDArray[np.float32]
    most: int
    condition: Condition


def entries(
    read: PostgresReading, space: Space, legs: Sequence[Leg], vectors: Sequence[Sequence[tuple[int, str, float]]]
) -> list[list[tuple[int, float]]]:
    """Return rows and distances of the nearest entries by leg, from the vectors of `nearest` on a cluster."""
    vault, joined = read.vault, _BY[space.keyed_by]
    queries = [
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
    rows = [_nearest_rows(*answer) for answer in zip(vectors, together(read, queries), (leg.most for leg in legs))]
    # Too few entries pass, or too many are equally near: join all vectors with their entries.
    missing = [at for at, answer in enumerate(rows) if answer is None]
    again = [nearest(vault, space, *legs[at]) for at in missing]
    for at, answer in zip(missing, together(read, again)):
        rows[at] = answer
    return [answer or [] for answer in rows]


def _nearest_rows(
    vectors: Sequence[tuple[int, str, float]], entries: Sequence[tuple[int, str, int]], most: int
) -> list[tuple[int, float]] | None:
    """Return rows and distances; None if an entry that was not read may be among the ``most`` nearest."""
    distances = {(bucket, key): distance for bucket, key, distance in vectors}
    rows = sorted((distances[bucket, key], row) for bucket, key, row in entries)
    limit = most + MORE
    if len(vectors) == limit + limit // _SPARE:
        *_, farthest = vectors[-1]
        if sum(distance < farthest for distance, _ in rows) < limit:
            return None
    return [(row, distance) for distance, row in rows[:limit]]


def near(rows: Sequence[tuple[int, float]], most: int) -> list[int]:
    """Return the rows from `nearest` that may be among the ``most`` nearest."""
    if len(rows) <= most:
        return [row for row, _ in rows]
    last = rows[most - 1][1] + _MISSED
    return [row for row, distance in rows if distance <= last]


def settings(vault: VaultRow, most: int) -> list[Statement]:
    """Return the statements that let index scans of a transaction find ``most`` passing entries."""
    followed = min(max(_FOLLOWED * (most + MORE), _LEAST_FOLLOWED), _MOST_FOLLOWED)
    if vault.distributed:
        return [Statement(sql.format(followed=followed)) for sql in _SETTINGS_OF_ALL]
    return [Statement(_SETTINGS, (str(followed),))]


def indexed_expression(kind: str, dimensions: int) -> str:
    """Return the indexed expression over ``septet.vectors``; ``kind`` is the type of the vault's vectors."""
    return f"{COLUMNS[kind]}::{kind}({int(dimensions)})"


def index_name(vault: VaultRow, space: Space) -> str:
    """Return the name of the index over the vectors of a space."""
    return f"vectors_{int(vault.number)}_{int(space.space)}_hnsw"


def sampled(vault: VaultRow, space: Space, limit: int, *, memories: bool) -> Statement:
    """Return the statement for sample keys, up to a limit, and vectors of entries, with memories if ``memories``."""
    sql = _SAMPLED.format(sent=sent(vault.vectors), joined=_BY[space.keyed_by], condition=searched(memories))
    return Statement(sql, (vault.number, space.space, limit))


def drawn(vault: VaultRow, space: Space, limit: int, most: int, *, memories: bool) -> Statement:
    """Return the statement for the rows of the first ``most`` entries of a sample, by key."""
    sql = _DRAWN.format(joined=_BY[space.keyed_by], condition=searched(memories))
    return Statement(sql, (vault.number, space.space, limit, most))


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
