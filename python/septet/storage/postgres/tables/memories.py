"""Memories by full text, as FTS5 ranks them: by statistics of memories alone.

Where profiles give them a fixed score, this is their order; else it is how they score for a query with a phrase.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.storage.postgres.analysis import GRAMS
from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.found import FACTS, vector_of

if TYPE_CHECKING:
    from septet.spaces import Space
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.tables.fulltext import Needed, Posting
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["EQUAL", "best", "counted", "holding", "scored"]

#: Weights of id, title, description, context, tags and grams, as FTS5's default rank has them.
EQUAL = (1.0, 1.0, 1.0, 0.0, 1.0, 1.0)

# How often a memory holds a term; as in a local vault, full text knows no context of memories.
_HELD = """
WITH asked AS MATERIALIZED (SELECT * FROM unnest(%s::text[]) WITH ORDINALITY AS a (term, place)),
posted AS (
    SELECT p.bucket, p.row, a.term, a.place, p.id + p.title + p.description + p.tags AS times, CASE WHEN p.part = 0
        THEN p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.tags * c.w[5]
        ELSE p.title * c.w[6] END AS f
    FROM asked a CROSS JOIN (SELECT %s::float8[] AS w) c
    JOIN septet.postings p
        ON p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part IN (0, 1) AND p.term = ANY(%s::text[])
        AND p.term = a.term
    WHERE p.memory
    UNION ALL
    SELECT p.bucket, p.row, a.term, a.place, p.times, p.f
    FROM asked a JOIN unnest(%s::text[], %s::int[], %s::bigint[], %s::int[], %s::float8[])
        AS p (term, bucket, row, times, f)
        ON p.term = a.term
),
held AS MATERIALIZED (
    SELECT p.bucket, p.row, p.term, p.place, sum(p.f) AS f FROM posted p WHERE p.times > 0
    GROUP BY p.bucket, p.row, p.term, p.place
),
"""
_RANKED = """
totals AS (SELECT %s::float8 AS rows, %s::float8 AS average),
rare AS (
    SELECT h.term, greatest(ln((t.rows - count(DISTINCT h.row) + 0.5) / (count(DISTINCT h.row) + 0.5)), 1e-6) AS idf
    FROM held h CROSS JOIN totals t GROUP BY h.term, t.rows
),
needed AS (SELECT * FROM unnest(%s::int[], %s::text[], %s::int[], %s::int[]) AS n (word, term, piece, pieces)),
whole AS (
    SELECT w.row FROM (
        SELECT h.row, n.word FROM needed n JOIN (SELECT DISTINCT row, term FROM held) h ON h.term = n.term
        GROUP BY h.row, n.word
        HAVING bool_or(n.piece = 0) OR count(DISTINCT n.piece) FILTER (WHERE n.piece > 0) = max(n.pieces)
    ) w GROUP BY w.row HAVING count(*) = %s
),
lengths AS (
    SELECT h.bucket, h.row, (
        SELECT sum(p.id + p.title + p.description + p.tags)::float8 FROM septet.postings p
        WHERE p.vault = %s AND p.bucket = h.bucket AND p.row = h.row
    ) AS tokens FROM (SELECT DISTINCT bucket, row FROM held) h
),
ranked AS (
    SELECT h.bucket, h.row, h.row IN (SELECT w.row FROM whole w) AS whole,
        sum(r.idf * ((h.f * 2.2) / (h.f + 1.2 * (0.25 + 0.75 * l.tokens / t.average))) ORDER BY h.place) AS score
    FROM held h JOIN rare r ON r.term = h.term JOIN lengths l ON l.bucket = h.bucket AND l.row = h.row
    CROSS JOIN totals t WHERE h.place <= %s GROUP BY h.bucket, h.row
),
passing AS MATERIALIZED (
    SELECT r.* FROM ranked r JOIN septet.entries e ON e.vault = %s AND e.bucket = r.bucket AND e.row = r.row
    WHERE {condition}
)
"""
_BEST = f"""
SELECT (SELECT count(*) FROM passing), NULL, {FACTS} FROM (
    SELECT * FROM passing ORDER BY whole DESC, score DESC, row LIMIT %s
) r JOIN septet.entries e ON e.vault = %s AND e.bucket = r.bucket AND e.row = r.row
ORDER BY r.whole DESC, r.score DESC, r.row
"""
_SCORED = f"""
SELECT (SELECT count(*) FROM passing), (SELECT count(*) FROM passing WHERE whole), r.whole, r.score, {{vector}}, {FACTS}
FROM (SELECT * FROM passing ORDER BY whole DESC, score DESC, row LIMIT %s) r
JOIN septet.entries e ON e.vault = %s AND e.bucket = r.bucket AND e.row = r.row
ORDER BY r.whole DESC, r.score DESC, r.row
"""
_HOLDING = "SELECT h.term, count(DISTINCT h.row) FROM held h GROUP BY h.term"
_COUNTED = """
SELECT count(*) FROM (
    SELECT 1 FROM (SELECT DISTINCT h.bucket, h.row FROM held h) h
    JOIN septet.entries e ON e.vault = %s AND e.bucket = h.bucket AND e.row = h.row
    WHERE {condition} LIMIT %s
) c
"""


def best(
    vault: VaultRow,
    terms: Sequence[str],
    needed: Needed,
    totals: tuple[int, float],
    condition: Condition,
    most: int,
    phrases: Sequence[Posting] = (),
) -> Statement:
    """Return what asks for the best memories: those that hold every needed word first, then by rank, then by row.

    Each row has the number of all that match, and, behind nothing, the facts of
    `septet.storage.postgres.tables.found`.

    Args:
        terms: of the query, in their order.
        totals: how many memories there are, and the tokens of an average one.
        phrases: postings of the phrases among the terms.
    """
    sql, given = _ranked(vault, terms, needed, totals, condition, phrases, EQUAL)
    return Statement(sql + _BEST, (*given, most, vault.number))


def scored(
    vault: VaultRow,
    terms: Sequence[str],
    needed: Needed,
    totals: tuple[int, float],
    condition: Condition,
    most: int,
    phrases: Sequence[Posting],
    weights: Sequence[float],
    space: Space | None,
) -> Statement:
    """Return what asks for the same with what scoring reads of them.

    Each row has the numbers of all that match and of those that hold every needed word, whether it does, its score,
    its vector and its facts.

    Args:
        weights: of the columns, as `EQUAL` has them.
        space: whose vectors are brought.
    """
    sql, given = _ranked(vault, terms, needed, totals, condition, phrases, weights)
    vector, of_vector = vector_of(vault, space)
    return Statement(sql + _SCORED.format(vector=vector), (*given, *of_vector, most, vault.number))


def holding(vault: VaultRow, terms: Sequence[str], phrases: Sequence[Posting]) -> Statement:
    """Return what counts by term the memories that hold it."""
    return Statement(_HELD.rstrip().rstrip(",") + _HOLDING, _of_held(vault, terms, phrases, EQUAL))


def counted(
    vault: VaultRow, terms: Sequence[str], condition: Condition, most: int, phrases: Sequence[Posting] = ()
) -> Statement:
    """Return what counts memories that hold a term and pass a condition, so many at most."""
    sql = _HELD.rstrip().rstrip(",") + _COUNTED.format(condition=condition.sql)
    given = _of_held(vault, terms, phrases, EQUAL)
    return Statement(sql, (*given, vault.number, *condition.parameters, most))


def _ranked(
    vault: VaultRow,
    terms: Sequence[str],
    needed: Needed,
    totals: tuple[int, float],
    condition: Condition,
    phrases: Sequence[Posting],
    weights: Sequence[float],
) -> tuple[str, tuple[object, ...]]:
    """Return the beginning of a statement, in which ``passing`` are all matches, and its parameters."""
    more = [name for name in dict.fromkeys(needed.terms) if name not in frozenset(terms)]
    given = (
        *_of_held(vault, [*terms, *more], phrases, weights), *totals, *map(list, needed[:4]), needed.every,
        vault.number, len(terms), vault.number, *condition.parameters,
    )  # fmt: skip
    return _HELD + _RANKED.format(condition=condition.sql), given


def _of_held(
    vault: VaultRow, terms: Sequence[str], phrases: Sequence[Posting], weights: Sequence[float]
) -> tuple[object, ...]:
    every = list(terms)
    held = [
        (p.term, p.bucket, p.row, p.id + p.title + p.description + p.tags, _weighed(p, weights))
        for p in phrases
        if p.memory
    ]
    posted = ([row[at] for row in held] for at in range(5))
    return every, list(weights), vault.number, vault.all_buckets, every, *posted


def _weighed(one: Posting, weights: Sequence[float]) -> float:
    if one.part == GRAMS:
        return weights[5] * one.title
    return one.weighed([*weights[:3], 0.0, weights[4]])
