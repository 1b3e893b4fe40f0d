"""Entries that may share words with a text, by how much of its weight they may hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from septet._core import fold, index_terms, tokenize
from septet.postgres.store.pipeline import Statement

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.postgres.tables.conditions import Condition

__all__ = ["Shares", "sharing"]


class Shares(NamedTuple):
    """Words of a text, as full text has them.

    Attributes:
        terms: of all words.
        words: for each term the number of its word.
        weights: for each term what its word weighs.
        many: for each term, how many terms its word has.
        base: what words weigh of which full text cannot tell who holds them.
    """

    terms: Sequence[str]
    words: Sequence[int]
    weights: Sequence[float]
    many: Sequence[int]
    base: float


# An entry of other than plain characters may hold every word: full text reads some of these in another way.
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
    """Return what asks for row and greatest share, 0 to 1, of the entries that pass and may hold a word, most first."""
    asked = list(shares.terms), list(shares.words), list(shares.weights), list(shares.many)
    plain = _plain()
    given = (*asked, vault.number, vault.all_buckets, shares.base, plain, plain, shares.base, vault.number)
    return Statement(_SHARING.format(condition=condition.sql), (*given, *condition.parameters))


@cache
def _plain() -> str:
    """Return the characters beyond ASCII that full text and TF-IDF read alike: letters with a mark, and separators."""
    found = []
    for char in map(chr, range(0x80, 0x2C00)):
        plain = fold(char)
        word = f"zq{char}zq"
        if len(plain) == 1 and plain.isascii() and plain.isalpha():
            if index_terms(word) == index_terms(f"zq{plain}zq") and tokenize(word) == [f"zq{plain}zq"]:
                found.append(char)
        elif tokenize(f"zqx{char}zqy") == ["zqx", "zqy"] and index_terms(f"zqx{char}zqy") == [b"zqx", b"zqi"]:
            found.append(char)
    return "".join(found)
