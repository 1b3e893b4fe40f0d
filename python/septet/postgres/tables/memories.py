"""Memories by full text, as FTS5 ranks them: by statistics of memories alone.

Where profiles give them a fixed score, this is their order; else it is how they score for a query with a phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.postgres.store.analysis import GRAMS
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fulltext import holding_all

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.conditions import Condition
    from septet.postgres.tables.fulltext import Needed, Posting

__all__ = ["EQUAL", "HELD", "RANKED", "counted", "holding", "scored"]

#: Weights of id, title, description, context, tags and grams, as FTS5's default rank has them.
EQUAL = (1.0, 1.0, 1.0, 0.0, 1.0, 1.0)

# How often a memory holds a term; as in a local vault, full text knows no context of memories.
_POSTED = """
    SELECT p.bucket, p.row, a.place, p.id + p.title + p.description + p.tags AS times, CASE WHEN p.part = 0
        THEN p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.tags * c.w[5]
        ELSE p.title * c.w[6] END AS f
    FROM unnest(%s::text[]) WITH ORDINALITY AS a (term, place) CROSS JOIN (SELECT %s::float8[] AS w) c
    JOIN septet.postings p ON p.term = a.term
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part IN (0, 1) AND p.term = ANY(%s::text[]) AND p.memory
"""
# The postings of phrases come with the question; the entries say in which shard each belongs.
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
# By statistics of memories alone, which all that hold a word tell.
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
    """Return what asks for the best memories: those that hold every needed word first, then by score, then by row.

    Each row has the numbers of all that match and of those that hold every needed word, whether it does, its score,
    and the row.

    Args:
        terms: of the query, in their order.
        totals: how many memories there are, and the tokens of an average one.
        phrases: postings of the phrases among the terms.
        weights: of the columns, as `EQUAL` has them.
    """
    every = [*terms, *(name for name in dict.fromkeys(needed.terms) if name not in frozenset(terms))]
    sql, given = _held(vault, every, phrases, weights)
    whole, of_whole = holding_all(needed, every, "s.places")
    sql += RANKED.format(whole=whole, condition=condition.sql)
    given += [*totals, vault.number, len(terms), *of_whole, vault.number, *condition.parameters, most]
    return Statement(sql, given)


def holding(vault: VaultRow, terms: Sequence[str], phrases: Sequence[Posting]) -> Statement:
    """Return what counts by the place of a term, from 1, the memories that hold it."""
    sql, given = _held(vault, terms, phrases, EQUAL)
    return Statement(sql + _HOLDING, given)


def counted(
    vault: VaultRow, terms: Sequence[str], condition: Condition, most: int, phrases: Sequence[Posting] = ()
) -> Statement:
    """Return what counts memories that hold a term and pass a condition, so many at most."""
    sql, given = _held(vault, terms, phrases, EQUAL)
    given += [vault.number, *condition.parameters, most]
    return Statement(sql + _COUNTED.format(condition=condition.sql), given)


def _held(
    vault: VaultRow, terms: Sequence[str], phrases: Sequence[Posting], weights: Sequence[float]
) -> tuple[str, list[object]]:
    """Return the beginning of a statement, in which ``held`` has each memory with each term it holds."""
    every = list(terms)
    sql, given = _POSTED, [every, list(weights), vault.number, vault.all_buckets, every]
    posted = [
        (place, p.bucket, p.row, p.id + p.title + p.description + p.tags, _weighed(p, weights))
        for place, term in enumerate(every, 1)
        for p in phrases
        if p.memory and p.term == term
    ]
    if posted:
        sql += _PHRASES
        given += [*map(list, zip(*posted)), vault.number]
    return HELD.format(posted=sql, any="p.times > 0"), given


def _weighed(one: Posting, weights: Sequence[float]) -> float:
    if one.part == GRAMS:
        return weights[5] * one.title
    return one.weighed([*weights[:3], 0.0, weights[4]])
