"""The text leg of a search: what it asks, and the statements that look postings up by rows.

Its ranking is in `septet.postgres.tables.ranking`. What is ranked there is chosen; the scores that count are
computed from what was chosen (`septet.postgres.tier.corpus`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.found import FACTS

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.conditions import Condition

__all__ = [
    "PASSING",
    "VALID",
    "Asked",
    "Needed",
    "Posting",
    "Ranking",
    "TextLeg",
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


def with_all(vault: VaultRow, terms: Sequence[str], most: int) -> Statement:
    """Return what asks for the entries that hold all terms in one column, or among their grams, so many at most.

    Each row has the bucket and the table, and, behind nothing, the facts of `septet.postgres.tables.found`.
    """
    names = list(dict.fromkeys(terms))
    given = (vault.number, vault.all_buckets, names, len(names), most, vault.number)
    return Statement(_WITH_ALL, given)


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
