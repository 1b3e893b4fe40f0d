"""Full-text ranking of memories by FTS5's formula, with statistics of memories only.

Profiles with a fixed score for memories use its order; others use its score for queries with a phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.postgres.store.analysis import GRAMS
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fulltext import holding_all

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.fulltext import Needed, Posting
    from septet.store.rows import Condition

#: Weights of id, title, description, context, tags and grams in FTS5's default rank.
EQUAL = (1.0, 1.0, 1.0, 0.0, 1.0, 1.0)

# Term frequencies in memories; as in a local vault, full text does not index their context.
_POSTED = """
    SELECT p.bucket, p.row, a.place, p.id + p.title + p.description + p.tags AS times, CASE WHEN p.part = 0
        THEN p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.tags * c.w[5]
        ELSE p.title * c.w[6] END AS f
    FROM unnest(%s::text[]) WITH ORDINALITY AS a (term, place) CROSS JOIN (SELECT %s::float8[] AS w) c
    JOIN septet.postings p ON p.term = a.term
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part IN (0, 1) AND p.term = ANY(%s::text[]) AND p.memory
"""
# Postings of phrases are parameters; joining entries assigns each to its shard.
_PHRASES = """
    UNION ALL
    SELECT e.bucket, e.row, p.place, p.times, p.f
    FROM unnest(%s::bigint[], %s::int[], %s::bigint[], %s::int[], %s::float8[]) AS p (place, bucket, row, times, f)
    JOIN septet.entries e ON e.vault = %s AND e.bucket = p.bucket AND e.row = p.row
"""
HELD = """
WITH held AS MATERIALIZED (
    SELECT p.bucket, p.row, p.place, sum(p.f) AS f FROM ({posted}) p WHERE {any}
    GROUP BY p.bucket, p.row, p.place
)
"""
# Statistics of memories only, computed from all that hold a term.
RANKED = """
, totals AS (SELECT %s::float8 AS rows, %s::float8 AS average),
rare AS MATERIALIZED (
    SELECT h.place, greatest(ln((t.rows - count(*) + 0.5) / (count(*) + 0.5)), 1e-6) AS idf
    FROM held h CROSS JOIN totals t GROUP BY h.place, t.rows
),
lengths AS MATERIALIZED (
    SELECT p.bucket, p.row, sum(p.id + p.title + p.description + p.tags)::float8 AS tokens
    FROM (SELECT DISTINCT h.bucket, h.row FROM held h) h
    JOIN septet.postings p ON p.bucket = h.bucket AND p.row = h.row WHERE p.vault = %s GROUP BY p.bucket, p.row
),
scored AS MATERIALIZED (
    SELECT h.bucket, h.row, array_agg(h.place::integer) AS places,
        sum(r.idf * ((h.f * 2.2) / (h.f + 1.2 * (0.25 + 0.75 * l.tokens / t.average))) ORDER BY h.place)
            FILTER (WHERE h.place <= %s) AS score
    FROM held h JOIN rare r ON r.place = h.place JOIN lengths l ON l.bucket = h.bucket AND l.row = h.row
    CROSS JOIN totals t GROUP BY h.bucket, h.row
),
passing AS MATERIALIZED (
    SELECT s.row, {whole} AS whole, s.score FROM scored s
    JOIN septet.entries e ON e.vault = %s AND e.bucket = s.bucket AND e.row = s.row
    WHERE {condition} AND s.score IS NOT NULL
)
SELECT (SELECT count(*) FROM passing), (SELECT count(*) FROM passing WHERE whole), p.whole, p.score, p.row
FROM passing p ORDER BY p.whole DESC, p.score DESC, p.row LIMIT %s
"""
_HOLDING = "SELECT h.place::integer, count(*) FROM held h GROUP BY h.place"
_COUNTED = """
SELECT count(*) FROM (
    SELECT e.row FROM (SELECT DISTINCT h.bucket, h.row FROM held h) h
    JOIN septet.entries e ON e.vault = %s AND e.bucket = h.bucket AND e.row = h.row
    WHERE {condition} LIMIT %s
) c
"""


def scored(
    vault: VaultRow,
    terms: Sequence[str],
    needed: Needed,
    totals: tuple[int, float],
    condition: Condition,
    most: int,
    phrases: Sequence[Posting] = (),
    weights: Sequence[float] = EQUAL,
) -> Statement:
    """Return the statement for the best memories: with every needed word first, then by score, then by row.

    Each result has the numbers of all matches and of those with every needed word, whether it is one of these, its
    score and its row.

    Args:
        totals: number of memories, and their average tokens.
        weights: weights of columns, in the order of `EQUAL`.
    """
    every = [*terms, *(name for name in dict.fromkeys(needed.terms) if name not in frozenset(terms))]
    sql, parameters = _held(vault, every, phrases, weights)
    whole, whole_parameters = holding_all(needed, every, "s.places")
    sql += RANKED.format(whole=whole, condition=condition.sql)
    parameters += [*totals, vault.number, len(terms), *whole_parameters, vault.number, *condition.parameters, most]
    return Statement(sql, parameters)


def holding(vault: VaultRow, terms: Sequence[str], phrases: Sequence[Posting]) -> Statement:
    """Return the statement for the number of memories by the place, from 1, of a term they hold."""
    sql, parameters = _held(vault, terms, phrases, EQUAL)
    return Statement(sql + _HOLDING, parameters)


def counted(
    vault: VaultRow, terms: Sequence[str], condition: Condition, most: int, phrases: Sequence[Posting] = ()
) -> Statement:
    """Return the statement that counts at most ``most`` memories with a term that pass a condition."""
    sql, parameters = _held(vault, terms, phrases, EQUAL)
    parameters += [vault.number, *condition.parameters, most]
    return Statement(sql + _COUNTED.format(condition=condition.sql), parameters)


def _held(
    vault: VaultRow, terms: Sequence[str], phrases: Sequence[Posting], weights: Sequence[float]
) -> tuple[str, list[object]]:
    """Return the CTE ``held`` of memories with each term they hold, and its parameters."""

    def weigh(posting: Posting) -> float:
        if posting.part == GRAMS:
            return weights[5] * posting.title
        return posting.weighed([*weights[:3], 0.0, weights[4]])

    every = list(terms)
    sql, parameters = _POSTED, [every, list(weights), vault.number, vault.all_buckets, every]
    posted = [
        (place, p.bucket, p.row, p.id + p.title + p.description + p.tags, weigh(p))
        for place, term in enumerate(every, 1)
        for p in phrases
        if p.memory and p.term == term
    ]
    if posted:
        sql += _PHRASES
        parameters += [*map(list, zip(*posted)), vault.number]
    return HELD.format(posted=sql, any="p.times > 0"), parameters
