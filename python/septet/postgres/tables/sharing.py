"""Entries that may share words with a text, by an upper bound of the shared weight."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from septet._core import fold, index_terms, tokenize
from septet.postgres.store.pipeline import Statement

if TYPE_CHECKING:
    from septet.postgres.store.vaults import VaultRow
    from septet.store.rows import Condition


class Shares(NamedTuple):
    """Words of a text as full-text terms.

    Attributes:
        terms: terms of all words.
        words: number of each term's word.
        weights: weight of each term's word.
        many: number of terms of each term's word.
        base: total weight of the words that full text cannot match.
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
