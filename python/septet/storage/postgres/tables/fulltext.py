"""The text leg: entries that hold terms of a query, ranked by FTS5's formula over our own postings.

The server ranks to choose; the scores that count are computed from what it chose (`septet.tiers.postgres.corpus`). So
it has to choose the same entries as FTS5 would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.found import FACTS, vector_of

if TYPE_CHECKING:
    from septet.spaces import Space
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.vaults import VaultRow

__all__ = ["Asked", "Needed", "Posting", "Ranking", "TextLeg", "best", "every", "with_all"]


class Asked(NamedTuple):
    """The terms of a query as they are looked up, in their order: by table, with how rare each is.

    Attributes:
        parts: 0 for texts, 1 for grams.
        weights: inverse document frequencies; None for a term that only tells whether a word is held.
        counts: how many rows hold each.
    """

    parts: Sequence[int] = ()
    terms: Sequence[str] = ()
    weights: Sequence[float | None] = ()
    counts: Sequence[int] = ()


class Needed(NamedTuple):
    """The words that entries must hold to come first, by term: the number of the word, and of its piece.

    Attributes:
        pieces: 0 for a form of the word, which stands for it alone; else the number of a piece, from 1.
        many: how many pieces the word has.
        every: how many words there are.
    """

    words: Sequence[int] = ()
    terms: Sequence[str] = ()
    pieces: Sequence[int] = ()
    many: Sequence[int] = ()
    every: int = 0


class Ranking(NamedTuple):
    """What scores depend on: the weights of the five columns, the tokens of an average row by table, k1 and b."""

    weights: Sequence[float]
    average: tuple[float, float]
    k1: float
    b: float


class Posting(NamedTuple):
    """What the table of postings would hold of a phrase: by entry and table how often it is in each column."""

    term: str
    bucket: int
    row: int
    part: int
    memory: bool
    id: int
    title: int
    description: int
    context: int
    tags: int
    tokens: int

    def weighed(self, weights: Iterable[float]) -> float:
        """Return how often the phrase is in all columns, by weights of these."""
        counts = self.id, self.title, self.description, self.context, self.tags
        return float(sum(weight * count for weight, count in zip(weights, counts)))


class TextLeg(NamedTuple):
    """One query of the text leg.

    Attributes:
        phrases: postings of the phrases among the terms.
        condition: what entries must pass beside validity; None for all.
        now: when they must be valid; None for whenever.
        memories: memories are ranked too.
        most: how many are wanted.
        space: whose vectors are brought.
    """

    asked: Asked
    needed: Needed
    ranking: Ranking
    phrases: Sequence[Posting]
    condition: Condition | None
    now: float | None
    memories: bool
    most: int
    space: Space | None


#: What postings ``p`` score for a term of a weight, with constants ``c``: ``f.f`` is how often it is there.
SCORE = "{weight} * ((f.f * (c.k1 + 1)) / (f.f + c.k1 * (1 - c.b + c.b * p.tokens / c.average[p.part + 1])))"
TIMES = """
CASE WHEN p.part = 0
    THEN p.id * c.w[1] + p.title * c.w[2] + p.description * c.w[3] + p.context * c.w[4] + p.tags * c.w[5]
    ELSE p.title::float8 END
"""
# Whoever holds a term, with what it scores for it.
_HELD = f"""
WITH c AS (SELECT %s::float8 AS k1, %s::float8 AS b, %s::float8[] AS w, %s::float8[] AS average),
asked AS MATERIALIZED (
    SELECT * FROM unnest(%s::smallint[], %s::text[], %s::float8[]) WITH ORDINALITY AS a (part, term, weight, place)
),
posted AS (
    SELECT a.term, a.place, a.weight, p.bucket, p.row, p.part, p.memory,
        p.id, p.title, p.description, p.context, p.tags, p.tokens
    FROM asked a
    JOIN septet.postings p
        ON p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part IN (0, 1) AND p.term = ANY(%s::text[])
        AND p.part = a.part AND p.term = a.term
    UNION ALL
    SELECT a.term, a.place, a.weight, p.bucket, p.row, p.part, p.memory,
        p.id, p.title, p.description, p.context, p.tags, p.tokens
    FROM asked a JOIN unnest(
        %s::text[], %s::int[], %s::bigint[], %s::smallint[], %s::boolean[],
        %s::int[], %s::int[], %s::int[], %s::int[], %s::int[], %s::int[]
    ) AS p (term, bucket, row, part, memory, id, title, description, context, tags, tokens)
        ON p.part = a.part AND p.term = a.term
),
held AS MATERIALIZED (
    SELECT p.bucket, p.row, p.part, p.term, p.place,
        {SCORE.format(weight="p.weight")} AS score
    FROM posted p CROSS JOIN c
    CROSS JOIN LATERAL (SELECT {TIMES} AS f) f
    WHERE %s OR NOT p.memory
),
"""
# FTS5 adds the terms of a query in their order, in one table after the other; sums in another order differ in the last
# bit, and equal entries would not be equal.
SUM = """
coalesce(sum(h.score ORDER BY h.place) FILTER (WHERE h.part = 0), 0)
    + coalesce(sum(h.score ORDER BY h.place) FILTER (WHERE h.part = 1), 0) AS score
"""
# Which of them hold every word that is needed.
_WHOLE = f"""
needed AS (SELECT * FROM unnest(%s::int[], %s::text[], %s::int[], %s::int[]) AS n (word, term, piece, pieces)),
whole AS (
    SELECT w.row FROM (
        SELECT h.row, n.word FROM needed n JOIN (SELECT DISTINCT row, term FROM held) h ON h.term = n.term
        GROUP BY h.row, n.word
        HAVING bool_or(n.piece = 0) OR count(DISTINCT n.piece) FILTER (WHERE n.piece > 0) = max(n.pieces)
    ) w GROUP BY w.row HAVING count(*) = %s
),
grouped AS (
    SELECT h.bucket, h.row, h.row IN (SELECT w.row FROM whole w) AS whole, {SUM}
    FROM held h GROUP BY h.bucket, h.row HAVING count(h.score) > 0
),
"""
_GROUPED = f"""
grouped AS (SELECT h.bucket, h.row, false AS whole, {SUM} FROM held h GROUP BY h.bucket, h.row),
"""
_ALL = "ranked AS MATERIALIZED (SELECT g.* FROM grouped g)"
# Few entries have a limit of their validity, and these have an index of their own.
_VALID = """
outside AS MATERIALIZED (
    SELECT e.row FROM septet.entries e
    WHERE e.vault = %s AND e.bucket = ANY(%s::int[]) AND e.live
        AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
        AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8)
),
ranked AS MATERIALIZED (SELECT g.* FROM grouped g WHERE g.row NOT IN (SELECT o.row FROM outside o))
"""
_PASSING = """
ranked AS MATERIALIZED (
    SELECT g.* FROM grouped g
    JOIN septet.entries e ON e.vault = %s AND e.bucket = g.bucket AND e.row = g.row
    WHERE {condition}
)
"""
_BEST = f"""
SELECT (SELECT count(*) FROM ranked), (SELECT count(*) FROM ranked WHERE whole), t.score, {{vector}}, {FACTS}
FROM (SELECT * FROM ranked ORDER BY whole DESC, score DESC, row LIMIT %s) t
JOIN septet.entries e ON e.vault = %s AND e.bucket = t.bucket AND e.row = t.row
ORDER BY t.whole DESC, t.score DESC, t.row
"""

# All of them.
_EVERY = "SELECT t.row, t.whole, t.score FROM ranked t ORDER BY t.whole DESC, t.score DESC, t.row"
# Of a phrase only entries that hold all its tokens in one column, or among their grams, can hold it.
_WITH_ALL = f"""
SELECT t.bucket, t.part, NULL, {FACTS} FROM (
    SELECT p.bucket, p.row, p.part FROM septet.postings p
    WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part IN (0, 1) AND p.term = ANY(%s::text[])
    GROUP BY p.bucket, p.row, p.part
    HAVING count(*) = %s AND (bool_and(p.id > 0) OR bool_and(p.title > 0) OR bool_and(p.description > 0)
        OR bool_and(p.context > 0) OR bool_and(p.tags > 0))
    ORDER BY p.row, p.part LIMIT %s
) t JOIN septet.entries e ON e.vault = %s AND e.bucket = t.bucket AND e.row = t.row
"""


def best(vault: VaultRow, leg: TextLeg) -> Statement:
    """Return what asks for the best of a query: those that hold every needed word first, then by score, then by row.

    Each row has the number of all matches, and of those that hold every needed word, the score, the vector, and the
    facts of `septet.storage.postgres.tables.found`.
    """
    sql, given = _ranked(vault, leg)
    vector, of_vector = vector_of(vault, leg.space)
    sql.append(_BEST.format(vector=vector))
    given += [*of_vector, leg.most, vault.number]
    return Statement("".join(sql), given)


def every(vault: VaultRow, leg: TextLeg) -> Statement:
    """Return what asks for all matches as `best` orders them: row, whether it holds every needed word, and score.

    Of ``most`` and ``space`` nothing depends.
    """
    sql, given = _ranked(vault, leg)
    return Statement("".join([*sql, _EVERY]), given)


def with_all(vault: VaultRow, terms: Sequence[str], most: int) -> Statement:
    """Return what asks for the entries that hold all terms in one column, or among their grams, so many at most.

    Each row has the bucket and the table, and, behind nothing, the facts of `septet.storage.postgres.tables.found`.
    """
    names = list(dict.fromkeys(terms))
    given = (vault.number, vault.all_buckets, names, len(names), most, vault.number)
    return Statement(_WITH_ALL, given)


def _ranked(vault: VaultRow, leg: TextLeg) -> tuple[list[str], list[object]]:
    """Return the beginning of a statement, in which ``ranked`` are all matches, and its parameters."""
    asked, ranking = leg.asked, leg.ranking
    sql = [_HELD]
    given: list[object] = [ranking.k1, ranking.b, list(ranking.weights), list(ranking.average)]
    given += [list(asked.parts), list(asked.terms), list(asked.weights)]
    phrases = [list(values) for values in zip(*leg.phrases)] if leg.phrases else [[] for _ in Posting._fields]
    given += [vault.number, vault.all_buckets, list(asked.terms), *phrases, leg.memories]
    if leg.needed.every:
        sql.append(_WHOLE)
        given += [*map(list, leg.needed[:4]), leg.needed.every]
    else:
        sql.append(_GROUPED)
    if leg.condition is not None:
        sql.append(_PASSING.format(condition=leg.condition.sql))
        given += [vault.number, *leg.condition.parameters]
    elif leg.now is not None:
        sql.append(_VALID)
        given += [vault.number, vault.all_buckets, leg.now, leg.now]
    else:
        sql.append(_ALL)
    return sql, given
