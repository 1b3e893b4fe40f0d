"""Memories by full text, where profiles give them a fixed score: by FTS5's default rank over memories alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.found import FACTS

if TYPE_CHECKING:
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.tables.fulltext import Needed, Posting
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["best", "counted"]

# How often a memory holds a term; as in a local vault, full text knows no context of memories.
_HELD = """
WITH asked AS MATERIALIZED (SELECT * FROM unnest(%s::text[]) WITH ORDINALITY AS a (term, place)),
posted AS (
    SELECT p.bucket, p.row, a.term, a.place, p.id + p.title + p.description + p.tags AS f
    FROM asked a
    JOIN septet.postings p
        ON p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part IN (0, 1) AND p.term = ANY(%s::text[])
        AND p.term = a.term
    WHERE p.memory
    UNION ALL
    SELECT p.bucket, p.row, a.term, a.place, p.f
    FROM asked a JOIN unnest(%s::text[], %s::int[], %s::bigint[], %s::int[]) AS p (term, bucket, row, f)
        ON p.term = a.term
),
held AS MATERIALIZED (
    SELECT p.bucket, p.row, p.term, p.place, sum(p.f)::float8 AS f FROM posted p WHERE p.f > 0
    GROUP BY p.bucket, p.row, p.term, p.place
),
"""
_BEST = f"""
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
    WHERE {{condition}}
)
SELECT (SELECT count(*) FROM passing), NULL, {FACTS} FROM (
    SELECT * FROM passing ORDER BY whole DESC, score DESC, row LIMIT %s
) r JOIN septet.entries e ON e.vault = %s AND e.bucket = r.bucket AND e.row = r.row
ORDER BY r.whole DESC, r.score DESC, r.row
"""
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
    more = [name for name in dict.fromkeys(needed.terms) if name not in frozenset(terms)]
    sql = _HELD + _BEST.format(condition=condition.sql)
    every = [*terms, *more]
    given = (
        every, vault.number, vault.all_buckets, every, *_posted(phrases), *totals, *map(list, needed[:4]), needed.every,
        vault.number, len(terms), vault.number, *condition.parameters, most, vault.number,
    )  # fmt: skip
    return Statement(sql, given)


def counted(
    vault: VaultRow, terms: Sequence[str], condition: Condition, most: int, phrases: Sequence[Posting] = ()
) -> Statement:
    """Return what counts memories that hold a term and pass a condition, so many at most."""
    sql = _HELD.rstrip().rstrip(",") + _COUNTED.format(condition=condition.sql)
    given = (list(terms), vault.number, vault.all_buckets, list(terms), *_posted(phrases), vault.number)
    return Statement(sql, (*given, *condition.parameters, most))


def _posted(phrases: Sequence[Posting]) -> tuple[list[object], ...]:
    """Return the postings of memories as lists: phrases, buckets, rows, and how often they are held."""
    held = [(p.term, p.bucket, p.row, p.id + p.title + p.description + p.tags) for p in phrases if p.memory]
    return tuple([row[at] for row in held] for at in range(4))
