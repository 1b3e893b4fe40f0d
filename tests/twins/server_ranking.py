"""The best of a query as the server ranks them, from a row a posting, by FTS5's formula."""

from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fulltext import VALID, holding_all

#: What postings ``p`` score for a term of a weight, with constants ``c``: ``f.f`` is how often it is there.
SCORE = "{weight} * ((f.f * (c.k1 + 1)) / (f.f + c.k1 * (1 - c.b + c.b * p.tokens / c.average[p.part + 1])))"
TIMES = """
CASE WHEN p.part = 0
    THEN p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5]
    ELSE p.title::float8 END
"""
_SCORED = f"""
    CROSS JOIN (SELECT %s::float8 AS k1, %s::float8 AS b, %s::float8[] AS w, %s::float8[] AS average) c
    CROSS JOIN LATERAL (SELECT {TIMES} AS f) f
"""
_ASKED = "unnest(%s::smallint[], %s::text[], %s::float8[]) WITH ORDINALITY AS a (part, term, weight, place)"
# Whoever holds a term, with what it scores for it.
_HELD = f"""
    SELECT p.bucket, p.row, p.part, a.place::integer AS place, {SCORE.format(weight="a.weight")} AS score
    FROM {_ASKED} JOIN septet.postings p ON p.part = a.part AND p.term = a.term {_SCORED}
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part IN (0, 1) AND p.term = ANY(%s::text[])
        AND (%s OR NOT p.memory)
"""
# The postings of phrases come with the question; the entries say in which shard each belongs.
_PHRASES = f"""
    UNION ALL
    SELECT e.bucket, e.row, p.part, a.place::integer AS place, {SCORE.format(weight="a.weight")} AS score
    FROM {_ASKED} JOIN unnest(
        %s::text[], %s::int[], %s::bigint[], %s::smallint[], %s::boolean[],
        %s::int[], %s::int[], %s::int[], %s::int[], %s::int[], %s::int[]
    ) AS p (term, bucket, row, part, memory, id, title, description, context, tags, tokens)
        ON p.part = a.part AND p.term = a.term
    JOIN septet.entries e ON e.vault = %s AND e.bucket = p.bucket AND e.row = p.row {_SCORED}
    WHERE (%s OR NOT p.memory)
"""
# FTS5 adds the terms of a query in their order, in one table after the other; sums in another order differ in the last
# bit, and equal entries would not be equal.
SUM = """
coalesce(sum(h.score ORDER BY h.place) FILTER (WHERE h.part = 0), 0)
    + coalesce(sum(h.score ORDER BY h.place) FILTER (WHERE h.part = 1), 0) AS score
"""
_GROUPED = f"""
SELECT h.bucket, h.row, {{whole}} AS whole, {SUM}
FROM ({{held}}) h GROUP BY h.bucket, h.row HAVING count(h.score) > 0
"""
_BEST = """
WITH ranked AS MATERIALIZED ({ranked})
SELECT (SELECT count(*) FROM ranked), (SELECT count(*) FROM ranked WHERE whole), t.score, t.row
FROM ranked t ORDER BY t.whole DESC, t.score DESC, t.row LIMIT %s
"""


def best(vault, leg):
    """Return what asks for the best of a query: those that hold every needed word first, then by score, then by row.

    Each row has the number of all matches, and of those that hold every needed word, the score and the row.
    """
    sql, given = _ranked(vault, leg)
    return Statement(_BEST.format(ranked=sql), (*given, leg.most))


def _ranked(vault, leg):
    """Return what gives all matches, with whether they hold every needed word and their score, and its parameters."""
    asked, ranking = leg.terms, leg.ranking
    terms = [list(asked.parts), list(asked.terms), list(asked.weights)]
    constants = [ranking.k1, ranking.b, list(ranking.weights), list(ranking.average)]
    whole, given = holding_all(leg.needed, asked.terms, "array_agg(h.place)")
    held = _HELD
    given += [*terms, *constants, vault.number, vault.all_buckets, list(asked.terms), leg.memories]
    if leg.phrases:
        held += _PHRASES
        given += [*terms, *map(list, zip(*leg.phrases)), vault.number, *constants, leg.memories]
    grouped = _GROUPED.format(whole=whole, held=held)
    if leg.now is not None:
        given += [vault.number, leg.now, leg.now]
        return VALID.format(grouped=grouped), given
    return grouped, given
