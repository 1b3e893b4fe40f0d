"""The text leg of a cascade: entries that hold all words of a query by their beginnings, else fewer, else any.

As in `fulltext`, the server ranks to choose, by FTS5's formula, in which the words that begin alike count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.found import FACTS, vector_of
from septet.storage.postgres.tables.vocabulary import range_of

if TYPE_CHECKING:
    from septet.spaces import Space
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.tables.fulltext import Posting, TextLeg
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["Asked", "best", "holding", "memories"]


class Asked(NamedTuple):
    """What words begin with, and what entries must hold of them.

    Attributes:
        stems: each once, as it is stored; an empty one begins nothing, and of a phrase the postings are given.
        idf: the inverse document frequency of each.
        steps: whether entries must hold all stems, or any, and the places of these, as often as they count.
    """

    stems: Sequence[str]
    idf: Sequence[float]
    steps: Sequence[tuple[bool, Sequence[int]]]


_HOLDING = """
WITH asked AS MATERIALIZED (
    SELECT a.low, a.high, a.place FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS a (low, high, place)
)
SELECT (a.place - 1)::integer, count(DISTINCT p.row)
FROM asked a CROSS JOIN (SELECT %s::float8[] AS w) c
JOIN septet.postings p ON p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0
    AND p.term >= a.low COLLATE "C" AND p.term < a.high COLLATE "C"
WHERE p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5] > 0
    AND p.memory = ANY(%s::boolean[])
GROUP BY a.place
"""

# Whoever holds a word in a column that counts, how often, and which of the words it holds.
_HELD = """
WITH c AS (SELECT %s::float8 AS k1, %s::float8 AS b, %s::float8[] AS w, %s::float8 AS average),
asked AS MATERIALIZED (
    SELECT a.low, a.high, a.idf, (a.place - 1)::integer AS word
    FROM unnest(%s::text[], %s::text[], %s::float8[]) WITH ORDINALITY AS a (low, high, idf, place)
),
phrases AS (
    SELECT f.bucket, f.row, f.word, a.idf, f.f, f.tokens
    FROM unnest(%s::int[], %s::bigint[], %s::int[], %s::float8[], %s::int[]) AS f (bucket, row, word, f, tokens)
    JOIN asked a ON a.word = f.word
),
held AS MATERIALIZED (
    SELECT * FROM phrases
    UNION ALL
    SELECT p.bucket, p.row, a.word, a.idf, sum(f.f) AS f, min(p.tokens) AS tokens
    FROM asked a CROSS JOIN c
    JOIN septet.postings p ON p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0
        AND p.term >= a.low COLLATE "C" AND p.term < a.high COLLATE "C"
    CROSS JOIN LATERAL (
        SELECT p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5] AS f
    ) f
    WHERE f.f > 0 AND (%s OR NOT p.memory)
    GROUP BY p.bucket, p.row, a.word, a.idf
),
grouped AS MATERIALIZED (SELECT h.bucket, h.row, array_agg(h.word) AS words FROM held h GROUP BY h.bucket, h.row),
"""
_ALL = "passing AS MATERIALIZED (SELECT g.* FROM grouped g),"
# Few entries have a limit of their validity, and these have an index of their own.
_VALID = """
passing AS MATERIALIZED (
    SELECT g.* FROM grouped g WHERE NOT EXISTS (
        SELECT 1 FROM septet.entries e
        WHERE e.vault = %s AND e.bucket = g.bucket AND e.row = g.row AND e.live
            AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
            AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8)
    )
),
"""
_PASSING = """
passing AS MATERIALIZED (
    SELECT g.* FROM grouped g
    JOIN septet.entries e ON e.vault = %s AND e.bucket = g.bucket AND e.row = g.row
    WHERE {condition}
),
"""
_BEST = f"""
steps AS MATERIALIZED (
    SELECT (s.place - 1)::integer AS step, s.every, s.words::integer[] AS words
    FROM unnest(%s::boolean[], %s::text[]) WITH ORDINALITY AS s (every, words, place)
),
answered AS MATERIALIZED (
    SELECT s.* FROM steps s
    WHERE EXISTS (SELECT 1 FROM passing p WHERE CASE WHEN s.every THEN p.words @> s.words ELSE p.words && s.words END)
    ORDER BY s.step LIMIT 1
),
scored AS MATERIALIZED (
    SELECT p.bucket, p.row, s.step, sum(
        h.idf * ((h.f * (c.k1 + 1)) / (h.f + c.k1 * (1 - c.b + c.b * h.tokens / c.average))) ORDER BY w.place
    ) AS score
    FROM answered s CROSS JOIN c
    CROSS JOIN LATERAL unnest(s.words) WITH ORDINALITY AS w (word, place)
    JOIN held h ON h.word = w.word
    JOIN passing p ON p.bucket = h.bucket AND p.row = h.row
        AND CASE WHEN s.every THEN p.words @> s.words ELSE p.words && s.words END
    GROUP BY p.bucket, p.row, s.step
),
best AS (SELECT t.* FROM scored t ORDER BY t.score DESC, t.row LIMIT %s)
SELECT (SELECT count(*) FROM scored), t.step, t.score, {{vector}}, {FACTS}
FROM best t
JOIN septet.entries e ON e.vault = %s AND e.bucket = t.bucket AND e.row = t.row
ORDER BY t.score DESC, t.row
"""

# Memories by FTS5's rank over memories alone; as in a local vault, full text knows no context of them.
_MEMORIES = f"""
WITH totals AS (SELECT %s::float8 AS rows, %s::float8 AS average),
asked AS MATERIALIZED (
    SELECT a.low, a.high, a.place FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS a (low, high, place)
),
posted AS (
    SELECT p.bucket, p.row, a.place, f.f
    FROM asked a CROSS JOIN (SELECT %s::float8[] AS w) c
    JOIN septet.postings p ON p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0
        AND p.term >= a.low COLLATE "C" AND p.term < a.high COLLATE "C"
    CROSS JOIN LATERAL (
        SELECT p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.tags * c.w[5] AS f
    ) f
    WHERE p.memory
    UNION ALL
    SELECT * FROM unnest(%s::int[], %s::bigint[], %s::int[], %s::float8[])
),
held AS MATERIALIZED (
    SELECT p.bucket, p.row, p.place, sum(p.f) AS f FROM posted p WHERE p.f > 0 GROUP BY p.bucket, p.row, p.place
),
rare AS (
    SELECT h.place, greatest(ln((t.rows - count(*) + 0.5) / (count(*) + 0.5)), 1e-6) AS idf
    FROM held h CROSS JOIN totals t GROUP BY h.place, t.rows
),
lengths AS (
    SELECT h.bucket, h.row, (
        SELECT sum(p.id + p.title + p.description + p.tags)::float8 FROM septet.postings p
        WHERE p.vault = %s AND p.bucket = h.bucket AND p.row = h.row
    ) AS tokens FROM (SELECT DISTINCT bucket, row FROM held) h
),
passing AS MATERIALIZED (
    SELECT h.bucket, h.row,
        sum(r.idf * ((h.f * 2.2) / (h.f + 1.2 * (0.25 + 0.75 * l.tokens / t.average))) ORDER BY h.place) AS score
    FROM held h JOIN rare r ON r.place = h.place JOIN lengths l ON l.bucket = h.bucket AND l.row = h.row
    CROSS JOIN totals t
    JOIN septet.entries e ON e.vault = %s AND e.bucket = h.bucket AND e.row = h.row
    WHERE {{condition}}
    GROUP BY h.bucket, h.row HAVING count(*) >= %s
)
SELECT (SELECT count(*) FROM passing), 0, false, r.score, {{vector}}, {FACTS} FROM (
    SELECT * FROM passing ORDER BY score DESC, row LIMIT %s
) r JOIN septet.entries e ON e.vault = %s AND e.bucket = r.bucket AND e.row = r.row
ORDER BY r.score DESC, r.row
"""


def holding(vault: VaultRow, stems: Sequence[str], weights: Sequence[float], memories: Sequence[bool]) -> Statement:
    """Return what counts by the place of a stem the rows that hold what begins with it in columns of a weight above 0.

    A stem of which nothing is said begins nothing.

    Args:
        memories: whether these are counted, or others, or both.
    """
    lows, highs = _ranges(stems)
    return Statement(_HOLDING, (lows, highs, list(weights), vault.number, vault.all_buckets, list(memories)))


def best(vault: VaultRow, asked: Asked, leg: TextLeg) -> Statement:
    """Return what asks for the best of the first step that has an answer, by score, then by row; else for nothing.

    Each row has the number of all matches, the step, the score, the vector, and the facts of
    `septet.storage.postgres.tables.found`.

    Args:
        leg: what is wanted beside the words.
    """
    ranking = leg.ranking
    lows, highs = _ranges(asked.stems)
    sql = [_HELD]
    # Names of phrases have a blank.
    places = {stem: place for place, stem in enumerate(asked.stems)}
    weighed = [
        (one, one.weighed(ranking.weights)) for one in leg.phrases if one.part == 0 and (leg.memories or not one.memory)
    ]
    phrases = [(one.bucket, one.row, places[one.term], f, one.tokens) for one, f in weighed if f > 0]

    given: list[object] = [ranking.k1, ranking.b, list(ranking.weights), ranking.average[0]]
    given += [lows, highs, list(asked.idf)]
    given += [list(values) for values in zip(*phrases)] if phrases else [[] for _ in range(5)]
    given += [vault.number, vault.all_buckets, leg.memories]
    if leg.condition is not None:
        sql.append(_PASSING.format(condition=leg.condition.sql))
        given += [vault.number, *leg.condition.parameters]
    elif leg.now is not None:
        sql.append(_VALID)
        given += [vault.number, leg.now, leg.now]
    else:
        sql.append(_ALL)
    vector, of_vector = vector_of(vault, leg.space)
    sql.append(_BEST.format(vector=vector))
    # An array of arrays would have to be of one width.
    words = ["{" + ",".join(map(str, step)) + "}" for _, step in asked.steps]
    given += [[every for every, _ in asked.steps], words, leg.most, *of_vector, vault.number]
    return Statement("".join(sql), given)


def memories(
    vault: VaultRow,
    step: tuple[bool, Sequence[str]],
    weights: Sequence[float],
    totals: tuple[int, float],
    condition: Condition,
    most: int,
    phrases: Sequence[Posting] = (),
    space: Space | None = None,
) -> Statement:
    """Return what asks for the best memories of a step, as `septet.storage.postgres.tables.memories.scored` does.

    Args:
        step: whether memories must hold all stems, or any, and these, as they are stored, as often as they count.
        weights: of the columns, as `septet.storage.postgres.tables.memories.EQUAL` has them; where one is above 0,
            memories are looked for.
        phrases: postings of the phrases among the stems.
        space: whose vectors are brought.
    """
    every, stems = step
    lows, highs = _ranges(stems)
    # Of no context.
    own = [*weights[:3], 0.0, weights[4]]
    posted = [
        (one.bucket, one.row, place, one.weighed(own))
        for place, stem in enumerate(stems, 1)
        for one in phrases
        if one.memory and one.part == 0 and one.term == stem
    ]
    of_phrases = ([row[at] for row in posted] for at in range(4))
    vector, of_vector = vector_of(vault, space)
    given = (
        *totals, lows, highs, own, vault.number, vault.all_buckets, *of_phrases, vault.number, vault.number,
        *condition.parameters, len(stems) if every else 1, *of_vector, most, vault.number,
    )  # fmt: skip
    return Statement(_MEMORIES.format(condition=condition.sql, vector=vector), given)


def _ranges(stems: Sequence[str]) -> tuple[list[str], list[str]]:
    ranges = [range_of(stem) if stem and " " not in stem else ("", "") for stem in stems]
    return [low for low, _ in ranges], [high for _, high in ranges]
