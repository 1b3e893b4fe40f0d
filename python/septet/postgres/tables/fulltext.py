"""The text leg of a search: its query, and statements over rows of postings.

`septet.postgres.tables.ranking` selects candidates; `septet.postgres.tier.corpus` computes their final scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from septet._core import fold, index_terms, tokenize
from septet.postgres.store.pipeline import Statement
from septet.postgres.tables.fragments import FACTS

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.store.rows import Condition


class WeightedTerms(NamedTuple):
    """Terms of a query in order: part (0 for texts, 1 for grams), term, and document frequency.

    Weights are inverse document frequencies, None for a term that only matches a needed word.
    """

    parts: Sequence[int] = ()
    terms: Sequence[str] = ()
    weights: Sequence[float | None] = ()
    counts: Sequence[int] = ()


class Needed(NamedTuple):
    """Words that entries must hold to rank first, by term.

    Attributes:
        words: number of the word of each term, from 0.
        pieces: 0 for a form of the whole word; else the number of a piece, from 1.
        many: number of pieces of the word.
        every: number of words.
    """

    words: Sequence[int] = ()
    terms: Sequence[str] = ()
    pieces: Sequence[int] = ()
    many: Sequence[int] = ()
    every: int = 0


class Ranking(NamedTuple):
    """Parameters of BM25: weights of the five columns, average tokens of a row by part, k1 and b."""

    weights: Sequence[float]
    average: tuple[float, float]
    k1: float
    b: float


class Posting(NamedTuple):
    """Posting of a phrase in the format of the table: its frequency in each column of an entry."""

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
        """Return the weighted frequency over all columns."""
        counts = self.id, self.title, self.description, self.context, self.tags
        return float(sum(weight * count for weight, count in zip(weights, counts)))


class TextLeg(NamedTuple):
    """One query of the text leg.

    Attributes:
        phrases: postings of the phrases among the terms.
        condition: condition on entries, besides validity; None for all.
        now: time at which entries must be valid, epoch seconds; None for any.
        memories: rank memories too.
        most: maximum results.
    """

    terms: WeightedTerms
    needed: Needed
    ranking: Ranking
    phrases: Sequence[Posting]
    condition: Condition | None
    now: float | None
    memories: bool
    most: int


# Few entries have a limited validity; a partial index has them.
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
# Candidates for a phrase: entries with all its tokens in one column or in their grams.
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
    """Return the statement for at most ``most`` entries with all terms in one column or in their grams.

    Each result has the bucket, the part, NULL, and the facts of `septet.postgres.tables.fragments`.
    """
    names = list(dict.fromkeys(terms))
    return Statement(_WITH_ALL, (vault.number, vault.all_buckets, names, len(names), most, vault.number))


def holding_all(needed: Needed, terms: Sequence[str], places: str) -> tuple[str, list[object]]:
    """Return the condition that an entry holds a form, or all pieces, of every needed word; and its parameters.

    Args:
        terms: terms of the query, in the order of their places.
        places: expression for the places, from 1, of the terms that the entry holds.
    """
    sql: list[str] = []
    parameters: list[object] = []
    for ways in alternatives(needed, terms, 1):
        held = [" AND ".join([f"{places} && %s::integer[]"] * len(groups)) for groups in ways]
        sql.append(f"({' OR '.join(held)})" if held else "false")
        parameters += [group for groups in ways for group in groups]
    return " AND ".join(sql) or "false", parameters


def alternatives(needed: Needed, terms: Sequence[str], first: int) -> list[list[list[list[int]]]]:
    """Return the alternatives for each needed word: a form of it, or all its pieces.

    An alternative is a list of groups of places of terms, from ``first``; an entry must hold a term of each group.
    """
    words = []
    for word in range(needed.every):
        pieces: dict[int, list[int]] = {}
        for number, term, piece, _ in zip(*needed[:4]):
            if number == word:
                pieces.setdefault(piece, []).extend(at for at, name in enumerate(terms, first) if name == term)
        forms = pieces.pop(0, None)
        words.append([groups for groups in ([] if forms is None else [forms], [*pieces.values()]) if groups])
    return words


class Shares(NamedTuple):
    """Words of a text as full-text terms: by term the number, the weight and the number of terms of its word.

    ``base`` is the total weight of the words that full text cannot match.
    """

    terms: Sequence[str]
    words: Sequence[int]
    weights: Sequence[float]
    many: Sequence[int]
    base: float


# The bound of entries with other characters is 1, as full text tokenizes some of these differently.
_SHARING = """
SELECT e.row, b.bound FROM septet.entries e
LEFT JOIN (
    SELECT w.bucket, w.row, sum(w.weight) AS weight FROM (
        SELECT p.bucket, p.row, a.word, a.weight
        FROM unnest(%s::text[], %s::int[], %s::float8[], %s::int[]) AS a (term, word, weight, many)
        JOIN septet.postings p ON p.term = a.term WHERE p.vault = %s AND p.bucket = ANY(%s::int[]) AND p.part = 0
        GROUP BY p.bucket, p.row, a.word, a.weight, a.many HAVING count(*) = a.many
    ) w GROUP BY w.bucket, w.row
) h ON h.bucket = e.bucket AND h.row = e.row
CROSS JOIN LATERAL (SELECT e.title || e.description || e.context || e.tags AS text) t
CROSS JOIN LATERAL (
    SELECT CASE
        WHEN octet_length(t.text) = char_length(t.text) THEN coalesce(h.weight, 0) + %s::float8
        WHEN octet_length(translate(t.text, %s::text, '')) = char_length(translate(t.text, %s::text, ''))
        THEN coalesce(h.weight, 0) + %s::float8 ELSE 1 END AS bound
) b
WHERE e.vault = %s AND {condition} AND b.bound > 0
ORDER BY b.bound DESC, e.row
"""


def sharing(vault: VaultRow, shares: Shares, condition: Condition) -> Statement:
    """Return the statement for row and maximum share (0 to 1) of passing entries that may hold a word, best first."""
    terms = list(shares.terms), list(shares.words), list(shares.weights), list(shares.many)
    plain = _plain_chars()
    parameters = (*terms, vault.number, vault.all_buckets, shares.base, plain, plain, shares.base, vault.number)
    return Statement(_SHARING.format(condition=condition.sql), (*parameters, *condition.parameters))


@cache
def _plain_chars() -> str:
    """Return the non-ASCII characters that full text and TF-IDF tokenize alike: accented letters and separators."""
    chars = []
    for char in map(chr, range(0x80, 0x2C00)):
        plain = fold(char)
        word = f"zq{char}zq"
        if len(plain) == 1 and plain.isascii() and plain.isalpha():
            if index_terms(word) == index_terms(f"zq{plain}zq") and tokenize(word) == [f"zq{plain}zq"]:
                chars.append(char)
        elif tokenize(f"zqx{char}zqy") == ["zqx", "zqy"] and index_terms(f"zqx{char}zqy") == [b"zqx", b"zqi"]:
            chars.append(char)
    return "".join(chars)
