"""The text leg: entries that hold terms of a query, ranked by FTS5's formula over our own postings.

The server ranks to choose; the scores that count are computed from what it chose (`septet.tiers.postgres.corpus`). So
it has to choose the same entries as FTS5 would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.storage.postgres.pipeline import Statement
from septet.storage.postgres.tables.found import FACTS

if TYPE_CHECKING:
    from septet.storage.postgres.tables.conditions import Condition
    from septet.storage.postgres.vaults import VaultRow

__all__ = [
    "PASSING",
    "VALID",
    "Asked",
    "Needed",
    "Posting",
    "Ranking",
    "TextLeg",
    "best",
    "every",
    "holding_all",
    "with_all",
]


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
    """

    asked: Asked
    needed: Needed
    ranking: Ranking
    phrases: Sequence[Posting]
    condition: Condition | None
    now: float | None
    memories: bool
    most: int


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
# Few entries have a limit of their validity, and these have an index of their own.
VALID = """
SELECT g.* FROM ({grouped}) g WHERE NOT EXISTS (
    SELECT 1 FROM septet.entries e
    WHERE e.vault = %s AND e.bucket = g.bucket AND e.row = g.row AND e.live
        AND (e.valid_from IS NOT NULL OR e.valid_until IS NOT NULL)
        AND (e.valid_from > %s::float8 OR e.valid_until <= %s::float8)
)
"""
PASSING = """
SELECT g.* FROM ({grouped}) g JOIN septet.entries e ON e.vault = %s AND e.bucket = g.bucket AND e.row = g.row
WHERE {condition}
"""
_BEST = """
WITH ranked AS MATERIALIZED ({ranked})
SELECT (SELECT count(*) FROM ranked), (SELECT count(*) FROM ranked WHERE whole), t.score, t.row
FROM ranked t ORDER BY t.whole DESC, t.score DESC, t.row LIMIT %s
"""
# All of them.
_EVERY = "SELECT t.row, t.whole, t.score FROM ({ranked}) t ORDER BY t.whole DESC, t.score DESC, t.row"
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

    Each row has the number of all matches, and of those that hold every needed word, the score and the row.
    """
    sql, given = _ranked(vault, leg)
    return Statement(_BEST.format(ranked=sql), (*given, leg.most))


def every(vault: VaultRow, leg: TextLeg) -> Statement:
    """Return what asks for all matches as `best` orders them: row, whether it holds every needed word, and score.

    Of ``most`` nothing depends.
    """
    sql, given = _ranked(vault, leg)
    return Statement(_EVERY.format(ranked=sql), given)


def with_all(vault: VaultRow, terms: Sequence[str], most: int) -> Statement:
    """Return what asks for the entries that hold all terms in one column, or among their grams, so many at most.

    Each row has the bucket and the table, and, behind nothing, the facts of `septet.storage.postgres.tables.found`.
    """
    names = list(dict.fromkeys(terms))
    given = (vault.number, vault.all_buckets, names, len(names), most, vault.number)
    return Statement(_WITH_ALL, given)


def _ranked(vault: VaultRow, leg: TextLeg) -> tuple[str, list[object]]:
    """Return what gives all matches, with whether they hold every needed word and their score, and its parameters."""
    asked, ranking = leg.asked, leg.ranking
    terms = [list(asked.parts), list(asked.terms), list(asked.weights)]
    constants = [ranking.k1, ranking.b, list(ranking.weights), list(ranking.average)]
    whole, given = holding_all(leg.needed, asked.terms, "array_agg(h.place)")
    held = _HELD
    given += [*terms, *constants, vault.number, vault.all_buckets, list(asked.terms), leg.memories]
    if leg.phrases:
        held += _PHRASES
        given += [*terms, *map(list, zip(*leg.phrases)), vault.number, *constants, leg.memories]
    grouped = _GROUPED.format(whole=whole, held=held)
    if leg.condition is not None:
        given += [vault.number, *leg.condition.parameters]
        return PASSING.format(grouped=grouped, condition=leg.condition.sql), given
    if leg.now is not None:
        given += [vault.number, leg.now, leg.now]
        return VALID.format(grouped=grouped), given
    return grouped, given


def holding_all(needed: Needed, terms: Sequence[str], places: str) -> tuple[str, list[object]]:
    """Return the condition that an entry holds every needed word, in a form of it or in all its pieces.

    Args:
        terms: that were asked for, in the order of their places.
        places: the expression for the places, from 1, of those that the entry holds.
    """
    sql: list[str] = []
    given: list[object] = []
    for word in range(needed.every):
        pieces: dict[int, list[int]] = {}
        for number, term, piece, _ in zip(*needed[:4]):
            if number == word:
                pieces.setdefault(piece, []).extend(at for at, one in enumerate(terms, 1) if one == term)
        forms = pieces.pop(0, None)
        ways = []
        for groups in ([] if forms is None else [forms], [*pieces.values()]):
            if groups:
                ways.append(" AND ".join([f"{places} && %s::integer[]"] * len(groups)))
                given += groups
        sql.append(f"({' OR '.join(ways)})" if ways else "false")
    return " AND ".join(sql) or "false", given
